"""The command on a tiny sweep, and what it says."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from analysis.__main__ import main
from analysis.compare import show
from analysis.comparison import UNDECIDED, WORSE, Family, as_record, compare_cells
from analysis.statistics import Method, PairedTest, holm
from components.errors import DataError
from runner.loaded import SubsetMetric, load
from tests.analysis import tiny_sweep

ROUGE = SubsetMetric("overall", "rouge_l", larger_is_better=True)
TEST = PairedTest(n_resamples=2000)


def family(folder: Path, metric: SubsetMetric = ROUGE, baseline: str = "", test: PairedTest = TEST) -> Family:
    return compare_cells(load(str(folder)), metric, test, baseline=baseline)


def text_of(found: Family, width: int = 200) -> str:
    output = io.StringIO()
    show(Console(file=output, width=width, highlight=False), found)
    return output.getvalue()


class TestFamily:
    def test_the_best_cell_is_the_baseline_unless_one_is_named(self, sweep: Path) -> None:
        assert family(sweep).baseline.cell_id == "b3b3b3b3b3b3"
        assert family(sweep, baseline="retriever=bm25,top_k=2").baseline.cell_id == "a1a1a1a1a1a1"

    def test_of_a_metric_that_should_be_small_the_smallest_is_the_best(self, sweep: Path) -> None:
        found = family(sweep, replace(ROUGE, metric="hallucination", larger_is_better=False))
        assert found.baseline.cell_id == "a1a1a1a1a1a1"
        assert (found.rows[-1].cell.cell_id, found.rows[-1].verdict) == ("b3b3b3b3b3b3", WORSE)
        assert found.rows[-1].comparison.difference == pytest.approx(0.475)

    def test_differences_are_from_the_baseline_over_common_samples(self, sweep: Path) -> None:
        row = next(row for row in family(sweep).rows if row.cell.cell_id == "b4b4b4b4b4b4")
        pairs = zip(tiny_sweep.CELLS[3].rouge_l, tiny_sweep.CELLS[2].rouge_l, strict=True)
        differences = [own - best for own, best in pairs if own is not None and best is not None]
        assert row.comparison.difference == pytest.approx(sum(differences) / 7)
        assert (row.comparison.n, row.comparison.n_clusters) == (7, 6)
        assert row.left_out == {"answer_error": 1}

    def test_verdicts_follow_the_adjusted_p_values(self, sweep: Path) -> None:
        found = family(sweep)
        verdicts = {row.cell.cell_id: row.verdict for row in found.rows}
        assert verdicts == {"b4b4b4b4b4b4": UNDECIDED, "a1a1a1a1a1a1": WORSE, "a2a2a2a2a2a2": WORSE}
        assert [row.cell.cell_id for row in found.not_distinguishable] == ["b4b4b4b4b4b4"]
        assert all(
            row.p_adjusted is not None and (row.p_adjusted <= 0.05) == (row.verdict == WORSE) for row in found.rows
        )

    def test_against_a_named_baseline_they_follow_holm(self, sweep: Path) -> None:
        found = family(sweep, baseline="retriever=dense,top_k=2")
        p = [row.comparison.p for row in found.rows]
        assert [row.p_adjusted for row in found.rows] == pytest.approx(holm(np.array(p, dtype=np.float64)).tolist())

    def test_over_the_macro_mean_subsets_count_the_same(self, sweep: Path) -> None:
        found = family(sweep, replace(ROUGE, subset="macro"), baseline="retriever=bm25,top_k=2")
        difference = next(row for row in found.rows if row.cell.cell_id == "a2a2a2a2a2a2").comparison.difference
        assert difference == pytest.approx((0.3 / 4 + 0.1 / 2 + 0.2 / 2) / 3)

    def test_too_few_clusters_can_show_nothing(self, sweep: Path) -> None:
        found = family(sweep, replace(ROUGE, subset="read/qa_1doc"))
        assert {row.verdict for row in found.rows} == {UNDECIDED}
        assert {row.detectable for row in found.rows} == {None}
        assert "too few groups of samples for a difference of any size" in text_of(found)

    def test_failed_cells_and_those_without_a_value_are_apart(self, tmp_path: Path) -> None:
        first, second, *others = tiny_sweep.CELLS
        failed = replace(first, facts={"status": "FAILED", "reason": "8 of 8 [answers] failed"})
        silent = replace(second, rouge_l=[None] * 8)
        found = family(tiny_sweep.write(tmp_path, [failed, silent, *others]))
        assert [cell.cell_id for cell in found.failed] == ["a1a1a1a1a1a1"]
        assert [cell.cell_id for cell in found.without_value] == ["a2a2a2a2a2a2"]
        assert len(found.rows) == 1
        text = text_of(found)
        assert "FAILED, not compared: a1a1a1a1 (retriever=bm25, top_k=2): 8 of 8 [answers] failed" in text
        assert "no value, not compared: a2a2a2a2 (retriever=bm25, top_k=8)" in text

    def test_cells_without_a_result_are_named(self, tmp_path: Path) -> None:
        tiny_sweep.write(tmp_path)
        (tmp_path / "a1a1a1a1a1a1" / "cell.json").unlink()
        assert "no result yet, not compared: a1a1a1a1a1a1" in text_of(family(tmp_path))

    def test_equal_cells_are_undecided_and_nothing_is_said_of_their_size(self, tmp_path: Path) -> None:
        equal = [replace(cell, rouge_l=tiny_sweep.CELLS[0].rouge_l) for cell in tiny_sweep.CELLS]
        found = family(tiny_sweep.write(tmp_path, equal))
        assert [(row.verdict, row.p_adjusted) for row in found.rows] == [(UNDECIDED, 1.0)] * 3
        assert "show up reliably" not in text_of(found)
        assert "too few" not in text_of(found)

    def test_a_cell_of_another_data_set_is_shown_but_not_tested(self, tmp_path: Path) -> None:
        *cells, last = tiny_sweep.CELLS
        stranger = replace(last, facts={"dataset": {"name": "other"}})
        found = family(tiny_sweep.write(tmp_path, [*cells, stranger]))
        row = next(row for row in found.rows if row.cell.cell_id == last.cell_id)
        assert (row.verdict, row.p_adjusted, row.comparison.p) == ("no common sample", None, None)
        text = text_of(found)
        assert "corrected for any two of 3 cells" in text
        assert "left out: 8 of another data set" in text


class TestErrors:
    def test_a_single_cell(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"1 cell\(s\) with a value of rouge_l of all samples, wanted two"):
            family(tiny_sweep.write(tmp_path, tiny_sweep.CELLS[:1]))

    def test_a_baseline_that_failed(self, tmp_path: Path) -> None:
        first, *others = tiny_sweep.CELLS
        failed = replace(first, facts={"status": "FAILED", "reason": "no"})
        with pytest.raises(
            DataError, match="--baseline a1a1a1a1a1a1: a1a1a1a1a1a1 cannot be compared with: it is FAILED"
        ):
            family(tiny_sweep.write(tmp_path, [failed, *others]), baseline="a1a1a1a1a1a1")

    def test_a_baseline_without_a_value(self, tmp_path: Path) -> None:
        first, *others = tiny_sweep.CELLS
        silent = replace(first, rouge_l=[None] * 8)
        with pytest.raises(DataError, match="it has no value of rouge_l of all samples"):
            family(tiny_sweep.write(tmp_path, [silent, *others]), baseline="a1a1a1a1a1a1")


class TestText:
    def test_names_the_cells_that_may_be_the_best(self, sweep: Path) -> None:
        text = text_of(family(sweep))
        assert (
            "With 95 % confidence the best cell is one of these: b3b3b3b3 (retriever=dense, top_k=2), b4b4b4b4 "
            "(2 of 4; corrected for any two of 4 cells)." in text
        )

    def test_names_the_only_cell_that_may_be_the_best(self, tmp_path: Path) -> None:
        best, other, *_ = tiny_sweep.CELLS
        clear = [replace(best, rouge_l=[0.9] * 8), replace(other, rouge_l=[0.1] * 8)]
        text = text_of(family(tiny_sweep.write(tmp_path, clear)))
        assert "With 95 % confidence the best cell is a1a1a1a1 (top_k=2) (corrected for any two of 2 cells)." in text

    def test_counts_verdicts_against_a_named_baseline(self, sweep: Path) -> None:
        text = text_of(family(sweep, baseline="retriever=bm25,top_k=2"))
        assert "Against a1a1a1a1 (retriever=bm25, top_k=2): 1 better, 0 worse, 2 undecided" in text
        assert "Holm over 3 comparisons" in text
        assert "confidence" not in text

    def test_says_what_could_have_been_shown(self, sweep: Path) -> None:
        metric = replace(ROUGE, metric="hallucination", larger_is_better=False)
        found = family(sweep, metric, test=replace(TEST, method=Method.BOOTSTRAP))
        sizes = sorted(row.detectable for row in found.rows if row.detectable is not None)
        n = max(row.comparison.n for row in found.rows if row.detectable is not None)
        span = f"{sizes[0]:.2g} to {sizes[-1]:.2g}, depending on the cell,"
        line = f"With {n} questions, only differences above about {span} show up reliably (80% power)."
        assert line in text_of(found)

    def test_says_how_many_samples_and_what_is_left_out(self, sweep: Path) -> None:
        lines = text_of(family(sweep)).splitlines()
        assert "a2a2a2a2, a1a1a1a1: over 8 samples in 7 groups by source document" in lines
        assert "b4b4b4b4: over 7 samples in 6 groups by source document; left out: 1 answer_error" in lines

    @pytest.mark.parametrize("width", [70, 80, 100])
    def test_a_narrow_terminal_shows_fewer_columns_and_cuts_none(self, sweep: Path, width: int) -> None:
        text = text_of(family(sweep), width)
        assert "…" not in text
        assert ("a wider terminal also shows: " in text) == (width < 100)
        assert "adj. p" in text


class TestCommand:
    def test_prints_the_table(self, sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", str(sweep), "--metric", "rouge_l"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].strip() == "rouge_l of all samples against the best cell (larger is better)"
        assert lines[1].split()[:3] == ["cell", "retriever", "top_k"]
        assert lines[2].split() == ["b3b3b3b3", "dense", "2", "0.7250", "best"]

    def test_writes_files(self, sweep: Path, tmp_path: Path) -> None:
        arguments = ["--json", str(tmp_path / "a.json"), "--csv", str(tmp_path / "a.csv"), "--method", "bootstrap"]
        assert main(["compare", str(sweep), "--metric", "rouge_l", *arguments]) == 0
        record = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
        rows = list(csv.DictReader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
        assert record == as_record(family(sweep, test=PairedTest(Method.BOOTSTRAP)))
        assert record["method"] == "bootstrap"
        assert [row["cell_id"] for row in rows] == [cell["cell_id"] for cell in record["cells"]]
        assert rows[0]["axis/retriever"] == "dense"
        assert float(rows[0]["p_adjusted"]) == record["cells"][0]["p_adjusted"]
        assert rows[0]["n_left_out"] == "1 answer_error"

    @pytest.mark.parametrize("alpha", ["0", "1", "x"])
    def test_refuses_an_alpha_that_is_no_share(
        self, sweep: Path, alpha: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            main(["compare", str(sweep), "--metric", "rouge_l", "--alpha", alpha])
        assert "--alpha" in capsys.readouterr().err

    def test_a_file_that_cannot_be_written_is_named(self, sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", str(sweep), "--metric", "rouge_l", "--json", str(sweep)]) == 2
        assert f"{sweep}: cannot be written" in capsys.readouterr().err

    def test_an_error_is_one_message_and_exit_code_2(self, sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", str(sweep), "--metric", "nothing"]) == 2
        assert capsys.readouterr().err.startswith("--metric nothing: no metric 'nothing' in overall; there are: bleu")
