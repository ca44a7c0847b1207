"""The gate for continuous integration: exit codes, error rates, and baselines that cannot be compared."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.baseline import compute_checksum, hash_definition
from analysis.gate import PASSED, WORSE, MetricCheck, Pair, make_checks
from components.statistics import PairedTest
from runner import run as run_sweep
from runner.results import CellResult, read_cell, read_sweep, write_cell, write_sweep
from tests.analysis import tiny_sweep
from tests.analysis.tiny_sweep import CELLS, TinyCell
from tests.statistics.cells import scores_of

OF_DEMO = Path(__file__).with_name("gate_baseline.json")
N = 60
QUICK = PairedTest(n_resamples=1_000)


def sweep_of(folder: Path, *values: float | None, **facts: Any) -> Path:
    """Write a sweep of one cell with these values of ROUGE-L, each in its own group."""
    n = len(values)
    samples = {
        "ids": [f"s{place}" for place in range(n)],
        "documents": [[f"d{place}"] for place in range(n)],
        "subsets": ["create"] * n,
        "topics": [None] * n,
        "tasks": [None] * n,
        "measured": ("overall", "create"),
    }
    cell = TinyCell("c1c1c1c1c1c1", {"retriever": "bm25"}, values, **{**samples, **facts})
    return tiny_sweep.write(folder, [cell])


def baseline_file(tmp_path: Path, sweep: Path, *arguments: str) -> Path:
    file = tmp_path / "baseline.json"
    assert main(["baseline", str(sweep), "--metric", "rouge_l", "--out", str(file), *arguments]) == 0
    return file


def values_around(mean: float, seed: int, spread: float = 0.02) -> list[float]:
    hard = np.random.default_rng(0).uniform(0.2, 0.7, N)
    return list(np.clip(hard + mean + np.random.default_rng(seed).normal(0, spread, N), 0, 1))


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return baseline_file(tmp_path, sweep_of(tmp_path / "before", *values_around(0.1, 1)))


@pytest.mark.parametrize(
    ("mean", "spread", "code", "verdict"),
    [(0.1, 0.005, 0, "PASSED"), (0.0, 0.005, 1, "WORSE"), (0.1, 0.3, 3, "CANNOT TELL"), (0.2, 0.02, 0, "PASSED")],
)
def test_gate_exit_code_follows_the_verdict(
    mean: float,
    spread: float,
    code: int,
    verdict: str,
    before: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    after = sweep_of(tmp_path / "after", *values_around(mean, 2, spread))
    assert main(["gate", str(after), "--baseline", str(before)]) == code
    assert f"{verdict}: rouge_l" in capsys.readouterr().out


def test_gate_passes_equal_scores_with_any_number_of_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = sweep_of(tmp_path / "before", 0.5, 0.25)
    file = baseline_file(tmp_path, sweep)
    assert main(["gate", str(sweep), "--baseline", str(file), "--margin", "0"]) == 0
    assert "PASSED: rouge_l: the same scores for every sample." in capsys.readouterr().out
    changed = sweep_of(tmp_path / "after", 0.5, 0.24)
    assert main(["gate", str(changed), "--baseline", str(file), "--margin", "0.5"]) == 3


def test_gate_never_passes_a_sample_that_lost_its_value(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values: list[float | None] = [*values_around(0.2, 2)]
    values[3] = None
    assert main(["gate", str(sweep_of(tmp_path / "after", *values)), "--baseline", str(before)]) == 3
    assert "samples of the baseline could not be compared: 1 " in capsys.readouterr().out
    assert main(["gate", str(sweep_of(tmp_path / "fewer", *values[4:])), "--baseline", str(before)]) == 3


def test_gate_treats_an_edited_question_as_another_sample(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    after = sweep_of(tmp_path / "after", *values_around(0.2, 2), question="What happened then?")
    assert main(["gate", str(after), "--baseline", str(before)]) == 2
    assert "has none of the baseline's samples with a value of rouge_l. Gate the same data set" in " ".join(
        capsys.readouterr().err.split()
    )


def test_gate_reports_why_a_cell_has_no_value(before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    after = sweep_of(tmp_path / "after", *[None] * len(values_around(0.2, 2)))
    assert main(["gate", str(after), "--baseline", str(before)]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert re.search(
        r"no sample has a value of rouge_l \(\w+ \d+\)\. Look at the cell: python -m analysis samples", error
    )


def test_gate_does_not_compare_samples_with_corrected_references(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    references = ["corrected", *["an answer"] * (N - 1)]
    after = sweep_of(tmp_path / "after", *values_around(0.2, 2), references=references)
    assert main(["gate", str(after), "--baseline", str(before)]) == 3
    assert "could not be compared: 1 with another question, history, gold or references" in capsys.readouterr().out


@pytest.mark.parametrize(("key", "is_said"), [("1f", True), ("0e", False)])
def test_gate_says_that_the_data_changed(
    key: str, is_said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Edits of documents, or of gold spans in edited documents, do not make samples different."""
    axes: dict[str, Any] = {"retriever": "bm25", "dataset.key": "0e"}
    values = values_around(0.1, 1)
    file = baseline_file(tmp_path, sweep_of(tmp_path / "before", *values, facts={"axes": axes}))
    after = sweep_of(tmp_path / "after", *values, facts={"axes": {**axes, "dataset.key": key}})
    assert main(["gate", str(after), "--baseline", str(file)]) == 0
    assert ("the data set has changed since the baseline" in capsys.readouterr().out) is is_said


@pytest.mark.parametrize(("corpus", "code", "is_said"), [("c1", 3, False), ("c2", 0, True)])
def test_gate_compares_spans_of_gold_in_the_same_corpus(
    corpus: str, code: int, is_said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In another corpus, another parser may have moved the same sentence."""
    values, starts = values_around(0.1, 1), [0] * N

    def written(name: str, key: str, corpus: str, starts: list[int]) -> Path:
        facts = {"axes": {"retriever": "bm25", "dataset.key": key}, "dataset": {"name": "demo", "corpus": corpus}}
        return sweep_of(tmp_path / name, *values, facts=facts, gold_starts=starts)

    file = baseline_file(tmp_path, written("before", "k1", "c1", starts))
    after = written("after", "k2", corpus, [40, *starts[1:]])
    assert main(["gate", str(after), "--baseline", str(file)]) == code
    out = capsys.readouterr().out
    assert ("could not be compared: 1 with another question, history, gold or references" in out) is (code == 3)
    assert ("changed spans of gold and changed documents" in out) is is_said


def test_gate_counts_samples_that_the_baseline_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = values_around(0.1, 1)
    file = baseline_file(tmp_path, sweep_of(tmp_path / "before", *values[:-2]))
    assert main(["gate", str(sweep_of(tmp_path / "after", *values)), "--baseline", str(file)]) == 0
    assert "2 samples are not part of the baseline and not compared" in capsys.readouterr().out


def test_gate_writes_its_checks_as_a_junit_file(before: Path, tmp_path: Path) -> None:
    after, file = sweep_of(tmp_path / "after", *values_around(0.0, 2)), tmp_path / "gate.xml"
    assert main(["gate", str(after), "--baseline", str(before), "--junit", str(file)]) == 1
    suite = ElementTree.parse(file).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    assert "rouge_l is significantly worse by 0.097" in str(suite[0][0].get("message"))


def test_gate_writes_a_junit_file_if_nothing_can_be_compared(before: Path, tmp_path: Path) -> None:
    file = tmp_path / "gate.xml"
    assert main(["gate", str(tmp_path / "nothing"), "--baseline", str(before), "--junit", str(file)]) == 2
    suite = ElementTree.parse(file).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1")
    assert "nothing" in str(suite[0][0].get("message"))


def test_gate_does_not_pass_results_that_may_be_outdated(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    after = sweep_of(tmp_path / "after", *values_around(0.1, 1))
    assert main(["gate", str(after), "--baseline", str(before)]) == 0
    sweep = read_sweep(after)
    write_sweep(after, replace(sweep, plan={**sweep.plan, "edited_files": {"my_app.rag.answer": ["manuals/one.md"]}}))
    assert main(["gate", str(after), "--baseline", str(before)]) == 0, "another cell has this pipeline"
    (folder,) = [file.parent for file in after.glob("*/cell.json")]
    own = read_cell(folder)
    write_cell(after, replace(own, config={**own.config, "pipeline": {"call": "my_app.rag:answer"}}), {})
    assert main(["gate", str(after), "--baseline", str(before)]) == 3
    assert "may be outdated, because manuals/one.md changed since" in " ".join(capsys.readouterr().out.split())


def test_gate_says_that_too_few_groups_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = baseline_file(tmp_path, sweep_of(tmp_path / "before", *[1.0] * 25))
    after = sweep_of(tmp_path / "after", *[1.0] * 22, *[0.0] * 3)
    assert main(["gate", str(after), "--baseline", str(file)]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "too few of their 25 groups have another score than the baseline" in said


def test_gate_margin_can_be_set_per_metric(before: Path, tmp_path: Path) -> None:
    after = sweep_of(tmp_path / "after", *values_around(0.0, 2))
    assert main(["gate", str(after), "--baseline", str(before), "--margin", "rouge_l=0.2"]) == 0
    assert main(["gate", str(after), "--baseline", str(before), "--margin", "0.2", "--margin", "rouge_l=0.01"]) == 1
    assert main(["gate", str(after), "--baseline", str(before), "--margin", "f1=0.2"]) == 2


def test_baseline_of_a_sweep_with_several_cells_requires_a_cell_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tiny_sweep.write(tmp_path / "sweep")
    assert main(["baseline", str(sweep), "--out", str(tmp_path / "b.json")]) == 2
    assert f"the sweep has {len(CELLS)} cells. Name one" in capsys.readouterr().err
    assert main(["baseline", str(sweep), "retriever=bm25,top_k=2", "--out", str(tmp_path / "b.json")]) == 0


def test_baseline_replaces_a_baseline_but_no_other_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep, notes = sweep_of(tmp_path / "sweep", 0.5, 0.6), tmp_path / "notes.json"
    for _ in range(2):
        baseline_file(tmp_path, sweep)
    notes.write_text('{"mine": 1}', encoding="utf-8")
    assert main(["baseline", str(sweep), "--out", str(notes)]) == 2
    assert "exists and is not a baseline" in " ".join(capsys.readouterr().err.split())
    assert notes.read_text(encoding="utf-8") == '{"mine": 1}'


def test_baseline_file_contains_no_questions(before: Path) -> None:
    text = before.read_text(encoding="utf-8")
    assert "happened" not in text
    assert len(text.splitlines()) == N + 11


def edited(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda value: value.update(changes)


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (edited(format=2), "got format 2, expected 3"),
        (edited(samples=[]), "rouge_l has no scores"),
        (edited(metrics={}), "KeyError"),
        (edited(samples=3), "TypeError"),
        (lambda value: value["samples"][0]["scores"].update(rouge_l=["x"]), "expected a finite number"),
        (lambda value: value["samples"][0]["scores"].update(rouge_l=[float("nan")]), "expected a finite number"),
        (lambda value: value["samples"][0]["scores"].update(rouge_l=[0.1, 0.2]), "unequal length"),
        (lambda value: value["samples"].append(value["samples"][0]), "occurs twice"),
        (lambda value: value["metrics"]["rouge_l"].update(larger_is_better=False), "larger_is_better differs"),
        (lambda value: value["metrics"]["rouge_l"].update(larger_is_better="yes"), "expected true or false"),
    ],
)
def test_gate_rejects_an_invalid_baseline_with_one_error(
    edit: Callable[[dict[str, Any]], None], error: str, before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = json.loads(before.read_text(encoding="utf-8"))
    edit(value)
    value["checksum"] = compute_checksum(value)
    before.write_text(json.dumps(value), encoding="utf-8")
    assert main(["gate", str(tmp_path / "before"), "--baseline", str(before)]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert error in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("position", [0.2, 0.5, 0.8])
def test_gate_rejects_a_baseline_with_a_changed_digit_or_lost_row(
    position: float, before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = before.read_text(encoding="utf-8").splitlines(keepends=True)
    place = 8 + int(position * N)
    digit = lines[place].rindex("0.") + 2
    changed = lines[place][:digit] + str(9 - int(lines[place][digit])) + lines[place][digit + 1 :]
    for rest in ([*lines[:place], changed, *lines[place + 1 :]], [*lines[:place], *lines[place + 1 :]]):
        before.write_text("".join(rest), encoding="utf-8")
        assert main(["gate", str(tmp_path / "before"), "--baseline", str(before)]) == 2
        assert "was changed after it was written" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("text", ["", "[", "[1]", "{" * 100_000])
def test_gate_rejects_a_baseline_that_is_not_json(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "b.json"
    file.write_text(text, encoding="utf-8")
    assert main(["gate", str(sweep_of(tmp_path / "sweep", 0.5)), "--baseline", str(file)]) == 2
    assert str(file.name) in capsys.readouterr().err


def pair_of(random: np.random.Generator, loss: float = 0.0, metric: str = "rouge_l") -> Pair:
    """Draw two cells on 100 samples in 40 groups, the second worse by `loss` on average."""
    clusters = np.arange(100) % 40
    hard = random.normal(0.5, 0.1, 100)
    noise = [random.normal(0, 0.05, 100) + random.normal(0, 0.03, 40)[clusters] for _ in range(2)]
    return Pair(metric, 1, scores_of([hard + noise[0], hard + noise[1] - loss], clusters))


def drawn(n: int, loss: float = 0.0, metrics: tuple[str, ...] = ("rouge_l",)) -> list[list[MetricCheck]]:
    random = np.random.default_rng(0)
    margins = dict.fromkeys(metrics, 0.01)
    return [make_checks([pair_of(random, loss, metric) for metric in metrics], margins, QUICK) for _ in range(n)]


@pytest.mark.parametrize("metrics", [("rouge_l",), ("rouge_l", "f1", "ndcg@10")])
def test_gate_fails_equally_good_cells_in_at_most_alpha_of_pairs(metrics: tuple[str, ...]) -> None:
    n_failed = sum(any(own.verdict == WORSE for own in checks) for checks in drawn(400, metrics=metrics))
    assert n_failed <= 0.05 * 400


def test_gate_finds_a_loss_of_the_stated_size_with_the_stated_power() -> None:
    sizes = [own.detectable or 0.0 for (own,) in drawn(50)]
    found = [own.verdict == WORSE for (own,) in drawn(400, loss=float(np.mean(sizes)))]
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


def test_gate_passes_a_loss_at_the_margin_in_few_pairs() -> None:
    assert np.mean([own.verdict == PASSED for (own,) in drawn(400, loss=0.01)]) <= 0.05


def test_gate_states_the_number_of_samples_that_excludes_the_margin() -> None:
    needed = [own.n_needed or 0 for (own,) in drawn(50)]
    times = float(np.mean(needed)) / 100
    random = np.random.default_rng(1)
    n = round(100 * times)
    clusters = np.arange(n) % round(40 * times)

    def large() -> Pair:
        noise = [random.normal(0, 0.05, n) + random.normal(0, 0.03, n)[clusters] for _ in range(2)]
        return Pair("rouge_l", 1, scores_of(noise, clusters))

    verdicts = [make_checks([large()], {"rouge_l": 0.01}, QUICK)[0].verdict for _ in range(200)]
    assert np.mean([verdict == PASSED for verdict in verdicts]) == pytest.approx(0.8, abs=0.08)


def test_gate_respects_minimized_metrics() -> None:
    random = np.random.default_rng(0)
    pair = replace(pair_of(random, loss=0.2), sign=-1)
    assert make_checks([pair], {"rouge_l": 0.01}, QUICK)[0].verdict == PASSED
    assert make_checks([replace(pair, sign=1)], {"rouge_l": 0.01}, QUICK)[0].verdict == WORSE


def test_demo_is_not_worse_than_its_stored_baseline(tmp_path: Path) -> None:
    """`python -m analysis baseline SWEEP --metric rouge_l --metric ndcg@10 --out tests/analysis/gate_baseline.json`
    writes it again, if a change of the demo's numbers is meant.
    """
    demo = ["dataset=demo_en", "retriever=bm25", "chunk.size=128", "top_k=2", "tracking=none", "run.progress=false"]
    folders = [f"run.{name}_dir={tmp_path / name}" for name in ("results", "store")]
    result = run_sweep([*demo, *folders])
    gate = ["gate", str(result.folder), "--baseline", str(OF_DEMO), "--margin", "0.001"]
    assert main(gate) == 0


class TestDefinitionOfJudgedMetrics:
    """The baseline of a judged metric belongs to its judge."""

    def cell(self, model: str = "a", url: str = "http://one", name: str = "accuracy") -> CellResult:
        llm = {"_target_": "components.llms.openai_chat.OpenAIChat", "model": model, "base_url": url, "timeout_s": 9.0}
        scores = {name: {"_target_": "components.judges.graded.Graded", "name": name, "llm": llm}}
        return CellResult("a", "OK", {}, (), {"judge": {"scores": scores}}, {})

    def test_another_judge_model_is_another_metric(self) -> None:
        first, other = (hash_definition(self.cell(model), "accuracy") for model in ("a", "b"))
        assert first
        assert first != other

    def test_address_of_the_judge_does_not_matter(self) -> None:
        assert hash_definition(self.cell(), "accuracy") == hash_definition(self.cell(url="http://two"), "accuracy")

    def test_metric_with_another_name_than_its_judge_has_a_definition(self) -> None:
        first, other = (hash_definition(self.cell(model, name="claims"), "claim_recall") for model in ("a", "b"))
        assert first != other
