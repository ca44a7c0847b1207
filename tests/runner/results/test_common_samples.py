from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow.parquet import read_table, write_table

from components.errors import DataError
from runner.results.joined_samples import OWN_MEANS, CommonSamples, common_means, common_samples, is_corpus_metric
from runner.results.loaded_sweep import load
from runner.results.scored_samples import _hash_labels
from tests.analysis import tiny_sweep
from tests.analysis.tiny_sweep import TinyCell


def joined(folder: Path, cells: Sequence[TinyCell], metric: str = "rouge_l", subset: str = "overall") -> CommonSamples:
    sweep = load(str(tiny_sweep.write(folder, cells)))
    return common_samples(sweep.cells, sweep.folder_of, metric, subset)


def test_joined_values_are_matched_by_sample_id(tmp_path: Path) -> None:
    first, other = tiny_sweep.CELLS[0], tiny_sweep.CELLS[2]
    turned = replace(other, ids=tuple(reversed(other.ids)), rouge_l=list(reversed(other.rouge_l)))
    found = joined(tmp_path, [first, turned])
    assert found.statistics[:, :, 0].T.tolist() == [first.rouge_l, other.rouge_l]
    assert found.left_out == (Counter(), Counter())
    assert (found.n, found.n_known, found.left_out_differ) == (8, 8, False)


@pytest.mark.parametrize(
    ("key", "n", "left_out"), [("new", 6, {"with another history, gold or references": 2}), ("old", 8, {})]
)
def test_samples_with_corrected_references_are_others(
    key: str, n: int, left_out: dict[str, int], tmp_path: Path
) -> None:
    """Otherwise the correction would count as the effect of the pipeline. An equal key means equal data."""
    cells = [replace(cell, facts={"dataset": {"name": "demo", "key": "old"}}) for cell in tiny_sweep.CELLS[:2]]
    references = ["corrected", *["an answer"] * 6, "corrected"]
    cells[1] = replace(cells[1], facts={"dataset": {"name": "demo", "key": key}}, references=references)
    found = joined(tmp_path, cells)
    assert found.n == n
    assert found.left_out == (Counter(left_out), Counter(left_out))


@pytest.mark.parametrize(("corpus", "n"), [("c1", 7), ("c2", 8)])
def test_corrected_span_makes_another_sample_of_the_same_corpus(corpus: str, n: int, tmp_path: Path) -> None:
    """In another corpus, another parser may have moved the same sentence."""
    before, after = (
        {"dataset": {"name": "demo", "key": key, "corpus": corpus}} for key, corpus in (("k1", "c1"), ("k2", corpus))
    )
    starts = [0] * 8
    first = replace(tiny_sweep.CELLS[0], facts=before, gold_starts=starts)
    corrected = replace(tiny_sweep.CELLS[1], facts=after, gold_starts=[40, *starts[1:]])
    assert joined(tmp_path, [first, corrected]).n == n


def test_cells_are_ranked_on_their_common_samples_after_a_correction(tmp_path: Path) -> None:
    """Although no cell excludes a sample: the corrected ones are others."""
    facts = [{"dataset": {"name": "demo", "key": key, "corpus": "c1"}} for key in ("k1", "k2")]
    first, other = (replace(cell, facts=own) for cell, own in zip(tiny_sweep.CELLS[:2], facts, strict=True))
    references = ["corrected", *["an answer"] * 7]
    sweep = load(str(tiny_sweep.write(tmp_path, [first, replace(other, references=references)])))
    means = common_means(sweep.cells, sweep.folder_of, "rouge_l")
    assert (means.n, means.n_known) == (7, 9)
    assert means.by_cell == pytest.approx({cell.cell_id: np.mean(cell.rouge_l[1:]) for cell in (first, other)})


def test_sample_labels_ignore_gold_spans_and_unset_alternatives() -> None:
    """Another parser moves the same sentence, and the column `one_of` exists only where a data set has alternatives."""
    unit = {"document_id": "d1", "start": 3, "end": 9, "grade": 1}
    row = {"references": ["so"], "answer_parts": [], "answerable": True, "gold": [unit]}
    moved = {**row, "gold": [{**unit, "start": 5, "end": 11, "one_of": 0}]}
    assert _hash_labels(row) == _hash_labels(moved)
    without_gold_in_prompt = {**row, "answerable": False}
    assert _hash_labels(row) == _hash_labels(without_gold_in_prompt), "with given passages, a property of the cell"
    assert _hash_labels({**row, "gold": []}) != _hash_labels({**without_gold_in_prompt, "gold": []})
    assert _hash_labels(row) != _hash_labels({**row, "history": '[{"question": "a", "answer": "b"}]'})
    for changed in ({**unit, "document_id": "d2"}, {**unit, "grade": 2}, {**unit, "one_of": 1}):
        assert _hash_labels(row) != _hash_labels({**row, "gold": [changed]})


@pytest.mark.parametrize("metric", ["rouge_l", "bleu"])
def test_samples_file_of_another_cell_is_rejected_when_joined(tmp_path: Path, metric: str) -> None:
    """The mean and the number of values reveal the foreign file."""
    sweep = load(str(tiny_sweep.write(tmp_path, [tiny_sweep.CELLS[2], tiny_sweep.CELLS[3]])))
    one, other = (sweep.folder_of(cell) / "samples.parquet" for cell in sweep.cells)
    other.write_bytes(one.read_bytes())
    with pytest.raises(DataError, match=rf"b4b4b4b4b4b4/samples.parquet: its {metric} differs from cell.json beside"):
        common_samples(sweep.cells, sweep.folder_of, metric, "overall")


def test_custom_metric_without_row_means_is_joined(tmp_path: Path) -> None:
    first, other = (replace(cell, facts={"own_metrics": ("rouge_l",)}) for cell in tiny_sweep.CELLS[:2])
    folder = tiny_sweep.write(tmp_path, [first, other])
    (folder / other.cell_id / "samples.parquet").write_bytes((folder / first.cell_id / "samples.parquet").read_bytes())
    sweep = load(str(folder))
    assert common_samples(sweep.cells, sweep.folder_of, "rouge_l", "overall").n == 8


def test_joined_samples_of_one_document_are_a_cluster(tmp_path: Path) -> None:
    assert joined(tmp_path, tiny_sweep.CELLS[:2]).clusters.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


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
def test_joined_subset_contains_only_its_samples(tmp_path: Path, subset: str, n: int) -> None:
    found = joined(tmp_path, tiny_sweep.CELLS[:2], subset=subset)
    assert found.n == n
    assert len(set(found.strata.tolist())) == (3 if subset == "macro" else 1)


class TestMissingSamples:
    """The first cell lacks two answers, the second another one and the last sample."""

    cells = (
        replace(tiny_sweep.CELLS[0], rouge_l=[None, 0.2, 0.3, 0.4, 0.5, 0.2, None, 0.2]),
        replace(
            tiny_sweep.CELLS[2], rouge_l=[0.6, None, 0.7, 0.9, 0.9, 0.7, None], ids=[*(f"s{i}" for i in range(6)), "x"]
        ),
    )

    def test_samples_that_some_cells_lack_are_excluded_from_means(self, tmp_path: Path) -> None:
        found = joined(tmp_path, self.cells)
        assert found.statistics[:, :, 0].T.tolist() == [[0.3, 0.4, 0.5, 0.2], [0.7, 0.9, 0.9, 0.7]]
        assert found.means().tolist() == pytest.approx([0.35, 0.8])

    def test_samples_that_some_cells_lack_are_counted_by_reason(self, tmp_path: Path) -> None:
        found = joined(tmp_path, self.cells)
        assert found.n_known == 9
        assert found.left_out == (
            Counter({"answer_error": 2, "not in this cell": 1}),
            Counter({"answer_error": 2, "not in this cell": 2}),
        )
        assert [found.n_own(0), found.n_own(1)] == [6, 5]
        assert found.left_out_differ

    def test_samples_that_all_cells_lack_are_not_a_difference(self, tmp_path: Path) -> None:
        cells = [replace(cell, rouge_l=[None, *cell.rouge_l[1:]]) for cell in tiny_sweep.CELLS[:2]]
        found = joined(tmp_path, cells)
        assert (found.n, found.n_known, found.left_out_differ) == (7, 8, False)

    def test_joined_macro_mean_weighs_subsets_equally(self, tmp_path: Path) -> None:
        found = joined(tmp_path, tiny_sweep.CELLS[:2], subset="macro")
        assert found.means().tolist() == pytest.approx([(0.25 + 0.35 + 0.15) / 3, (0.325 + 0.4 + 0.25) / 3])


def test_damaged_samples_file_is_named_with_a_remedy(tmp_path: Path) -> None:
    sweep = load(str(tiny_sweep.write(tmp_path, tiny_sweep.CELLS[:2])))
    file = sweep.folder_of(sweep.cells[0]) / "samples.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"samples.parquet: cannot be read .*Run the sweep's command again"):
        common_samples(sweep.cells, sweep.folder_of, "rouge_l", "overall")
    file.unlink()
    with pytest.raises(DataError, match=r"samples.parquet: cannot be read \(it does not exist\)"):
        common_samples(sweep.cells, sweep.folder_of, "rouge_l", "overall")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda table: table.append_column("id", table["id"]), "two of its columns have the same name"),
        (
            lambda table: table.drop(["score/rouge_l"]).append_column("score/rouge_l", table["id"]),
            "its column score/rouge_l is of type string, not numbers",
        ),
    ],
)
def test_error_names_samples_columns_that_no_sweep_writes(
    tmp_path: Path, damage: Callable[[Any], Any], message: str
) -> None:
    sweep = load(str(tiny_sweep.write(tmp_path, tiny_sweep.CELLS[:2])))
    file = sweep.folder_of(sweep.cells[0]) / "samples.parquet"
    write_table(damage(read_table(file)), file)
    with pytest.raises(DataError, match=rf"samples.parquet: cannot be read \({message}\)"):
        common_samples(sweep.cells, sweep.folder_of, "rouge_l", "overall")


class TestCommonMeans:
    first = replace(tiny_sweep.CELLS[0], rouge_l=[0.2, 0.3, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8])
    second = replace(tiny_sweep.CELLS[1], rouge_l=[None, None, 0.9, 0.8, 0.8, 0.8, 0.9, 0.8])

    def test_common_means_rank_cells_by_their_shared_samples(self, tmp_path: Path) -> None:
        """The second cell leaves out hard samples, and is better only over its own samples."""
        sweep = load(str(tiny_sweep.write(tmp_path, [self.first, self.second])))
        means = common_means(sweep.cells, sweep.folder_of, "rouge_l")
        assert means.n == 6
        assert list(means.by_cell.values()) == pytest.approx([5.1 / 6, 5.0 / 6])
        assert [cell.cell_id for cell in sweep.rank_cells("rouge_l")] == [self.first.cell_id, self.second.cell_id]

    def test_common_means_equal_own_means_without_missing_samples(self, tmp_path: Path) -> None:
        sweep = load(str(tiny_sweep.write(tmp_path, tiny_sweep.CELLS[:3])))
        for cell in sweep.cells:
            (sweep.folder_of(cell) / "samples.parquet").unlink()  # nothing has to be read
        assert common_means(sweep.cells, sweep.folder_of, "rouge_l") is OWN_MEANS

    def test_common_means_equal_own_means_with_equal_missing_samples(self, tmp_path: Path) -> None:
        cells = [replace(cell, rouge_l=[None, *cell.rouge_l[1:]]) for cell in tiny_sweep.CELLS[:2]]
        sweep = load(str(tiny_sweep.write(tmp_path, cells)))
        assert common_means(sweep.cells, sweep.folder_of, "rouge_l") is OWN_MEANS


class TestCellsWithoutACommonSample:
    def test_cells_of_another_data_set_are_separate_despite_equal_ids(self, tmp_path: Path) -> None:
        first, second, stranger, _ = tiny_sweep.CELLS
        found = joined(tmp_path, [first, replace(stranger, facts={"dataset": {"name": "other"}}), second])
        assert [cell.cell_id for cell in found.cells] == [first.cell_id, second.cell_id]
        assert [cell.cell_id for cell in found.apart] == [stranger.cell_id]
        assert found.n == 8

    def test_cells_with_different_questions_under_equal_ids_are_separate(self, tmp_path: Path) -> None:
        first, second, *_ = tiny_sweep.CELLS
        found = joined(tmp_path, [first, replace(second, question="Who was there?")])
        assert [cell.cell_id for cell in found.apart] == [second.cell_id]


class TestMetricsOfACorpus:
    def test_corpus_metrics_are_recognized_by_their_statistics(self, tmp_path: Path) -> None:
        folder = tiny_sweep.write(tmp_path) / tiny_sweep.CELLS[0].cell_id
        assert is_corpus_metric(folder, "bleu")
        assert not is_corpus_metric(folder, "rouge_l")

    def test_corpus_metrics_are_joined_by_their_statistics(self, tmp_path: Path) -> None:
        found = joined(tmp_path, [tiny_sweep.CELLS[0], tiny_sweep.CELLS[1], tiny_sweep.CELLS[3]], "bleu")
        assert found.statistics.shape == (7, 3, 10)
        geometric_mean = (8 / 9 * 7 / 8 * 6 / 7 * 5 / 6) ** 0.25
        assert found.means().tolist() == pytest.approx([geometric_mean] * 3)


class TestErrors:
    def test_missing_or_damaged_samples_file_is_an_error(self, tmp_path: Path) -> None:
        sweep = load(str(tiny_sweep.write(tmp_path)))
        path = sweep.folder_of(sweep.cells[1]) / "samples.parquet"
        for damage in (lambda: path.write_bytes(b"PAR1"), path.unlink):
            damage()
            with pytest.raises(DataError, match=r"samples\.parquet: cannot be read"):
                common_samples(sweep.cells, sweep.folder_of, "rouge_l", "overall")

    def test_missing_samples_column_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="has no column 'score/f1'"):
            joined(tmp_path, tiny_sweep.CELLS, "f1")

    def test_duplicate_ids_of_a_samples_file_are_rejected(self, tmp_path: Path) -> None:
        twice = replace(tiny_sweep.CELLS[0], ids=["s0"] * 8)
        with pytest.raises(DataError, match="a1a1a1a1a1a1: ids of samples occur twice"):
            joined(tmp_path, [twice, tiny_sweep.CELLS[1]])


def test_cells_with_different_groups_are_compared_by_the_coarsest(tmp_path: Path) -> None:
    alone = {"dataset": {"name": "demo", "groups": "none"}}
    documents = [[f"d{row}"] for row in range(8)]
    first, other = tiny_sweep.CELLS[:2]
    apart = replace(first, documents=documents, facts=alone)
    assert len(set(joined(tmp_path / "a", [apart, replace(other, documents=documents, facts=alone)]).clusters)) == 8
    turned = replace(other, ids=tuple(reversed(other.ids)), documents=list(reversed(tiny_sweep.DOCUMENTS)))
    clusters = joined(tmp_path / "b", [apart, turned]).clusters.tolist()
    assert clusters[0] == clusters[1]
    assert len(set(clusters)) == 7


def test_unknown_groups_in_a_cell_are_an_error(tmp_path: Path) -> None:
    cells = [replace(cell, facts={"dataset": {"name": "demo", "groups": "topic"}}) for cell in tiny_sweep.CELLS[:2]]
    with pytest.raises(DataError, match=r"dataset.groups='topic', expected one of document, source, none\. Run"):
        joined(tmp_path, cells)
