"""Custom pipelines next to built-in cells, from the command line to the results."""

import json
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from components.errors import ConfigError, DataError
from runner.launch.sweep import EXIT_CELL_FAILED
from runner.results import load, sample_verdicts
from runner.serving.exporting.exported_cell import collect_export
from tests.llms.chat_server import Reply, chat_server
from tests.runner.sweeping import (
    FEW_METRICS,
    QUIET,
    SMALL,
    cells_in,
    end_group,
    only_sweep,
    plan_small,
    run_command,
    run_small,
    start_command,
    sweeps,
    wait_until,
)

CODE = """
import os
import time
from pathlib import Path

from components.datasets.demo import Demo


def answer(question, history, top=1, delay_s=0.0):
    path = Path(os.environ["ASKED_OF_TESTS"])
    with path.open("a") as log:
        log.write(f"began {question}\\n")
    time.sleep(delay_s)
    with path.open("a") as log:
        log.write(f"ended {question}\\n")
    print("said", question)
    documents = Demo().load().documents.texts
    ranked = sorted(documents, key=lambda text: -len(set(text) & set(question)))
    return {"answer": ranked[0][:40], "passages": [text[:200] for text in ranked[: int(top)]]}


def failing(question):
    if len(question) % 3 == 0:
        raise ValueError("no luck")
    return "yes"
"""
CELL = (*SMALL, *FEW_METRICS, *QUIET, "run.plugins=[my_app_of_tests]")
OWN = (*CELL, "pipeline=python", "pipeline.call=my_app_of_tests.rag.answer")


@pytest.fixture(autouse=True)
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "my_app_of_tests"
    package.mkdir()
    monkeypatch.setenv("ASKED_OF_TESTS", str(tmp_path / "asked.txt"))
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "rag.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return package


def logged_lines(folder: Path, word: str) -> list[str]:
    path = folder / "asked.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(word)]


def has_ended(folder: Path, n: int) -> bool:
    return len(logged_lines(folder, "ended")) >= n


def test_custom_pipeline_joins_cells_that_differ_in_unused_axes(tmp_path: Path) -> None:
    own = [(*OWN, f"chunk.size={size}", "+pipeline.parameters.top=2") for size in (64, 128)]
    assert run_small(tmp_path, CELL, (*CELL, "pipeline.call=my_app_of_tests.rag.answer"), *own) == 0
    built_in, pipeline = sorted(cells_in(tmp_path), key=lambda cell: str(cell.axes["pipeline"]))
    assert (built_in.axes["pipeline"], pipeline.axes["pipeline"]) == ("built_in", "python")
    assert pipeline.axes["chunk.size"] is pipeline.axes["retriever"] is pipeline.axes["llm"] is None
    assert pipeline.axes["pipeline.parameters.top"] == 2
    assert built_in.axes.get("pipeline.call") is None
    assert pipeline.value("passage_coverage") is not None
    assert pipeline.value("context_tokens") is None
    assert pipeline.steps["pipeline"]["n_passages"] == 24
    assert pipeline.steps["pipeline"]["n_not_in_corpus"] == 0
    assert len(logged_lines(tmp_path, "began")) == pipeline.usage["answers"]["n_requests"] == 12


def test_custom_pipeline_failures_are_counted_and_mark_the_cell(tmp_path: Path) -> None:
    assert (
        run_small(tmp_path, (*CELL, "pipeline=python", "pipeline.call=my_app_of_tests.rag.failing")) == EXIT_CELL_FAILED
    )
    (cell,) = cells_in(tmp_path)
    n_failed = cell.counts["error"]
    assert n_failed + cell.counts["ok"] == 12
    assert cell.errors == {"other": n_failed}
    assert cell.metrics["overall"]["rouge_l"]["n"] <= 12 - n_failed


def test_edited_pipeline_is_called_again_once(tmp_path: Path, app: Path) -> None:
    run_small(tmp_path, OWN, sweep_id="first")
    run_small(tmp_path, OWN, sweep_id="again")
    assert len(logged_lines(tmp_path, "began")) == 12
    (app / "rag.py").write_text(CODE.replace("[:40]", "[:50]"), encoding="utf-8")
    run_small(tmp_path, OWN, sweep_id="edited")
    assert len(logged_lines(tmp_path, "began")) == 24
    run_small(tmp_path, (*OWN, "pipeline.revision=2"), sweep_id="revised")
    assert len(logged_lines(tmp_path, "began")) == 36


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        (
            ["pipeline.call=os.system"],
            "pipeline.call: got 'os.system' (str), expected a dotted path in a package of run",
        ),
        (["pipeline.call=my_app_of_tests.rag.absent"], "pipeline.call: got 'my_app_of_tests.rag.absent', which cannot"),
        (["pipeline.call="], "pipeline.call: got '' (str), expected a dotted path in a package of run.plugins"),
        (["+pipeline.parameters.to=1"], "pipeline.call: got 'my_app_of_tests.rag.answer', which cannot be called as"),
        (["pipeline=http"], "pipeline.url: is empty"),
    ],
)
def test_unusable_pipeline_is_rejected_by_the_plan(tmp_path: Path, overrides: list[str], problem: str) -> None:
    job = (*(CELL if "pipeline=http" in overrides else OWN), *overrides)
    with pytest.raises(ConfigError) as caught:
        plan_small(tmp_path, job)
    assert any(each.startswith(problem) for each in caught.value.problems), caught.value.problems
    assert not (tmp_path / "results" / "store" / "replies").exists()


def test_package_outside_the_plugins_is_not_imported(tmp_path: Path, app: Path) -> None:
    (app / "rag.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        plan_small(tmp_path, (*OWN, "run.plugins=[]"))
    assert not (tmp_path / "imported").exists()


def test_pipeline_cell_is_not_exportable_and_its_failures_are_explained(tmp_path: Path) -> None:
    run_small(tmp_path, OWN)
    sweep = load(only_sweep(tmp_path))
    (cell,) = sweep.cells
    with pytest.raises(DataError, match="is a pipeline of your own"):
        collect_export(sweep, cell)
    assert len(sample_verdicts(sweep, cell)) == 12


def test_malformed_endpoint_replies_are_excluded_from_scores(tmp_path: Path) -> None:
    bodies = [{"answer": "yes"}, {"no": 1}, {"answer": 3}, {"answer": "x" * 2_000_000}]
    replies = iter(range(10_000))

    def lie(request: object, attempt: int) -> Reply:
        return Reply(body=json.dumps(bodies[next(replies) % len(bodies)]).encode())

    with chat_server(lie) as server:
        own = (
            *CELL,
            "pipeline=http",
            f"pipeline.url={server.url}/answer",
            "pipeline.revision=1",
            "pipeline.max_retries=0",
        )
        assert run_small(tmp_path, own) == EXIT_CELL_FAILED
        (cell,) = cells_in(tmp_path)
        assert cell.counts == {"error": 9, "ok": 3}
        assert cell.errors == {"malformed": 9}
        assert cell.metrics["overall"]["rouge_l"]["n"] <= 3
        assert cell.value("ndcg@10") is cell.value("passage_coverage") is None


def test_pipeline_killed_twice_repeats_only_calls_in_flight(tmp_path: Path) -> None:
    arguments = ("-m", *OWN, "pipeline=built_in,python", "+pipeline.parameters.delay_s=0.2", "run.workers=2")
    for n_ended in (3, 7):
        process = start_command(tmp_path, *arguments)
        wait_until(partial(has_ended, tmp_path, n_ended), process)
        end_group(process, signal.SIGKILL)
        process.communicate(timeout=60)
        time.sleep(0.1)
    last = run_command(tmp_path, *arguments)
    assert last.returncode == 0, last.stderr
    assert len(set(logged_lines(tmp_path, "ended"))) == 12
    assert (
        sum(n - 1 for n in Counter(logged_lines(tmp_path, "began")).values()) <= 2
    )  # one call was running at each kill
    cells = load(sweeps(tmp_path)[-1]).cells
    assert sorted(cell.status for cell in cells) == ["OK", "OK"]


def test_plan_does_not_know_the_tokens_of_a_pipeline(
    tmp_path: Path, app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_small(tmp_path, (*OWN, "run.plan_only=true")) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "at most about" not in shown
