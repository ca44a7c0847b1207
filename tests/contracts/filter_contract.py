"""The contract of every filter of documents."""

import numpy as np

from components.protocols import Filter
from components.records import AllowedDocuments, Documents, Kind, Sample
from tests.contracts.component_contract import ComponentContract

FACTS: list[dict[str, str]] = [
    {"year": "2019", "company": "ACME"},
    {"year": "2020", "company": "Globex", "date": "2020-03-01"},
    {"company": "ACME"},
    {"year": "900", "company": "Initech", "date": "2021-12-31"},
]
DOCUMENTS = Documents(["a", "b", "c", "d"], [""] * 4, ["text"] * 4, FACTS)
SAMPLES = [Sample(f"s{i}", "qa", Kind.QA, "?", ()) for i in range(3)]


def found_by_sample(allowed: AllowedDocuments) -> list[str]:
    """The ids of the documents that each sample may find, in one text."""
    return ["".join(DOCUMENTS.ids[i] for i in allowed.of_group(group)) for group in allowed.group.tolist()]


class FilterContract(ComponentContract):
    """Contract of filters."""

    component: Filter

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Filter)

    def test_filter_allows_sorted_corpus_documents_for_every_sample(self) -> None:
        allowed = self.component.allow(SAMPLES, DOCUMENTS)
        assert (allowed.group.dtype, allowed.offsets.dtype, allowed.document.dtype) == (np.int32, np.int64, np.int32)
        assert len(allowed.group) == len(SAMPLES)
        assert (allowed.offsets[0], allowed.offsets[-1]) == (0, len(allowed.document))
        for group in range(allowed.n_groups):
            own = allowed.of_group(group).tolist()
            assert own == sorted(set(own))
            assert set(own) <= set(range(len(DOCUMENTS)))

    def test_open_filter_allows_every_document(self) -> None:
        everything = found_by_sample(self.component.allow(SAMPLES, DOCUMENTS)) == ["abcd"] * 3
        assert everything or not self.component.is_open

    def test_empty_batch_of_samples_gives_an_empty_result(self) -> None:
        assert len(self.component.allow([], DOCUMENTS).group) == 0
