from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.samples import is_of_a_corpus, join, join_statistics
from analysis.sweeps import SubsetMetric, open_sweep
from components.errors import DataError
from tests.analysis import tiny_sweep

ROUGE = SubsetMetric("overall", "rouge_l")


def test_values_are_joined_by_id_whatever_the_order(tmp_path: Path) -> None:
    first, other = tiny_sweep.CELLS[0], tiny_sweep.CELLS[2]
    turned = replace(other, ids=tuple(reversed(other.ids)), rouge_l=list(reversed(other.rouge_l)))
    cells = open_sweep(str(tiny_sweep.write(tmp_path, [first, turned]))).cells
    joined = join(tmp_path, ROUGE, cells[0], cells[1:])
    assert joined.baseline.tolist() == first.rouge_l
    assert joined.values[:, 0].tolist() == other.rouge_l
    assert joined.left_out == (Counter(),)


def test_samples_of_one_first_document_are_a_cluster(sweep: Path) -> None:
    cells = open_sweep(str(sweep)).cells
    assert join(sweep, ROUGE, cells[0], cells[1:2]).clusters.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("subset", "n"),
    [("overall", 8), ("read", 6), ("read/qa_1doc", 4), ("create", 2), ("topic/funds", 1), ("task/extractive", 1)],
)
def test_a_subset_holds_its_samples(sweep: Path, subset: str, n: int) -> None:
    cells = open_sweep(str(sweep)).cells
    assert len(join(sweep, SubsetMetric(subset, "rouge_l"), cells[0], cells[1:]).values) == n


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    baseline = replace(tiny_sweep.CELLS[0], rouge_l=[None, 0.2, 0.3, 0.4, 0.5, 0.2, None, 0.2])
    cell = replace(
        tiny_sweep.CELLS[2], rouge_l=[0.6, None, 0.7, 0.9, 0.9, 0.7, None], ids=[*(f"s{i}" for i in range(6)), "x"]
    )
    cells = open_sweep(str(tiny_sweep.write(tmp_path, [baseline, cell]))).cells
    joined = join(tmp_path, ROUGE, cells[0], cells[1:])
    assert joined.left_out == (
        Counter(
            {"answer_error": 1, "answer_error in the baseline": 1, "not in this cell": 2, "not in the baseline": 1}
        ),
    )
    assert np.isnan(joined.values[:, 0]).tolist() == [True, True, False, False, False, False, True, True]


def test_another_data_set_has_no_common_sample_even_with_equal_ids(tmp_path: Path) -> None:
    other = replace(tiny_sweep.CELLS[1], facts={"dataset": {"name": "other"}})
    cells = open_sweep(str(tiny_sweep.write(tmp_path, [tiny_sweep.CELLS[0], other]))).cells
    joined = join(tmp_path, ROUGE, cells[0], cells[1:])
    assert np.isnan(joined.values).all()
    assert joined.left_out == (Counter({"of another data set": 8}),)


class TestCorpusMetrics:
    BLEU = SubsetMetric("overall", "bleu")

    def test_are_told_by_their_statistics(self, sweep: Path) -> None:
        (cell, *_) = open_sweep(str(sweep)).cells
        assert is_of_a_corpus(sweep, self.BLEU, cell)
        assert not is_of_a_corpus(sweep, ROUGE, cell)

    def test_only_samples_that_count_in_both_are_joined(self, sweep: Path) -> None:
        cells = open_sweep(str(sweep)).cells
        whole, with_a_failure = join_statistics(sweep, self.BLEU, cells[0], [cells[1], cells[3]])
        assert whole.cell.shape == whole.baseline.shape == (8, 2)
        assert with_a_failure.cell.shape == (7, 2)
        assert with_a_failure.clusters.tolist() == [0, 0, 1, 3, 4, 5, 6]
        assert with_a_failure.left_out == Counter({"answer_error": 1})


class TestErrors:
    def test_the_macro_mean_is_not_over_samples(self, sweep: Path) -> None:
        cells = open_sweep(str(sweep)).cells
        with pytest.raises(DataError, match="macro is a mean over subsets"):
            join(sweep, SubsetMetric("macro", "rouge_l"), cells[0], cells[1:])

    def test_a_file_that_is_gone_or_damaged(self, tmp_path: Path) -> None:
        cells = open_sweep(str(tiny_sweep.write(tmp_path))).cells
        path = tmp_path / cells[1].cell_id / "samples.parquet"
        path.write_bytes(b"PAR1")
        with pytest.raises(DataError, match=r"samples\.parquet: cannot be read"):
            join(tmp_path, ROUGE, cells[0], cells[1:])
        path.unlink()
        with pytest.raises(DataError, match=r"samples\.parquet: cannot be read"):
            join(tmp_path, ROUGE, cells[0], cells[1:])

    def test_a_column_that_is_missing(self, sweep: Path) -> None:
        cells = open_sweep(str(sweep)).cells
        with pytest.raises(DataError, match="has no column 'score/f1'"):
            join(sweep, SubsetMetric("overall", "f1"), cells[0], cells[1:])

    def test_ids_that_occur_twice(self, tmp_path: Path) -> None:
        twice = replace(tiny_sweep.CELLS[0], ids=["s0"] * 8)
        cells = open_sweep(str(tiny_sweep.write(tmp_path, [twice, tiny_sweep.CELLS[1]]))).cells
        with pytest.raises(DataError, match="a1a1a1a1a1a1: ids of samples occur twice"):
            join(tmp_path, ROUGE, cells[0], cells[1:])
