from collections.abc import Sequence

import numpy as np
import pytest

from components.chunkers.whole import WholeDocuments
from components.errors import ComponentError
from components.records import Documents, Evidence, Kind, Sample, Spans
from components.retrievers.given import Given
from tests.contracts.chunker_contract import chunk
from tests.retrievers.test_retrievers import RetrieverContract

IDS = ("n1", "n2", "n3", "r1", "r2", "r3")
DOCUMENTS = Documents(IDS, [""] * 6, ["text"] * 6)
WHOLE = WholeDocuments()


class TestGiven(RetrieverContract):
    component = Given(WHOLE)


def picked(retriever: Given, n: int, *passages: str, chunks: Spans | None = None) -> list[str]:
    """Return the document ids of the picked chunks for a sample with these passages; r... are gold."""
    gold = tuple(Evidence(passage) for passage in passages if passage.startswith("r"))
    samples = [Sample("s", "qa", Kind.QA, "?", (), gold, passages=passages), Sample("none", "qa", Kind.QA, "?", ())]
    chunks = chunks or chunk(WHOLE, DOCUMENTS)
    hits = retriever.pick(samples, DOCUMENTS, chunks, n)
    assert (hits.chunk[1] == -1).all()
    own = hits.chunk[0][hits.chunk[0] >= 0]
    assert hits.score[0][: len(own)].tolist() == sorted(hits.score[0][: len(own)].tolist(), reverse=True)
    return [IDS[i] for i in chunks.document[own]]


def test_given_passages_keep_their_order_without_a_noise_rate() -> None:
    assert picked(Given(WHOLE), 100, "n2", "r1", "n1") == ["n2", "r1", "n1"]
    assert picked(Given(WHOLE), 2, "n2", "r1", "n1") == ["n2", "r1"]


@pytest.mark.parametrize(
    ("rate", "n", "expected"),
    [
        (0.0, 2, ["r1", "r2"]),
        (0.4, 5, ["n1", "n2", "r1", "r2", "r3"]),
        (0.5, 3, ["n1", "n2", "r1"]),
        (0.1, 3, ["n1", "r1", "r2"]),
        (1.0, 2, ["n1", "n2"]),
        (1.0, 5, ["n1", "n2", "n3"]),
        (0.8, 5, ["n1", "n2", "n3", "r1", "r2"]),
        (0.0, 5, ["n1", "n2", "r1", "r2", "r3"]),
    ],
)
def test_noise_rate_sets_the_share_of_noise_passages(rate: float, n: int, expected: Sequence[str]) -> None:
    """One kind is rounded up and the other fills the rest, as in RGB's published code."""
    assert sorted(picked(Given(WHOLE, noise_rate=rate), n, *IDS)) == expected


def test_noise_rate_keeps_passages_of_every_alternative_set() -> None:
    sets = {"r1": 1, "r2": 1, "r3": 2}
    gold = tuple(Evidence(passage, one_of=one_of) for passage, one_of in sets.items())
    sample = Sample("s", "qa", Kind.QA, "?", (), gold, passages=IDS)
    hits = Given(WHOLE, noise_rate=0.5).pick([sample], DOCUMENTS, chunk(WHOLE, DOCUMENTS), 4)
    assert sorted(IDS[i] for i in hits.chunk[0]) == ["n1", "n2", "r1", "r3"]


def test_noise_passages_are_ordered_by_the_seed() -> None:
    orders = {tuple(picked(Given(WHOLE, noise_rate=0.5, seed=seed), 6, *IDS)) for seed in range(20)}
    assert len(orders) > 10
    assert picked(Given(WHOLE, noise_rate=0.5), 6, *IDS) == picked(Given(WHOLE, noise_rate=0.5), 6, *IDS)


def test_split_given_passages_are_all_their_chunks() -> None:
    zeros = np.zeros(8, dtype=np.int32)
    cut = Spans(np.array([0, 1, 1, 2, 3, 3, 4, 5], dtype=np.int32), zeros, zeros + 1)
    assert picked(Given(WHOLE), 3, "r1", "n2", chunks=cut) == ["r1", "r1", "n2"]


def test_given_retriever_rejects_a_data_set_without_passages() -> None:
    with pytest.raises(ComponentError, match="no sample of this data set has passages"):
        Given(WHOLE).pick([Sample("s", "qa", Kind.QA, "?", ())], DOCUMENTS, chunk(WHOLE, DOCUMENTS), 3)


def test_given_retriever_rejects_zero_depth_and_noise_above_one() -> None:
    assert [problem.split(":")[0] for problem in Given(WHOLE, 1.5, depth=0).check()] == ["depth", "noise_rate"]
