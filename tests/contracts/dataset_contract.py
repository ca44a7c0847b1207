"""The contract of every data set."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from components.protocols import Dataset
from components.records import Benchmark
from tests.contracts.component_contract import ComponentContract


@cache
def _loaded(dataset: Dataset) -> Benchmark:
    return dataset.load()


class DatasetContract(ComponentContract, ABC):
    """Contract of data sets."""

    component: Dataset
    references_required = True

    @abstractmethod
    def with_one_byte_more(self, tmp_path: Path) -> Sequence[Dataset]:
        """The data set in another place, unchanged; and again for each of its files, with one byte added to that."""

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Dataset)
        assert re.fullmatch(r"[a-z0-9_]+", self.component.name)

    def test_dataset_fingerprint_depends_only_on_content(self, tmp_path: Path) -> None:
        here = self.component.fingerprint()
        assert re.fullmatch("[0-9a-f]{64}", here)
        moved, *changed = [dataset.fingerprint() for dataset in self.with_one_byte_more(tmp_path)]
        assert moved == here == self.component.fingerprint()
        assert changed
        assert len({here, *changed}) == 1 + len(changed)

    def test_documents_are_sorted_by_unique_ids(self) -> None:
        documents = _loaded(self.component).documents
        assert len(documents) > 0
        assert list(documents.ids) == sorted(set(documents.ids))
        assert len(documents.ids) == len(documents.titles) == len(documents.texts)
        assert all(text.strip() for text in documents.texts)

    def test_sample_ids_are_unique(self) -> None:
        ids = [sample.id for sample in _loaded(self.component).samples]
        assert ids
        assert len(set(ids)) == len(ids)

    def test_every_sample_has_a_question_and_a_reference(self) -> None:
        for sample in _loaded(self.component).samples:
            assert sample.question.strip()
            assert all(reference.strip() for reference in sample.references)
            assert sample.references or not self.references_required

    def test_documents_exist_under_every_corpus_prefix(self) -> None:
        benchmark = _loaded(self.component)
        for within in {sample.corpus_prefix for sample in benchmark.samples}:
            assert any(document_id.startswith(within) for document_id in benchmark.documents.ids)

    def test_subset_and_topic_slugs_are_safe_in_names(self) -> None:
        for sample in _loaded(self.component).samples:
            assert re.fullmatch(r"[a-z0-9_]+(/[a-z0-9_]+)*", sample.subset)
            assert all(re.fullmatch(r"[a-z0-9_]+", slug) for slug in (sample.topic, sample.task) if slug is not None)

    def test_gold_spans_are_within_their_documents(self) -> None:
        benchmark = _loaded(self.component)
        lengths = dict(zip(benchmark.documents.ids, map(len, benchmark.documents.texts), strict=True))
        for unit in (unit for sample in benchmark.samples for unit in sample.gold if unit.document_id in lengths):
            assert (unit.start is None) == (unit.end is None)
            if unit.start is not None and unit.end is not None:
                assert 0 <= unit.start < unit.end <= lengths[unit.document_id]

    def test_dataset_loads_equal_data_twice(self) -> None:
        assert self.component.load() == _loaded(self.component)
