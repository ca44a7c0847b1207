import numpy as np

from components.metrics.passage_coverage import PassageCoverage
from components.records import Context, Documents, Evidence, Kind, Sample, Spans
from components.retrievers.oracle import Oracle
from tests.retrievers.test_retrievers import RetrieverContract

DOCUMENTS = Documents(("a", "b", "c"), [""] * 3, ["x" * 100] * 3)
ROWS = [(0, 0, 40), (0, 20, 60), (0, 40, 80), (0, 60, 100), (1, 0, 50), (1, 50, 100), (2, 0, 100)]
CHUNKS = Spans(*(np.array(column, dtype=np.int32) for column in zip(*ROWS, strict=True)))


class TestOracle(RetrieverContract):
    component = Oracle()


def picked(*gold: Evidence, n: int = 100) -> list[int]:
    hits = Oracle().pick([Sample("s", "qa", Kind.QA, "?", (), gold)], DOCUMENTS, CHUNKS, n)
    return hits.chunk[0][hits.chunk[0] >= 0].tolist()  # type: ignore[no-any-return]


def test_oracle_ranks_chunks_by_added_gold_until_all_is_covered() -> None:
    assert picked(Evidence("a", 10, 45)) == [0, 1]
    assert picked(Evidence("a", 45, 55)) == [1]
    assert picked(Evidence("a")) == [0, 2, 3]


def test_oracle_alternates_units_with_higher_grades_first() -> None:
    assert picked(Evidence("a"), Evidence("b", grade=2), Evidence("a", 0, 10)) == [4, 0, 5, 2, 3]


def test_oracle_ranks_alternatives_after_required_gold() -> None:
    whole, part, other = Evidence("a", one_of=1), Evidence("a", 10, 20, one_of=1), Evidence("c")
    assert picked(whole, part, other) == [0, 6, 2, 3]
    better = Evidence("b", grade=2, one_of=1)
    assert picked(part, better, other) == [4, 6, 5, 0]


def test_oracle_picks_at_most_n_gold_passages() -> None:
    assert picked(Evidence("a"), Evidence("b"), n=3) == [0, 4, 2]


def test_oracle_finds_nothing_for_gold_outside_the_corpus() -> None:
    assert picked(Evidence("elsewhere")) == picked() == []


def test_oracle_covers_all_gold() -> None:
    """The oracle covers random units completely, so no retriever can exceed its scores."""
    rng = np.random.default_rng(0)
    units = [(name, *sorted(rng.choice(101, 2, replace=False).tolist())) for name in rng.choice(["a", "b", "c"], 200)]
    gold = [tuple(Evidence(str(d), s, e) for d, s, e in units[i : i + 2]) for i in range(0, 200, 2)]
    samples = [Sample(str(i), "qa", Kind.QA, "?", (), own) for i, own in enumerate(gold)]
    hits = Oracle().pick(samples, DOCUMENTS, CHUNKS, 10)
    spans = [[ROWS[chunk] for chunk in row if chunk >= 0] for row in hits.chunk.tolist()]
    zeros = np.zeros(len(samples), dtype=np.int64)
    scores = PassageCoverage().score_contexts(samples, DOCUMENTS, spans, Context(hits.chunk, zeros, zeros))
    assert (scores["passage_coverage"].values == 1).all()
