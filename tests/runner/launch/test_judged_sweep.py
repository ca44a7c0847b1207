"""A judge that answers over HTTP, from the command line to the matrices; and the same judge compared with people."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.__main__ import main as analysis
from runner.judge_agreement import main as judge_agreement
from runner.output.mlflow_metrics import logged_metrics
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.sweeping import QUIET, SWEEP_ID, cells_in, plan_small, run_small

JUDGED = ("accuracy", "completeness", "hallucination", "utilization", "numerical_accuracy")
FEW = ("dataset.limit=20", "metrics=retrieval", "metrics.interval.n_resamples=100", *QUIET)


def _grade(request: dict[str, Any], attempt: int) -> Reply:
    """Reply that the metric applies, with the best grade, in a chatty and fenced form, as models do."""
    schema = request["response_format"]["json_schema"]["schema"]
    if "applicable" in schema["properties"]:
        return Reply('Sure: {"reason": "figures", "applicable": true}')
    best = max(schema["properties"]["grade"]["enum"])
    return Reply(f'```json\n{{"reason": "as it should be", "grade": {best}}}\n```')


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(_grade) as running:
        yield running


def judge(server: ChatServer, *more: str) -> tuple[str, ...]:
    model = ("judge.llm.model=a-judge", f"judge.llm.base_url={server.url}", "judge.llm.api_key_env=''")
    return (*FEW, "judge=omnieval", *model, "judge.llm.backoff_s=0.01", *more)


def only_metrics(*names: str) -> list[str]:
    every = (*JUDGED, "relevance", "necessity", "completeness_omnieval_compat", "numerical_accuracy_omnieval_compat")
    return [f"~judge.scores.{name}" for name in every if name not in names]


def test_matrices_of_all_judged_metrics_are_filled(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, judge(server, *only_metrics(*JUDGED), "run.pictures=all")) == 0
    (cell,) = cells_in(tmp_path)
    fields = {name for name in cell.metrics if name.startswith("matrix/")}
    assert len(fields) >= 5
    for name in JUDGED:
        filled = {field for field in fields if cell.value(name, field) is not None}
        assert filled == fields
        assert cell.value(name) == 1.0
        assert (tmp_path / "results" / SWEEP_ID / cell.cell_id / f"matrix_{name}.svg").is_file()
    rows = pq.read_table(tmp_path / "results" / SWEEP_ID / cell.cell_id / "samples.parquet").to_pylist()
    assert "as it should be" in rows[0]["judge/accuracy"]
    assert cell.tokens["judge_prompt"] > 0


def test_judged_passages_are_not_judged_again(tmp_path: Path, server: ChatServer) -> None:
    run_small(tmp_path, judge(server, *only_metrics("relevance"), "top_k=2"))
    first = len(server.requests)
    assert run_small(tmp_path, judge(server, *only_metrics("relevance"), "top_k=3"), sweep_id="more") == 0
    second = len(server.requests) - first
    assert 0 < second < first, "two of three passages were judged before"
    run_small(tmp_path, judge(server, *only_metrics("relevance"), "top_k=3"), sweep_id="again")
    assert len(server.requests) == first + second


def test_applicability_is_requested_once_for_all_cells(tmp_path: Path, server: ChatServer) -> None:
    few = only_metrics("numerical_accuracy")
    assert run_small(tmp_path, judge(server, *few, "top_k=2"), judge(server, *few, "top_k=4")) == 0
    decisions = [r for r in server.requests if "applicable" in json.dumps(r["response_format"])]
    assert len(decisions) == len({last_message(r) for r in decisions}) == 20


def test_closed_book_cells_have_no_hallucination(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, judge(server, *only_metrics("hallucination", "accuracy"), "retriever=closed_book")) == 0
    (cell,) = cells_in(tmp_path)
    assert cell.metrics["overall"]["hallucination"]["n_excluded"] == {"not_applicable": 20}
    assert {name: cell.larger_is_better[name] for name in ("hallucination", "accuracy", "mrr")} == {
        "hallucination": False,
        "accuracy": True,
        "mrr": True,
    }


def test_failed_judgements_fail_the_cell_and_are_retried(tmp_path: Path) -> None:
    one = only_metrics("accuracy")
    retries = "judge.llm.max_retries=0"
    with chat_server(lambda r, n: Reply(status=400) if len(last_message(r)) % 2 else _grade(r, n)) as server:
        assert run_small(tmp_path, judge(server, *one, retries)) == 1
        (cell,) = cells_in(tmp_path)
        asked = len(server.requests)
    failed = cell.metrics["overall"]["accuracy"]["n_excluded"]["failed"]
    assert "judgements of accuracy failed, more than run.max_failure_rate=0 allows (most often: a-judge" in cell.reason
    assert "HTTP 400" in cell.reason
    with chat_server(_grade) as server:
        assert run_small(tmp_path, judge(server, *one, retries), sweep_id="again") == 0
        assert len(server.requests) == failed
        assert asked > failed


def test_unreadable_judgements_are_retried_then_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chat_server(lambda *_: Reply("No idea.")) as server:
        assert run_small(tmp_path, judge(server, *only_metrics("accuracy"))) == 1
        asked = len(server.requests)
    (cell,) = cells_in(tmp_path)
    entry = cell.metrics["overall"]["accuracy"]
    assert (entry["value"], entry["n"]) == (None, 0)
    assert asked == 3 * entry["n_excluded"]["unparsable"] == 60
    reason = "20 of 20 judgements of accuracy could not be read, more than run.max_unparsable_rate=0.1 allows"
    assert cell.reason.startswith(f"{reason} (most often not in the requested form: 20 of 20, e.g. No idea.)")
    assert reason in capsys.readouterr().out


def test_few_unreadable_judgements_are_allowed_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two of 20 samples are a tenth, which is allowed."""
    unclear: set[str] = set()

    def script(request: dict[str, Any], attempt: int) -> Reply:
        first = str(request["messages"][1]["content"])
        if len(unclear) < 2:
            unclear.add(first)
        return Reply("Perhaps.") if first in unclear else _grade(request, attempt)

    with chat_server(script) as server:
        assert run_small(tmp_path, judge(server, *only_metrics("accuracy"))) == 0
        strict = judge(server, *only_metrics("accuracy"), "run.max_unparsable_rate=0.05")
        assert run_small(tmp_path, strict, sweep_id="strict") == 1
        few = judge(server, *only_metrics("accuracy"), "run.max_unparsable_rate=1")
        assert run_small(tmp_path, few, sweep_id="all") == 0
    (cell,) = cells_in(tmp_path)
    assert cell.judges["accuracy"] == {
        "n_judged": 20,
        "n_unparsable": 2,
        "reasons": {"not in the requested form": 2},
        "commonest": "cannot be read: Perhaps.",
    }
    said = "unreadable replies: accuracy up to 2 of 20 replies (1 of 1 cell); most often not in the requested form"
    assert capsys.readouterr().out.count(f"{said}, e.g. Perhaps.") == 3
    assert ("run/unparsable/accuracy", 0.1) in set(logged_metrics(cell))


def test_repeats_separate_judge_noise_from_sample_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The judge grades half of the samples at random, and the others consistently."""

    def script(request: dict[str, Any], attempt: int) -> Reply:
        grade = 2 if len(last_message(request)) % 2 else 2 * (attempt % 2)
        return Reply(f'{{"reason": "so", "grade": {grade}}}')

    with chat_server(script) as server:
        twice = judge(server, *only_metrics("accuracy"), "judge_repeat=1")
        assert run_small(tmp_path, judge(server, *only_metrics("accuracy")), twice) == 0
        assert len(server.requests) == 40
    first, second = cells_in(tmp_path)
    assert (first.axes["judge_repeat"], second.axes["judge_repeat"], first.axes["repeat"]) == (0, 1, None)
    capsys.readouterr()
    assert analysis(["repeats", str(tmp_path / "results" / SWEEP_ID), "--metric", "accuracy"]) == 0
    head, row = capsys.readouterr().out.splitlines()[1:3]
    values = dict(zip(re.split(r"\s{2,}", head.strip()), re.split(r"\s{2,}", row.strip()), strict=True))
    assert (values["samples"], values["answers"], values["judgements"]) == ("20", "1", "2")
    assert float(values["between judgements"].split()[0]) > 0.1


class TestPlan:
    def planned(self, folder: Path, overrides: tuple[str, ...]) -> dict[str, int]:
        counts: dict[str, int] = plan_small(folder, overrides).summary()["requests"]
        return counts

    def test_passage_judges_send_a_request_per_passage(
        self, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        overrides = judge(server, *only_metrics("relevance", "necessity"), "llm=none", "top_k=8", "dataset.limit=5")
        assert self.planned(tmp_path, overrides) == {"judged_scores": 2 * 5 * 8}
        assert run_small(tmp_path, overrides) == 0
        assert len(server.requests) == 2 * 5 * 8
        said = (
            "at most 80 requests for judging (at most 240 with retries of unreadable replies); "
            "cached replies are not subtracted yet"
        )
        assert said in capsys.readouterr().out

    def test_plan_counts_no_judgements_of_missing_answers_or_passages(self, tmp_path: Path, server: ChatServer) -> None:
        overrides = judge(server, *only_metrics("relevance", "hallucination", "accuracy"))
        assert self.planned(tmp_path, (*overrides, "llm=none"))["judged_scores"] == 20 * 5
        assert self.planned(tmp_path, (*overrides, "retriever=closed_book"))["judged_scores"] == 20
        assert self.planned(tmp_path, (*overrides, "retriever=closed_book", "llm=none")) == {}

    def test_plan_counts_follow_up_requests_of_judges(self, tmp_path: Path) -> None:
        with chat_server(quest_eval_script) as server:
            overrides = (*judge(server)[:-1], "judge=quest_eval")
            planned = self.planned(tmp_path, overrides)
            assert (planned["judge_preparation"], planned["judged_scores"]) == (40, 20)
            assert run_small(tmp_path, overrides) == 0
            assert len(server.requests) == 60


def quest_eval_script(request: dict[str, Any], attempt: int) -> Reply:
    """Two questions about every text, which answers only one."""
    if "answers" not in json.dumps(request["response_format"]):
        return Reply('{"questions": ["何时？", "何地？"]}')
    numbers = json.dumps([{"number": n, "answer": "北京" if n == 1 else "无法推断"} for n in (1, 2)])
    return Reply(f'{{"answers": {numbers}}}')


class TestRagQuestEval:
    def test_quest_eval_sweep_runs_end_to_end(self, tmp_path: Path) -> None:
        with chat_server(quest_eval_script) as server:
            overrides = (*judge(server)[:-1], "judge.llm.backoff_s=0.01", "judge=quest_eval")
            assert run_small(tmp_path, overrides) == 0
        (cell,) = cells_in(tmp_path)
        entry = cell.metrics["overall"]["quest_eval_recall"]
        assert (entry["value"], entry["n"]) == (1.0, 20)
        assert cell.value("quest_eval_precision") == 1.0


class TestAgreement:
    def labels(self, folder: Path, *grades: int) -> Path:
        path = folder / "labels.jsonl"
        item = {"question": "Who?", "references": ["She"], "passages": ["She did."]}
        rows = [
            {**item, "id": str(i), "answer": f"answer {i}", "labels": {"accuracy": grade, "completeness": 2}}
            for i, grade in enumerate(grades)
        ]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return path

    def run(self, folder: Path, server: ChatServer, labels: Path, *more: str) -> int:
        overrides = [*judge(server)[len(FEW) + 1 :], f"run.results_dir={folder / 'results'}"]
        report = ["--json", str(folder / "report.json")]
        return judge_agreement(["--labels", str(labels), "--judge", "omnieval", *report, *more, *overrides])

    def test_agreement_report_has_bias_and_corrected_means(
        self, tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert self.run(tmp_path, server, self.labels(tmp_path, 2, 2, 1, 0)) == 0
        report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
        accuracy = report["metrics"]["accuracy"]
        assert (accuracy["n"], accuracy["accuracy"], accuracy["kappa"]) == (4, 0.5, 0.0)
        assert accuracy["confusion"]["1"] == {"0": 0, "1": 0, "2": 1}
        assert report["metrics"]["all metrics"]["n"] == 8
        assert [(row["id"], row["label"], row["judged"]) for row in report["disagreements"]] == [
            ("2", "1", "2"), ("3", "0", "2"),
        ]  # fmt: skip
        assert [(row["answer"], row["cells"]) for row in report["disagreements"]] == [
            ("answer 2", []),
            ("answer 3", []),
        ]
        output = capsys.readouterr().out
        assert "disagreements: 2" in output
        assert "    answer: answer 2\n" in output
        assert "as it should be" in output

    def test_agreement_pools_metrics_by_question(
        self, tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "labels.jsonl"
        items = [("who?", "accuracy"), ("when?", "numerical_accuracy")]
        rows = [
            {"id": question, "question": question, "references": ["1932"], "answer": "1932", "labels": {metric: 1}}
            for question, metric in items
        ]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        assert self.run(tmp_path, server, path) == 0
        report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
        assert report["metrics"]["all metrics"]["n_questions"] == 2

    def test_agreement_report_explains_failed_requests(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with chat_server(lambda *_: Reply(status=401)) as server:
            assert self.run(tmp_path, server, self.labels(tmp_path, 2, 1)) == 1
        assert "failed, left out: " in (output := capsys.readouterr().out)
        assert "HTTP 401" in output
        report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
        assert sum(report["failures"].values()) == 4

    def test_error_of_all_metrics_is_reported_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert judge_agreement(["--labels", str(self.labels(tmp_path, 2)), "--judge", "omnieval"]) == 2
        error = capsys.readouterr().err
        assert error.count("llm.model: is empty") == 1
        assert "more places)" in error

    def test_labels_of_the_answers_of_a_sweep_correct_its_cells(
        self, tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The judge gives 2 to everything; people gave 1 to the eight answers that they looked at."""
        monkeypatch.chdir(tmp_path)
        sweep = judge(server, *only_metrics("accuracy"))
        assert run_small(tmp_path, (*sweep, "top_k=1"), (*sweep, "top_k=4")) == 0
        one, four = cells_in(tmp_path)
        rows = pq.read_table(tmp_path / "results" / SWEEP_ID / one.cell_id / "samples.parquet").to_pylist()
        fields = ("id", "question", "references", "answer")
        labels = [{**{f: row[f] for f in fields}, "labels": {"accuracy": 1}} for row in rows[:8]]
        path = tmp_path / "labels.jsonl"
        path.write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
        assert self.run(tmp_path, server, path, "--sweep", SWEEP_ID) == 0
        report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
        disagreement = report["disagreements"][0]
        assert one.cell_id in disagreement["cells"]
        assert disagreement["answer"] == rows[0]["answer"]
        first, second = report["cells"]
        assert (first["cell_id"], second["cell_id"]) == (one.cell_id, four.cell_id)
        assert (first["judged_mean"], first["bias"], first["n_labelled"], first["n"]) == (1.0, 0.5, 8, 20)
        assert first["mean"] == 0.5
        assert first["interval"][0] < 0.5 < first["interval"][1] < 1.0
        assert second.get("n_labelled", 0) < 8, "its answers are others"
        captured = capsys.readouterr()
        assert "+0.500" in captured.out
        assert not captured.err
        labels[0]["answer"] = "#NAME?"
        path.write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
        assert self.run(tmp_path, server, path, "--sweep", SWEEP_ID) == 0
        assert "1 of 8 labelled answers are not in" in (warning := capsys.readouterr().err)
        assert f"1 of them with the id of one of its questions, e.g. {labels[0]['id']!r}: '#NAME?'" in warning

    def test_labels_of_other_answers_and_judges_are_refused(
        self, tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert run_small(tmp_path, judge(server, *only_metrics("accuracy"))) == 0
        labels = self.labels(tmp_path, 2, 2)
        assert self.run(tmp_path, server, labels, "--sweep", SWEEP_ID) == 2
        assert "none of the 4 labelled answers is a judged answer of this sweep" in capsys.readouterr().err
        assert self.run(tmp_path, server, labels, "--sweep", SWEEP_ID, "judge.llm.temperature=1") == 2
        error = capsys.readouterr().err
        assert "a judge other than --judge graded accuracy of cell" in error
        assert "They differ in llm.temperature." in error

    def test_judge_replies_are_reused_with_another_number_of_attempts(
        self, tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        labels = self.labels(tmp_path, 2, 1)
        self.run(tmp_path, server, labels)
        asked = len(server.requests)
        self.run(tmp_path, server, labels, "judge.scores.accuracy.max_attempts=7")
        assert len(server.requests) == asked

    def test_agreement_command_reuses_cached_replies(
        self, tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        labels = self.labels(tmp_path, 2, 1)
        self.run(tmp_path, server, labels)
        asked = len(server.requests)
        self.run(tmp_path, server, labels)
        assert len(server.requests) == asked

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            (
                {"accuracy": 3},
                "got the label 3 of accuracy, which is not a grade of the judge, expected one of 0, 1, 2",
            ),
            ({"beauty": 1}, "--judge: got labels of beauty, which this judge does not grade"),
            ({"relevance": 1}, "item '1': got 2 passages, but relevance grades one"),
            ({"accuracy": 1, "-": "answer"}, "item '1': has no answer, which accuracy grades"),
            ({"accuracy": 1, "-": "references"}, "item '1': has no reference, which the judge of accuracy reads"),
            ({"hallucination": 1, "-": "passages"}, "has no passages, which the judge of hallucination reads"),
        ],
    )
    def test_unsuitable_labels_are_rejected(
        self,
        tmp_path: Path,
        server: ChatServer,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        labels: dict[str, Any],
        message: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "labels.jsonl"
        item = {"question": "Who?", "references": ["She"], "answer": "Her", "passages": ["a", "b"]}
        item.pop(labels.pop("-", ""), None)
        item["labels"] = labels
        path.write_text(json.dumps(item), encoding="utf-8")
        assert self.run(tmp_path, server, path) == 2
        assert message in capsys.readouterr().err
        assert server.requests == []
