from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.samples import is_of_a_corpus, join
from components.errors import DataError
from runner.loaded import SubsetMetric, load
from tests.analysis import tiny_sweep

ROUGE = SubsetMetric("overall", "rouge_l", larger_is_better=True)


def test_values_are_joined_by_id_whatever_the_order(tmp_path: Path) -> None:
    first, other = tiny_sweep.CELLS[0], tiny_sweep.CELLS[2]
    turned = replace(other, ids=tuple(reversed(other.ids)), rouge_l=list(reversed(other.rouge_l)))
    cells = load(str(tiny_sweep.write(tmp_path, [first, turned]))).cells
    joined = join(tmp_path, ROUGE, cells[0], cells[1:])
    assert joined.scores.statistics[:, :, 0].T.tolist() == [first.rouge_l, other.rouge_l]
    assert joined.scores.has_value.all()
    assert joined.left_out == (Counter(),)


def test_the_clusters_are_those_of_the_cell(sweep: Path) -> None:
    cells = load(str(sweep)).cells
    assert join(sweep, ROUGE, cells[0], cells[1:2]).scores.clusters.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("subset", "n"),
    [
        ("overall", 8),
        ("macro", 8),
        ("read", 6),
        ("read/qa_1doc", 4),
        ("create", 2),
        ("topic/funds", 1),
        ("task/extractive", 1),
    ],
)
def test_a_subset_holds_its_samples(sweep: Path, subset: str, n: int) -> None:
    cells = load(str(sweep)).cells
    scores = join(sweep, SubsetMetric(subset, "rouge_l", larger_is_better=True), cells[0], cells[1:]).scores
    assert len(scores.has_value) == n
    assert len(set(scores.strata.tolist())) == (3 if subset == "macro" else 1)


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    baseline = replace(tiny_sweep.CELLS[0], rouge_l=[None, 0.2, 0.3, 0.4, 0.5, 0.2, None, 0.2])
    cell = replace(
        tiny_sweep.CELLS[2], rouge_l=[0.6, None, 0.7, 0.9, 0.9, 0.7, None], ids=[*(f"s{i}" for i in range(6)), "x"]
    )
    cells = load(str(tiny_sweep.write(tmp_path, [baseline, cell]))).cells
    joined = join(tmp_path, ROUGE, cells[0], cells[1:])
    assert joined.left_out == (
        Counter(
            {"answer_error": 1, "answer_error in the baseline": 1, "not in this cell": 2, "not in the baseline": 1}
        ),
    )
    assert joined.scores.has_value.T.tolist() == [
        [False, True, True, True, True, True, False, True],
        [True, False, True, True, True, True, False, False],
    ]


def test_another_data_set_has_no_common_sample_even_with_equal_ids(tmp_path: Path) -> None:
    other = replace(tiny_sweep.CELLS[1], facts={"dataset": {"name": "other"}})
    cells = load(str(tiny_sweep.write(tmp_path, [tiny_sweep.CELLS[0], other]))).cells
    joined = join(tmp_path, ROUGE, cells[0], cells[1:])
    assert not joined.scores.has_value[:, 1].any()
    assert joined.left_out == (Counter({"of another data set": 8}),)


def test_another_question_under_the_same_id_is_another_sample(tmp_path: Path) -> None:
    other = replace(tiny_sweep.CELLS[1], question="Who was there?")
    cells = load(str(tiny_sweep.write(tmp_path, [tiny_sweep.CELLS[0], other]))).cells
    joined = join(tmp_path, ROUGE, cells[0], cells[1:])
    assert not joined.scores.has_value[:, 1].any()
    assert joined.left_out == (Counter({"with another question": 8}),)


class TestCorpusMetrics:
    BLEU = SubsetMetric("overall", "bleu", larger_is_better=True)

    def test_are_told_by_their_statistics(self, sweep: Path) -> None:
        (cell, *_) = load(str(sweep)).cells
        assert is_of_a_corpus(sweep, self.BLEU, cell)
        assert not is_of_a_corpus(sweep, ROUGE, cell)

    def test_are_compared_by_what_they_are_made_of(self, sweep: Path) -> None:
        cells = load(str(sweep)).cells
        joined = join(sweep, self.BLEU, cells[0], [cells[1], cells[3]])
        assert joined.scores.statistics.shape == (8, 3, 10)
        assert joined.scores.has_value.sum(axis=0).tolist() == [8, 8, 7]
        assert joined.left_out == (Counter(), Counter({"answer_error": 1}))
        assert joined.scores.combine is not None
        geometric_mean = (8 / 9 * 7 / 8 * 6 / 7 * 5 / 6) ** 0.25
        assert joined.scores.combine(joined.scores.statistics[0, 0]) == pytest.approx(geometric_mean)


class TestErrors:
    def test_a_file_that_is_gone_or_damaged(self, tmp_path: Path) -> None:
        cells = load(str(tiny_sweep.write(tmp_path))).cells
        path = tmp_path / cells[1].cell_id / "samples.parquet"
        path.write_bytes(b"PAR1")
        with pytest.raises(DataError, match=r"samples\.parquet: cannot be read"):
            join(tmp_path, ROUGE, cells[0], cells[1:])
        path.unlink()
        with pytest.raises(DataError, match=r"samples\.parquet: cannot be read"):
            join(tmp_path, ROUGE, cells[0], cells[1:])

    def test_a_column_that_is_missing(self, sweep: Path) -> None:
        cells = load(str(sweep)).cells
        with pytest.raises(DataError, match="has no column 'score/f1'"):
            join(sweep, SubsetMetric("overall", "f1", larger_is_better=True), cells[0], cells[1:])

    def test_ids_that_occur_twice(self, tmp_path: Path) -> None:
        twice = replace(tiny_sweep.CELLS[0], ids=["s0"] * 8)
        cells = load(str(tiny_sweep.write(tmp_path, [twice, tiny_sweep.CELLS[1]]))).cells
        with pytest.raises(DataError, match="a1a1a1a1a1a1: ids of samples occur twice"):
            join(tmp_path, ROUGE, cells[0], cells[1:])
