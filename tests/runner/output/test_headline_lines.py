"""Lines of `run.plan_only=true` about the headline metric: detectable differences, unseen axes, tied samples."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from analysis.comparison import compare_cells
from components.clusters import Groups
from components.records import Evidence, Kind, Sample, Turn
from components.statistics import PairedTest
from runner.output.headline_lines import headline_lines, tied_line
from runner.pipeline.planned_cells import PlannedCell
from runner.results.loaded_sweep import load
from tests.runner.sweeping import FEW_METRICS, entries_by_kind, own_data, plan_small, run_small, store_of

DATA = ("dataset.limit=40", *FEW_METRICS)
THREE = tuple((*DATA, f"retriever={name}") for name in ("bm25", "dense", "hybrid"))
SIX = (*THREE, *((*cell, "chunk.size=64") for cell in THREE))
OTHER_TOP_K = (*THREE[0], "top_k=8")
OTHER_DATA = tuple(("dataset.limit=30", *cell[1:]) for cell in THREE[:2])
LITTLE_DATA = tuple(("dataset.limit=4", *cell[1:]) for cell in THREE[:2])


class Swept:
    """A folder with a sweep of three cells, and the plans of these and of others."""

    def __init__(self, folder: Path) -> None:
        assert run_small(folder, *THREE, sweep_id="earlier") == 0
        self.results = folder / "results"
        self._store = store_of(folder)
        cells = plan_small(folder, *SIX, OTHER_TOP_K, *OTHER_DATA, *LITTLE_DATA).cells
        self.three, self.six = cells[:3], cells[:6]
        self.of_two_top_k = (cells[0], cells[6])
        self.of_other_data, self.of_little_data = cells[7:9], cells[9:]

    def lines(self, cells: Sequence[PlannedCell], headline: str, results: Path | None = None) -> list[str]:
        return list(headline_lines(cells, headline, results or self.results, self._store))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    return Swept(tmp_path_factory.mktemp("swept"))


def detectable_in(line: str) -> list[float]:
    return _numbers_after("detectable difference is about", line)


def wanted_in(line: str) -> list[float]:
    return _numbers_after("0.02 needs about", line)


def _numbers_after(text: str, line: str) -> list[float]:
    found = re.search(rf"{re.escape(text)} ([\d.,]*\d)(?: to ([\d.,]*\d))?", line)
    assert found, line
    return [float(number.replace(",", "")) for number in found.groups() if number]


@pytest.mark.parametrize("metric", ["ndcg@10", "rouge_l"])
def test_detectable_difference_equals_compare_on_an_earlier_sweep(swept: Swept, metric: str) -> None:
    sweep = load("earlier", swept.results)
    compared = compare_cells(sweep, sweep.metric(metric), PairedTest())
    sizes = [row.detectable for row in compared.rows if row.detectable is not None]
    (line,) = swept.lines(swept.three, metric)
    assert re.match(rf"{metric}: with 40 samples.* in \d\d groups, the smallest detectable difference is about ", line)
    assert "(any two of 3 cells, 80% power, measured spread)" in line
    assert line.endswith(f"As measured in {swept.results / 'earlier'}.")
    assert detectable_in(line) == pytest.approx([min(sizes), max(sizes)], rel=0.1)


def test_more_cells_need_larger_differences_and_more_samples(swept: Swept) -> None:
    (of_three,), (of_six,) = (swept.lines(cells, "rouge_l") for cells in (swept.three, swept.six))
    assert "any two of 6 cells" in of_six
    assert detectable_in(of_six)[-1] > 1.1 * detectable_in(of_three)[-1]
    assert wanted_in(of_six)[-1] > 1.2 * wanted_in(of_three)[-1]


def test_detectable_difference_states_its_assumption_without_earlier_sweep(swept: Swept, tmp_path: Path) -> None:
    (line,) = swept.lines(swept.three, "rouge_l", tmp_path)
    # Forty samples, most of them alone in a group: (Tukey's 2.4 + .85) * .25 / sqrt(40), and a little for the groups.
    assert detectable_in(line)[0] == pytest.approx(0.13, abs=0.015)
    assert wanted_in(line)[0] == pytest.approx(1600, rel=0.25)
    assert f"Assumed, as there is no sweep in {tmp_path}/ in which cells differ in rouge_l on this data:" in line
    assert "a standard deviation of 0.25" in line


def test_headline_lines_run_no_stage_beyond_the_data(tmp_path: Path) -> None:
    plan = plan_small(tmp_path, *THREE[:2])
    assert list(headline_lines(plan.cells, "rouge_l", tmp_path / "results", store_of(tmp_path)))
    assert set(entries_by_kind(store_of(tmp_path))) == {"data", "partition"}


def test_each_data_set_has_its_own_headline_line(swept: Swept) -> None:
    first, second = swept.lines((*swept.three, *swept.of_other_data), "rouge_l")
    for line, n_samples, cells, source in ((first, 40, "any two of 3", "As measured"), (second, 30, "2", "Assumed")):
        assert f"with {n_samples} samples" in line
        assert f"({cells} cells, 80% power" in line
        assert source in line


def test_newest_readable_sweep_gives_the_headline_measurement(swept: Swept, tmp_path: Path) -> None:
    for age_s, name in enumerate(("second", "first")):
        shutil.copytree(swept.results / "earlier", tmp_path / name)
        os.utime(tmp_path / name / "sweep.json", (1e9 - age_s, 1e9 - age_s))
    assert f"As measured in {tmp_path / 'second'}." in swept.lines(swept.three, "rouge_l", tmp_path)[0]
    (tmp_path / "second" / "sweep.json").write_text("{}", encoding="utf-8")
    assert f"As measured in {tmp_path / 'first'}." in swept.lines(swept.three, "rouge_l", tmp_path)[0]


def test_older_sweep_of_the_planned_cells_outranks_a_newer_sweep_of_others(swept: Swept, tmp_path: Path) -> None:
    for age_s, name in enumerate(("newer", "alike")):
        shutil.copytree(swept.results / "earlier", tmp_path / name)
        os.utime(tmp_path / name / "sweep.json", (1e9 - age_s, 1e9 - age_s))
    planned = swept.three[:2]
    shutil.rmtree(tmp_path / "newer" / planned[0].cell_id)
    assert f"As measured in {tmp_path / 'alike'}." in swept.lines(planned, "rouge_l", tmp_path)[0]
    shutil.rmtree(tmp_path / "alike" / planned[1].cell_id)
    assert f"As measured in {tmp_path / 'newer'}." in swept.lines(planned, "rouge_l", tmp_path)[0]


def test_headline_line_names_an_axis_without_effect_on_the_metric(swept: Swept) -> None:
    """A ranking does not depend on top_k, answers do."""
    assert swept.lines(swept.of_two_top_k, "ndcg@10") == [
        "ndcg@10 does not depend on top_k: both cells will have equal values. "
        "run.headline=passage_coverage can distinguish more of them."
    ]
    (of_answers,) = swept.lines(swept.of_two_top_k, "rouge_l")
    assert of_answers.startswith("rouge_l: with 40 samples")


def test_headline_line_reports_the_detectable_difference_of_distinct_cells(swept: Swept) -> None:
    unseen, size = swept.lines((*swept.three[:2], swept.of_two_top_k[1]), "ndcg@10")
    assert unseen.startswith("ndcg@10 does not depend on top_k: the 3 cells have at most 2 different values of it. ")
    assert "(2 cells, 80% power" in size


def test_single_cell_has_no_headline_line(swept: Swept) -> None:
    assert swept.lines(swept.three[:1], "rouge_l") == []


def test_headline_line_reports_too_few_groups(swept: Swept) -> None:
    (line,) = swept.lines(swept.of_little_data, "rouge_l")
    assert re.fullmatch(r"rouge_l: too few groups of samples \([1-4]\) to tell\.", line)


def test_metric_that_is_not_a_share_has_no_assumed_difference(swept: Swept, tmp_path: Path) -> None:
    (unknown,) = swept.lines(swept.three, "context_tokens", tmp_path)
    assert unknown == (
        "context_tokens: the smallest detectable difference will be known after the first sweep of this data."
    )
    (known,) = swept.lines(swept.three, "context_tokens")
    assert "0.02 needs" not in known
    assert detectable_in(known)[0] > 1


def test_headline_defaults_to_the_leaderboard_metric(swept: Swept) -> None:
    assert swept.lines(swept.three, "")[0].startswith("rouge_l:")


def test_samples_without_a_metric_value_are_counted_as_left_out(tmp_path: Path) -> None:
    texts = {str(number): f"Bridge {number} was opened in {1900 + number}." for number in range(20)}
    questions = [{"id": name, "question": f"When was bridge {name} opened?"} for name in texts]
    with_gold = [{**question, "gold": [question["id"]]} for question in questions[:12]]
    own = (*own_data(tmp_path, texts, [*with_gold, *questions[12:]]), "metrics=retrieval", "llm=none")
    cells = plan_small(tmp_path, *((*own, f"retriever={name}") for name in ("bm25", "dense"))).cells
    (line,) = headline_lines(cells, "ndcg@10", tmp_path / "results", store_of(tmp_path))
    assert line.startswith("ndcg@10: with 12 of 20 samples (8 without gold) in 12 groups, the smallest ")
    assert detectable_in(line)[0] == pytest.approx(2.8 * 0.25 / 12**0.5, rel=0.15)


def test_equal_headline_lines_of_several_data_sets_are_joined(tmp_path: Path) -> None:
    texts = {str(number): f"Bridge {number} was opened in {1900 + number}." for number in range(12)}
    questions = [{"id": name, "question": f"When was bridge {name} opened?", "gold": [name]} for name in texts]
    places = []
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        documents = {name: f"{place}: {text}" for name, text in texts.items()}
        places.append((*own_data(tmp_path / place, documents, questions), "metrics=retrieval", "llm=none"))
    cells = plan_small(tmp_path, *((*own, f"retriever={name}") for own in places for name in ("bm25", "dense"))).cells
    (line,) = headline_lines(cells, "ndcg@10", tmp_path / "results", store_of(tmp_path))
    assert line.startswith("ndcg@10: with 12 samples in 12 groups, the smallest ")
    assert line.endswith("(the same within each of 2 data sets, such as those of several parsers)")


def test_headline_without_a_value_gives_way_to_the_next_metric(tmp_path: Path) -> None:
    questions = [{"id": str(number), "question": f"{number}?", "references": ["yes"]} for number in range(12)]
    own = (*own_data(tmp_path, {"a": "yes"}, questions), "llm=scripted")
    cells = plan_small(tmp_path, *((*own, f"top_k={n}") for n in (1, 2))).cells
    without, line = headline_lines(cells, "ndcg@10", tmp_path / "results", store_of(tmp_path))
    assert without == "ndcg@10 will have no value: 12 without gold."
    assert line.startswith("rouge_l: with 12 samples in 12 groups, the smallest ")


def sample(number: int, *documents: str, after: str = "") -> Sample:
    history = (Turn(after, "yes"),) if after else ()
    gold = tuple(Evidence(name) for name in documents)
    return Sample(str(number), "read", Kind.QA, f"{number}?", ("!",), gold, history=history)


def line_about_ties(*samples: Sample, groups: Groups = Groups.DOCUMENT) -> str:
    return tied_line(samples, np.arange(len(samples)), groups)


def test_plan_names_the_documents_that_tie_all_samples() -> None:
    assert line_about_ties(
        sample(1, "a", "b"), sample(2, "b"), sample(3, "a"), sample(4, "b", "c"), sample(5, "c", "e")
    ) == (
        "All 5 samples form one group: 3 gold documents tie them together, most of all b (3 samples), a (2 samples), "
        "c (2 samples). dataset.groups=source makes 3 groups, dataset.groups=none makes 5 groups; docs/metrics.md says "
        "what each assumes."
    )


def test_plan_names_the_document_that_connects_most_samples() -> None:
    said = line_about_ties(sample(1, "a"), sample(2, "a"), sample(3, "a"), sample(4, "b"), sample(5))
    assert said.startswith(
        "3 of 5 samples form one group: they share the gold document a (3 samples). The others form 2 more. "
    )


def test_plan_names_a_conversation_that_ties_all_samples() -> None:
    assert "All 3 samples form one group: turns of one conversation." in line_about_ties(
        sample(1), sample(2, after="1?"), sample(3, after="1?")
    )


@pytest.mark.parametrize("groups", [Groups.SOURCE, Groups.NONE])
def test_finer_grouping_is_suggested_in_its_own_line(groups: Groups) -> None:
    samples = [sample(1, "a", "b"), sample(2, "a", "c"), sample(3, "b")]
    said = line_about_ties(*samples, groups=groups)
    assert said == (
        ""
        if groups is Groups.NONE
        else "2 of 3 samples form one group: they share the gold document a (2 samples). The others form 1 more. "
        "dataset.groups=none makes 3 groups; docs/metrics.md says what each assumes."
    )


def test_small_sample_groups_have_no_line() -> None:
    assert line_about_ties(sample(1, "a"), sample(2, "a"), sample(3, "b"), sample(4)) == ""
    assert line_about_ties(sample(1)) == ""
    assert line_about_ties() == ""


def test_tied_line_counts_only_samples_with_a_value() -> None:
    samples = [sample(1, "a"), sample(2, "b"), sample(3, "a", "b"), sample(4), sample(5), sample(6)]
    assert tied_line(samples, np.array([0, 1]), Groups.DOCUMENT).startswith("All 2 samples form one group")
