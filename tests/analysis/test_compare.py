"""The compare command on a tiny sweep, and its output."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from analysis.__main__ import main
from analysis.compare import show
from analysis.comparison import compare_cells
from analysis.comparison_family import MAY_BE_BEST, WORSE, Family, detectable_range
from analysis.comparison_records import as_record, as_table
from analysis.report.answer_section import gather as gather_answer
from analysis.report.report_input import open_source
from components.errors import DataError
from components.statistics import PairedTest, RightOrWrong, holm
from runner.console.display import estimate
from runner.results.loaded_sweep import SubsetMetric, load, load_together
from tests.analysis import tiny_sweep

ROUGE = SubsetMetric("overall", "rouge_l", larger_is_better=True)
TEST = PairedTest(n_resamples=2000)


def _twice(cell: tiny_sweep.TinyCell) -> tiny_sweep.TinyCell:
    """The same eight samples, and eight more of other documents whose scores differ a little."""
    own = [value for value in cell.rouge_l if value is not None]
    return replace(
        cell,
        rouge_l=[*own, *(round(value + 0.01 * (place % 3), 2) for place, value in enumerate(own))],
        ids=[f"s{i}" for i in range(16)],
        subsets=[*cell.subsets, *cell.subsets],
        documents=[*cell.documents, *([f"more {name}" for name in names] for names in cell.documents)],
        topics=[*cell.topics, *cell.topics],
        tasks=[*cell.tasks, *cell.tasks],
    )


COMPLETE = tuple(
    map(_twice, (*tiny_sweep.CELLS[:3], replace(tiny_sweep.CELLS[3], rouge_l=[0.7, 0.7, 0.8, 0.6, 0.9, 0.7, 0.6, 0.5])))
)
"""No answer failed: all sixteen samples, in fourteen clusters, are compared."""


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_sweep.write(tmp_path_factory.mktemp("results") / "tiny", COMPLETE)


def family(folder: Path, metric: SubsetMetric = ROUGE, baseline: str = "", test: PairedTest = TEST) -> Family:
    return compare_cells(load(str(folder)), metric, test, baseline=baseline)


def text_of(found: Family, width: int = 200) -> str:
    output = io.StringIO()
    show(Console(file=output, width=width, highlight=False), found)
    return output.getvalue()


def _of_a_large_group(scores: NDArray[np.float64]) -> list[tiny_sweep.TinyCell]:
    """Return cells with these scores, float64[n_cells, 59]: 40 samples of one group, and 19 of one group each."""
    n = scores.shape[1]
    return [
        replace(
            cell,
            rouge_l=own.tolist(),
            ids=[f"s{i}" for i in range(n)],
            documents=[["large"]] * 40 + [[f"d{i}"] for i in range(n - 40)],
            subsets=["read/qa_1doc"] * n,
            topics=[None] * n,
            tasks=[None] * n,
        )
        for cell, own in zip(tiny_sweep.CELLS, scores, strict=False)
    ]


class TestFamily:
    def test_comparison_baseline_defaults_to_the_best_cell(self, complete: Path) -> None:
        assert family(complete).baseline.cell.cell_id == "b3b3b3b3b3b3"
        assert family(complete, baseline="best") == family(complete)
        assert family(complete, baseline="retriever=bm25,top_k=2").baseline.cell.cell_id == "a1a1a1a1a1a1"
        assert family(complete, baseline="best:hallucination").baseline.cell.cell_id == "a1a1a1a1a1a1"

    def test_lowest_value_is_best_for_a_minimized_metric(self, complete: Path) -> None:
        found = family(complete, replace(ROUGE, metric="hallucination", larger_is_better=False))
        assert found.baseline.cell.cell_id == "a1a1a1a1a1a1"
        assert (found.rows[-1].standing.cell.cell_id, found.rows[-1].verdict) == ("b3b3b3b3b3b3", WORSE)
        assert found.rows[-1].comparison.difference == pytest.approx(0.475)

    def test_differences_are_from_the_baseline_over_common_samples(self, sweep: Path) -> None:
        row = next(row for row in family(sweep).rows if row.standing.cell.cell_id == "b4b4b4b4b4b4")
        pairs = zip(tiny_sweep.CELLS[3].rouge_l, tiny_sweep.CELLS[2].rouge_l, strict=True)
        differences = [own - best for own, best in pairs if own is not None and best is not None]
        assert -row.comparison.difference == pytest.approx(sum(differences) / 7)
        assert (row.comparison.n, row.comparison.n_clusters) == (7, 6)
        assert row.standing.left_out == {"answer_error": 1}

    def test_verdicts_follow_the_adjusted_p_values(self, complete: Path) -> None:
        found = family(complete)
        verdicts = {row.standing.cell.cell_id: row.verdict for row in found.rows}
        assert verdicts == {"b4b4b4b4b4b4": MAY_BE_BEST, "a1a1a1a1a1a1": WORSE, "a2a2a2a2a2a2": WORSE}
        assert [row.standing.cell.cell_id for row in found.not_distinguishable] == ["b4b4b4b4b4b4"]
        assert all(
            row.p_adjusted is not None and (row.p_adjusted <= 0.05) == (row.verdict == WORSE) for row in found.rows
        )

    def test_p_values_against_a_named_baseline_are_adjusted_by_holm(self, sweep: Path) -> None:
        found = family(sweep, baseline="retriever=dense,top_k=2")
        p = [row.comparison.p for row in found.rows]
        assert [row.p_adjusted for row in found.rows] == pytest.approx(holm(np.array(p, dtype=np.float64)).tolist())

    def test_macro_comparison_weighs_subsets_equally(self, complete: Path) -> None:
        found = family(complete, replace(ROUGE, subset="macro"), baseline="retriever=bm25,top_k=2")
        difference = next(
            row for row in found.rows if row.standing.cell.cell_id == "a2a2a2a2a2a2"
        ).comparison.difference
        assert difference == pytest.approx((0.3 / 4 + 0.1 / 2 + 0.2 / 2) / 3)

    def test_detectable_lengths_are_written_without_a_power_of_ten(self, tmp_path: Path) -> None:
        cells = [
            replace(cell, rouge_l=[None if value is None else 1000 * value for value in cell.rouge_l])
            for cell in COMPLETE
        ]
        (line,) = (
            line
            for line in text_of(family(tiny_sweep.write(tmp_path, cells))).splitlines()
            if "smallest detectable" in line
        )
        assert re.search(r"is about \d{2,3} to \d{2}0, depending", line), line

    def test_detectable_share_above_one_is_written_in_words(self, sweep: Path) -> None:
        found = family(sweep)
        huge = tuple(replace(row, detectable=size) for row, size in zip(found.rows, (0.31, 1.6, 1.2), strict=True))
        assert detectable_range(replace(found, rows=huge)) == ["0.31", "more than 1"]
        assert detectable_range(replace(found, rows=huge[1:])) == ["more than 1"]
        assert detectable_range(replace(found, rows=())) == []

    def test_comparison_of_few_clusters_has_no_verdict(self, sweep: Path) -> None:
        found = family(sweep, replace(ROUGE, subset="read/qa_1doc"))
        assert {row.verdict for row in found.rows} == {MAY_BE_BEST}
        assert {row.detectable for row in found.rows} == {None}
        assert "Too few groups of samples (2) to tell. Add questions about documents that have none yet" in text_of(
            found
        )

    def test_right_or_wrong_scores_increase_the_detectable_difference(self, tmp_path: Path) -> None:
        """Scores of 0.0001 in place of 0 are not right-or-wrong answers, so this variance does not apply. Groups of two
        samples have the same test for both.
        """
        sizes = []
        for wrong in (0.0, 0.0001):
            scores = np.ones((2, 40))
            scores[0, :2] = scores[1, 2:5] = wrong
            same = {name: (getattr(tiny_sweep.CELLS[0], name) * 5)[:40] for name in ("subsets", "topics", "tasks")}
            each = {"ids": [f"s{i}" for i in range(40)], "documents": [[f"d{i // 2}"] for i in range(40)]}
            cells = [
                replace(cell, rouge_l=own.tolist(), **same, **each)
                for cell, own in zip(tiny_sweep.CELLS[:2], scores, strict=True)
            ]
            (row,) = family(tiny_sweep.write(tmp_path / str(wrong), cells)).rows
            assert row.detectable is not None
            sizes.append(row.detectable)
        assert sizes[0] == pytest.approx(RightOrWrong(5 / 40, 1.0).with_effect(sizes[1]), rel=0.001)
        assert sizes[0] > 1.5 * sizes[1]

    def test_undecided_cells_report_how_many_questions_would_decide(self, tmp_path: Path) -> None:
        random = np.random.default_rng(3)
        first = random.uniform(0.3, 0.6, size=40)
        slightly_worse = first - 0.01 + random.normal(scale=0.1, size=40)
        scores = (first, slightly_worse, first - 0.2)
        same = {name: (getattr(tiny_sweep.CELLS[0], name) * 5)[:40] for name in ("subsets", "topics", "tasks")}
        each = {"ids": [f"s{i}" for i in range(40)], "documents": [[f"d{i}"] for i in range(40)]}
        cells = [
            replace(cell, rouge_l=own.tolist(), **same, **each)
            for cell, own in zip(tiny_sweep.CELLS[:3], scores, strict=True)
        ]
        found = family(tiny_sweep.write(tmp_path / "sweep", cells))
        undecided, worse = found.rows
        assert undecided.n_needed is not None
        assert worse.verdict == WORSE
        assert worse.n_needed is None
        assert undecided.detectable is not None
        difference = abs(undecided.comparison.difference or 0)
        assert undecided.n_needed == pytest.approx(40 * (undecided.detectable / difference) ** 2, rel=0.1)
        n = estimate(undecided.n_needed)
        assert (
            f"At the observed differences, it would take about {n} questions to separate the tied cell from the best "
            "cell." in text_of(found)
        )
        assert as_record(found)["cells"][0]["n_needed"] == undecided.n_needed
        report = gather_answer(open_source(str(tmp_path / "sweep"), "rouge_l"))
        (figure,) = (figure for figure in report.figures if "needed" in figure.head)
        assert figure.value == f"about {n}"

    def test_comparison_of_a_subset_of_one_sample_has_no_interval(self, tmp_path: Path) -> None:
        """One sample decides much of a mean over subsets, so we report neither an interval nor a detectable size."""
        cells = [replace(cell, ids=cell.ids[:7], rouge_l=cell.rouge_l[:7]) for cell in tiny_sweep.CELLS[:3]]
        found = family(tiny_sweep.write(tmp_path, cells), replace(ROUGE, subset="macro"))
        assert {(row.comparison.low, row.comparison.standard_error, row.detectable) for row in found.rows} == {
            (None, None, None)
        }
        text = text_of(found)
        assert "all samples of a subset belong to one group" in text
        assert "detectable difference is" not in text

    def test_failed_cells_and_cells_without_a_value_are_listed_separately(self, tmp_path: Path) -> None:
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

    def test_comparison_names_cells_without_a_result(self, tmp_path: Path) -> None:
        tiny_sweep.write(tmp_path)
        tiny_sweep.unfinish(tmp_path, "a1a1a1a1a1a1")
        assert "no result yet, not compared: a1a1a1a1a1a1" in text_of(family(tmp_path))

    def test_comparison_joins_cells_with_equal_values_in_one_row(self, tmp_path: Path) -> None:
        """A ranking metric does not depend on top_k: four cells are two, and no verdict is corrected for four."""
        first, second, third, fourth = tiny_sweep.CELLS
        cells = [first, replace(second, rouge_l=first.rouge_l), third, replace(fourth, rouge_l=third.rouge_l)]
        found = family(tiny_sweep.write(tmp_path, cells))
        assert [cell.cell_id for cell in found.baseline.cells] == ["b3b3b3b3b3b3", "b4b4b4b4b4b4"]
        assert [[cell.cell_id for cell in row.standing.cells] for row in found.rows] == [
            ["a1a1a1a1a1a1", "a2a2a2a2a2a2"]
        ]
        text = text_of(found)
        assert text.splitlines()[2].split()[:6] == ["b3b3b3b3", "+1", "dense", "2,", "8", "0.7250"]
        assert "more cells with the same value for every sample: b3b3b3b3, b4b4b4b4; a1a1a1a1, a2a2a2a2" in text
        assert "b3b3b3b3 +1 (retriever=dense, top_k=2 or 8)" in text
        assert "2 of 2 rows; corrected for the 2 rows" in text
        assert [row["cell_id"] for row in as_table(found)] == ["a1a1a1a1a1a1", "a2a2a2a2a2a2"]

    def test_row_of_equal_cells_shows_the_recommended_cell(self, tmp_path: Path) -> None:
        first, second, third, fourth = tiny_sweep.CELLS
        expensive = {"tokens": {"prompt": 99_999, "completion": 80}}
        cells = [first, second, replace(third, facts=expensive), replace(fourth, rouge_l=third.rouge_l)]
        folder = tiny_sweep.write(tmp_path, cells)
        assert load(folder).best("rouge_l").cell_id == "b4b4b4b4b4b4"
        assert [cell.cell_id for cell in family(folder).baseline.cells] == ["b4b4b4b4b4b4", "b3b3b3b3b3b3"]
        named = family(folder, baseline="b3b3b3b3b3b3")
        assert [cell.cell_id for cell in named.baseline.cells] == ["b3b3b3b3b3b3", "b4b4b4b4b4b4"]

    def test_latex_table_contains_no_cell_ids(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        first, second, third, fourth = tiny_sweep.CELLS
        cells = [first, replace(second, rouge_l=first.rouge_l), third, replace(fourth, rouge_l=third.rouge_l)]
        folder = tiny_sweep.write(tmp_path, cells)
        assert main(["compare", str(folder), "--metric", "rouge_l", "--format", "latex"]) == 0
        text = capsys.readouterr().out
        assert not re.search("a1a1|a2a2|b3b3|b4b4", text)
        assert r"With 95\% confidence the best cell is one of the 2 rows without * (corrected for the 2 rows)." in text

    @pytest.mark.parametrize("command", ["compare", "effects"])
    def test_compare_and_effects_default_to_the_headline_metric(
        self, command: str, complete: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([command, str(complete)]) == 0
        by_default = capsys.readouterr().out
        assert main([command, str(complete), "--metric", load(complete).headline_metric()]) == 0
        assert by_default == capsys.readouterr().out

    def test_text_of_equal_cells_contains_no_detectable_difference(self, tmp_path: Path) -> None:
        equal = [replace(cell, rouge_l=tiny_sweep.CELLS[0].rouge_l) for cell in tiny_sweep.CELLS]
        found = family(tiny_sweep.write(tmp_path, equal))
        assert found.rows == ()
        text = text_of(found)
        assert "All 4 cells have the same value for every sample." in text
        assert "detectable difference is" not in text

    def test_comparison_names_but_does_not_test_another_data_set(self, tmp_path: Path) -> None:
        *cells, last = tiny_sweep.CELLS
        stranger = replace(last, facts={"dataset": {"name": "other"}})
        found = family(tiny_sweep.write(tmp_path, [*cells, stranger]))
        assert [cell.cell_id for cell in found.apart] == [last.cell_id]
        text = text_of(found)
        assert "corrected for any two of 3 cells" in text
        assert "no sample in common with the others, not compared: b4b4b4b4" in text


class TestUpperBounds:
    cells = (*tiny_sweep.CELLS[:-1], replace(tiny_sweep.CELLS[-1], axes={"retriever": "oracle"}, rouge_l=[1.0] * 8))

    def test_upper_bound_is_no_candidate_for_the_best_cell(self, tmp_path: Path) -> None:
        sweep = tiny_sweep.write(tmp_path, self.cells)
        found = family(sweep)
        (bound,) = found.bounds
        assert bound.cell_id not in {cell.cell_id for standing in found.standings for cell in standing.cells}
        assert f"upper bound (1.0000), not compared: {bound.cell_id[:8]}" in text_of(found)
        best = load(sweep).best("rouge_l")
        assert best.cell_id == load(tiny_sweep.write(tmp_path / "without", self.cells[:-1])).best("rouge_l").cell_id
        assert gather_answer(open_source(str(sweep), "rouge_l")).take == best.cell_id

    def test_cells_are_compared_with_a_named_upper_bound(self, tmp_path: Path) -> None:
        found = family(tiny_sweep.write(tmp_path, self.cells), baseline="retriever=oracle")
        assert (found.baseline.cell.cell_id, found.bounds) == (self.cells[-1].cell_id, ())
        assert len(found.rows) == len(self.cells) - 1

    def test_single_cell_is_compared_with_upper_bounds(self, tmp_path: Path) -> None:
        found = family(tiny_sweep.write(tmp_path, self.cells[-2:]))
        assert (found.bounds, len(found.rows)) == ((), 1)

    def test_upper_bounds_alone_are_compared(self, tmp_path: Path) -> None:
        alone = [replace(cell, axes={"retriever": "oracle", "top_k": k}) for k, cell in enumerate(tiny_sweep.CELLS, 1)]
        assert family(tiny_sweep.write(tmp_path, alone)).bounds == ()


class TestCellsWithOtherSamples:
    """The second cell answers like the first one, except that it leaves out the samples that are hard for both."""

    first = replace(tiny_sweep.CELLS[0], rouge_l=[0.2, 0.3, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8])
    second = replace(tiny_sweep.CELLS[1], rouge_l=[None, None, 0.9, 0.8, 0.8, 0.8, 0.9, 0.8])

    @pytest.mark.parametrize(
        "other", [[None, 0.3, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8], [0.4, None, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8]]
    )
    def test_cells_that_differ_only_in_own_samples_have_own_means(
        self, other: list[float | None], tmp_path: Path
    ) -> None:
        one = replace(self.second, rouge_l=[0.2, None, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8])
        two = replace(self.first, rouge_l=other)
        found = family(
            tiny_sweep.write(tmp_path, [one, two, replace(tiny_sweep.CELLS[2], rouge_l=self.second.rouge_l)])
        )
        own = {standing.cell.cell_id: standing.own_mean for standing in found.standings}
        for cell in (one, two):
            assert own[cell.cell_id] == pytest.approx(np.mean([value for value in cell.rouge_l if value is not None]))

    def test_cells_with_different_samples_are_compared_on_common_samples(self, tmp_path: Path) -> None:
        found = family(tiny_sweep.write(tmp_path, [self.first, self.second]))
        assert (found.n, found.n_known, found.left_out_differ) == (6, 8, True)
        assert found.baseline.cell.cell_id == "a1a1a1a1a1a1"
        assert found.baseline.mean == pytest.approx(5.1 / 6)
        (row,) = found.rows
        assert row.standing.mean - found.baseline.mean == pytest.approx(row.comparison.difference)

    def test_text_reports_the_order_over_own_samples_if_it_differs(self, tmp_path: Path) -> None:
        text = text_of(family(tiny_sweep.write(tmp_path, [self.first, self.second])))
        assert "over 6 of 8 samples in 6 independent groups" in text
        assert "excluded because of a2a2a2a2: 2 with a failed answer" in text
        assert "over each cell's own the order is a2a2a2a2, a1a1a1a1." in text
        assert text.splitlines()[2].split()[-2:] == ["0.7000", "8"]
        assert text.splitlines()[3].split()[-2:] == ["0.8333", "6"]

    def test_cell_equal_on_common_samples_is_never_worse(self, tmp_path: Path) -> None:
        """Cells without common samples differ in their samples: a hundred against twenty easy ones."""
        random = np.random.default_rng(0)
        values = random.random(8).tolist()
        cells = [
            replace(tiny_sweep.CELLS[0], rouge_l=values),
            replace(tiny_sweep.CELLS[1], rouge_l=[value if value > 0.4 else None for value in values]),
        ]
        found = family(tiny_sweep.write(tmp_path, cells))
        assert [(row.comparison.difference, row.p_adjusted, row.verdict) for row in found.rows] == [
            (0.0, 1.0, MAY_BE_BEST)
        ]


class TestErrors:
    def test_comparison_of_a_single_cell_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(
            DataError, match="1 of 1 cells have a value of rouge_l of all samples; a comparison needs two"
        ):
            family(tiny_sweep.write(tmp_path, tiny_sweep.CELLS[:1]))

    def test_failed_baseline_is_rejected(self, tmp_path: Path) -> None:
        first, *others = tiny_sweep.CELLS
        failed = replace(first, facts={"status": "FAILED", "reason": "no"})
        with pytest.raises(
            DataError, match="--baseline a1a1a1a1a1a1: a1a1a1a1a1a1 cannot be the baseline: it is FAILED"
        ):
            family(tiny_sweep.write(tmp_path, [failed, *others]), baseline="a1a1a1a1a1a1")

    def test_baseline_without_a_value_is_rejected(self, tmp_path: Path) -> None:
        first, *others = tiny_sweep.CELLS
        silent = replace(first, rouge_l=[None] * 8)
        with pytest.raises(DataError, match="it has no value of rouge_l of all samples"):
            family(tiny_sweep.write(tmp_path, [silent, *others]), baseline="a1a1a1a1a1a1")


class TestText:
    def test_text_names_the_cells_that_may_be_the_best(self, complete: Path) -> None:
        text = text_of(family(complete))
        assert (
            "With 95% confidence the best cell is one of these: b3b3b3b3 (retriever=dense, top_k=2), b4b4b4b4 "
            "(2 of 4 cells; corrected for any two of 4 cells)." in text
        )

    def test_text_names_the_only_cell_that_may_be_the_best(self, tmp_path: Path) -> None:
        best, other, *_ = tiny_sweep.CELLS
        clear = [_twice(replace(best, rouge_l=[0.9] * 8)), _twice(replace(other, rouge_l=[0.1] * 8))]
        text = text_of(family(tiny_sweep.write(tmp_path, clear)))
        assert "With 95% confidence the best cell is a1a1a1a1 (top_k=2) (corrected for the 2 cells)." in text

    def test_text_counts_verdicts_against_a_named_baseline(self, complete: Path) -> None:
        text = text_of(family(complete, baseline="retriever=bm25,top_k=2"))
        assert "Against a1a1a1a1 (retriever=bm25, top_k=2): 3 better, 0 worse, 0 undecided" in text
        assert "Holm over 3 comparisons" in text
        assert "confidence" not in text

    def test_text_reports_too_few_groups_to_tell(self, sweep: Path) -> None:
        found = family(sweep, baseline="a1a1a1a1a1a1", test=TEST)
        sizes = sorted(row.detectable for row in found.rows if row.detectable is not None)
        assert sizes == []
        few = replace(found, alpha=0.2)
        assert "Too few groups of samples (6, effectively 5) to tell." in text_of(few)

    def test_text_reports_the_effective_number_of_unequal_groups(self, tmp_path: Path) -> None:
        scores = np.random.default_rng(0).uniform(size=(2, 59))
        text = text_of(family(tiny_sweep.write(tmp_path, _of_a_large_group(scores)), test=TEST))
        assert "over 59 samples in 20 independent groups, effectively 2" in text
        assert "(20 groups, effectively 2: too few for asymptotic theory)" in text
        assert "Too few groups of samples (20, effectively 2) to tell." in text

    def test_text_omits_the_few_groups_warning_if_small_groups_decide(self, tmp_path: Path) -> None:
        """The two cells are equal in the large group and differ in nine small groups."""
        scores = np.full((2, 59), 0.6)
        scores[1, 40:49] = 0.1
        found = family(tiny_sweep.write(tmp_path, _of_a_large_group(scores)), test=TEST)
        assert [(row.verdict, row.detectable) for row in found.rows] == [(WORSE, None)]
        assert "Too few groups" not in text_of(found)

    def test_text_reports_sample_counts_and_left_out_samples(self, sweep: Path) -> None:
        lines = text_of(family(sweep)).splitlines()
        assert "over 7 of 8 samples in 6 independent groups, effectively 5" in lines
        assert "excluded because of b4b4b4b4: 1 with a failed answer" in lines
        assert "dataset.groups" not in text_of(family(sweep))

    def test_text_names_groups_that_are_not_the_default(self, tmp_path: Path) -> None:
        facts = {"dataset": {"name": "demo", "groups": "none"}}
        cells = [replace(cell, facts=facts) for cell in tiny_sweep.CELLS]
        lines = text_of(family(tiny_sweep.write(tmp_path, cells))).splitlines()
        assert "dataset.groups=none: all samples count as independent" in lines

    @pytest.mark.parametrize(("n_clusters", "known"), [(6, " (6 groups: too few for asymptotic theory)"), (60, "")])
    def test_text_explains_the_basis_of_the_false_verdict_rate(self, sweep: Path, n_clusters: int, known: str) -> None:
        text = text_of(replace(family(sweep), n_clusters=n_clusters, n_effective=n_clusters), width=400)
        assert f"up to 0.05 in most of our simulations{known}, up to 0.10 with extreme skew, up to" in text
        assert "at most" not in text

    def test_text_explains_uncorrected_intervals_of_undecided_cells(self, complete: Path) -> None:
        found = family(complete)
        said = "adj. p is corrected for all comparisons, intervals are not"
        assert said not in text_of(found)
        unclear = [replace(row, verdict=MAY_BE_BEST) for row in found.rows]
        assert any(row.comparison.high is not None and row.comparison.high < 0 for row in unclear)
        assert said in text_of(replace(found, rows=unclear))

    @pytest.mark.parametrize("width", [70, 80, 120])
    def test_narrow_terminal_shows_fewer_columns_without_cutting_text(self, sweep: Path, width: int) -> None:
        text = text_of(family(sweep), width)
        assert "…" not in text
        assert ("a wider terminal also shows: " in text) == (width < 120)
        assert "adj. p" in text


class TestCommand:
    def test_compare_command_prints_the_table(self, sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", str(sweep), "--metric", "rouge_l"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].strip() == "rouge_l of all samples against the best cell (larger is better)"
        assert lines[1].split()[:3] == ["cell", "retriever", "top_k"]
        assert lines[2].split() == ["b3b3b3b3", "dense", "2", "0.7000", "best", "0.7250", "8"]

    def test_compare_csv_escapes_formulas(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        cells = [replace(cell, axes={"=1+1": f"={cell.cell_id}", "top_k": -2}) for cell in COMPLETE]
        sweep = tiny_sweep.write(tmp_path / "sweep", cells)
        assert main(["compare", str(sweep), "--metric", "rouge_l", "--csv", str(tmp_path / "a.csv")]) == 0
        header, *rows = csv.reader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines())
        assert header[:2] == ["cell_id", "axis/=1+1"]
        assert [row[1] for row in rows] == [f"'={row[0]}" for row in rows]
        assert all(float(row[header.index("difference")]) < 0 for row in rows[1:])

    def test_compare_csv_lists_cells_with_the_values_of_the_baseline(self, tmp_path: Path) -> None:
        equal = [replace(cell, rouge_l=tiny_sweep.CELLS[0].rouge_l) for cell in tiny_sweep.CELLS]
        sweep = tiny_sweep.write(tmp_path / "sweep", equal)
        assert main(["compare", str(sweep), "--metric", "rouge_l", "--csv", str(tmp_path / "a.csv")]) == 0
        rows = list(csv.DictReader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
        assert [row["verdict"] for row in rows] == ["best", *["same values"] * 3]
        assert {(float(row["difference"]), row["p"]) for row in rows} == {(0, "")}

    def test_compare_command_writes_json_and_csv(self, sweep: Path, tmp_path: Path) -> None:
        arguments = ["--json", str(tmp_path / "a.json"), "--csv", str(tmp_path / "a.csv")]
        assert main(["compare", str(sweep), "--metric", "rouge_l", *arguments]) == 0
        record = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
        rows = list(csv.DictReader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
        assert record == as_record(family(sweep, test=PairedTest()))
        assert [row["cell_id"] for row in rows] == [cell["cell_id"] for cell in [record["baseline"], *record["cells"]]]
        assert [row["verdict"] for row in rows[:1]] == ["best"]
        assert rows[1]["axis/retriever"] == "dense"
        assert float(rows[1]["p_adjusted"]) == record["cells"][0]["p_adjusted"]
        assert rows[1]["n_left_out"] == "1 answer_error"

    @pytest.mark.parametrize("alpha", ["0", "1", "x"])
    def test_compare_rejects_an_alpha_that_is_not_a_share(
        self, sweep: Path, alpha: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            main(["compare", str(sweep), "--metric", "rouge_l", "--alpha", alpha])
        assert "--alpha" in capsys.readouterr().err

    def test_compare_names_a_file_that_cannot_be_written(self, sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", str(sweep), "--metric", "rouge_l", "--json", str(sweep)]) == 2
        assert f"{sweep}: cannot be written" in capsys.readouterr().err

    def test_compare_reports_an_unknown_metric_with_exit_code_2(
        self, sweep: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["compare", str(sweep), "--metric", "nothing"]) == 2
        assert capsys.readouterr().err.startswith("nothing: overall has no metric 'nothing', expected one of bleu")


def test_draws_of_a_configuration_share_a_row_with_their_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise the best cell would be the luckiest draw."""
    lucky = [(2, (0.9, 0.1, 0.2)), (8, (0.5, 0.5, 0.5))]
    cells = [
        tiny_sweep.TinyCell(f"{name}{draw}" * 6, {"retriever": "bm25", "top_k": top_k, "repeat": draw}, [mean] * 8)
        for name, (top_k, means) in zip("ab", lucky, strict=True)
        for draw, mean in enumerate(means)
    ]
    sweep = load(tiny_sweep.write(tmp_path / "s", cells))
    family = compare_cells(sweep, ROUGE, TEST)
    assert [(len(each.cells), each.mean) for each in family.standings] == [
        (3, pytest.approx(0.5)),
        (3, pytest.approx(0.4)),
    ]
    assert family.baseline.level("repeat") == "0, 1, 2"
    named = compare_cells(sweep, ROUGE, TEST, baseline="top_k=2")
    assert (named.baseline.mean, named.rows[0].comparison.difference) == (pytest.approx(0.4), pytest.approx(0.1))
    answer = gather_answer(open_source(str(sweep.folder), "rouge_l"))
    assert "the mean over 3 draws" in "".join(answer.sentence.pieces)
    assert answer.figures[0].value == "0.5000"


def test_equal_configurations_of_two_sweeps_are_no_draws(tmp_path: Path) -> None:
    """The code may have been edited in between: their mean would belong to neither."""
    axes = {"retriever": "bm25", "top_k": 2, "repeat": 0}
    folders = [
        tiny_sweep.write(tmp_path / name, [tiny_sweep.TinyCell(name * 12, axes, [mean] * 8)])
        for name, mean in (("a", 1.0), ("b", 0.0))
    ]
    family = compare_cells(load_together(folders), ROUGE, TEST)
    assert [each.mean for each in family.standings] == [1.0, 0.0]
