"""Replies are stored by request: an equal request is never sent twice, whatever else changes."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from components.datasets.jsonl import Jsonl
from components.llms.openai_chat import OpenAIChat
from components.metrics.interval import Intervals
from components.metrics.trec import TrecMeasures
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK, RunningSweep
from runner.pipeline.planned_cells import CellRequest, Job
from runner.pipeline.settings import JudgeSettings, MetricSettings
from runner.results import read_cells, read_sweep
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.pipeline.fixed import VERDICT, bm25, fixed_cell, judge

N_QUESTIONS = 40
DOCUMENTS = [
    {"id": "a", "text": "The bridge was opened in 1932."},
    {"id": "b", "text": "The harbour is deep."},
    {"id": "c", "text": "The mill ground corn."},
]
"""Three chunks: every top_k from 3 on gives the same prompts."""


class Own:
    """A user's questions, answered by a model on this machine."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder, self.server = folder, server
        self.samples: list[dict[str, Any]] = [
            {"id": f"q{n}", "question": f"Is {n} on the bridge?", "references": ["No"], "topic": "numbers"}
            for n in range(N_QUESTIONS)
        ]
        self.printed = ""
        self._n_sweeps = 0

    def asked(
        self,
        *,
        limit: int | None = None,
        top_k: int = 5,
        code: int = EXIT_OK,
        plan_only: bool = False,
        judged: bool = False,
        repeat: int = 0,
        judge_repeat: int = 0,
        **model: Any,
    ) -> int:
        """Count the requests that reach the model in a sweep of one cell."""
        self._write()
        before = len(self.server.requests)
        self._n_sweeps += 1
        llm = OpenAIChat("m", base_url=self.server.url, api_key_env="", max_retries=0, **model)
        cell = fixed_cell(
            dataset=Jsonl(f"{self.folder}/documents.jsonl", f"{self.folder}/samples.jsonl", limit=limit),
            retriever=bm25(),
            top_k=top_k,
            repeat=repeat,
            judge_repeat=judge_repeat,
            llm=llm,
            judge=judge(llm) if judged else JudgeSettings(None, {}),
            metrics=MetricSettings({"trec": TrecMeasures(("mrr",))}, Intervals(n_resamples=100)),
        )
        folders = {"results_dir": str(self.folder), "store_dir": str(self.folder / "store")}
        cell = replace(cell, run=replace(cell.run, **folders, plan_only=plan_only))
        console = Console(file=io.StringIO(), width=200)
        assert RunningSweep([CellRequest(cell, Job({}, {}, ()))], self.sweep_dir.name, (), console).run() == code
        assert isinstance(console.file, io.StringIO)
        self.printed = console.file.getvalue()
        return len(self.server.requests) - before

    def _write(self) -> None:
        for name, records in (("documents", DOCUMENTS), ("samples", self.samples)):
            lines = "".join(f"{json.dumps(record)}\n" for record in records)
            (self.folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")

    @property
    def sweep_dir(self) -> Path:
        """Return the folder of the last sweep."""
        return self.folder / f"sweep-{self._n_sweeps}"

    def counted(self) -> object:
        """Return the plan of the last sweep, from sweep.json."""
        return read_sweep(self.sweep_dir).plan["n_requests"]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request, attempt: Reply("No.")) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path, server: ChatServer) -> Own:
    return Own(tmp_path, server)


def test_edited_data_set_requests_only_new_questions(own: Own) -> None:
    assert own.asked() == N_QUESTIONS == own.counted()
    own.samples.append({"id": "new", "question": "Who dug the harbour?"})
    assert own.asked() == 1, "a question added"
    own.samples[3]["topic"] = "bridges"
    assert own.asked() == 0, "a topic relabelled"
    own.samples[4]["references"] = ["Never"]
    assert own.asked() == 0, "a reference mended"
    own.samples[5]["id"] = "renamed"
    assert own.asked() == 0, "a sample renamed"
    assert own.asked(limit=20) == 0, "fewer of the same questions"
    (cell,) = read_cells(own.sweep_dir)
    assert cell.counts == {"ok": 20}
    own.samples[6]["question"] = "Is it six?"
    assert own.asked() == 1, "a question changed"


def test_changed_top_k_with_equal_prompts_sends_no_requests(own: Own) -> None:
    own.samples = [{"id": "q", "question": "The bridge, the harbour or the mill?"}]
    assert own.asked(top_k=5) == 1
    assert own.asked(top_k=6) == 0
    assert own.asked(top_k=1) == 1, "the prompt is another"


def test_new_model_sends_requests_again_but_new_call_settings_do_not(own: Own) -> None:
    assert own.asked(limit=5) == 5
    assert own.asked(limit=5, concurrency=2, timeout_s=60.0) == 0
    assert own.asked(limit=5, max_new_tokens=7) == 5


def test_equal_prompts_are_one_request_unless_answers_are_drawn(own: Own) -> None:
    own.samples = [{"id": name, "question": "Is it deep?"} for name in ("one", "other", "third")]
    assert own.asked() == 1
    assert own.asked(temperature=0.7) == 3, "each sample gets a draw of its own"
    own.samples.append({"id": "fourth", "question": "Is it deep?"})
    assert own.asked(temperature=0.7) == 1


def test_plan_equals_the_requests_sent_once_prompts_are_cached(own: Own, server: ChatServer) -> None:
    works = server.script

    def fails_on_every_fourth(request: dict[str, Any], attempt: int) -> Reply:
        number = int(last_message(request).split("Is ")[1].split(" ")[0])
        return Reply(status=400) if number % 4 == 0 else Reply("No.")

    server.script = fails_on_every_fourth
    assert own.asked(code=EXIT_CELL_FAILED) == N_QUESTIONS == own.counted()
    assert own.asked(plan_only=True) == 0
    assert "Plan: 1 cell, 10 requests for answers\n" in own.printed, "counted, not estimated"
    server.script = works
    assert own.asked() == N_QUESTIONS // 4 == own.counted()
    assert own.asked() == 0 == own.counted()


def test_judgements_are_cached_by_request(own: Own, server: ChatServer) -> None:
    server.script = lambda request, attempt: Reply(VERDICT.reply if "response_format" in request else "No.")
    n_decisions = N_QUESTIONS
    assert own.asked(judged=True) == N_QUESTIONS + n_decisions + N_QUESTIONS
    own.samples.append({"id": "new", "question": "Who dug the harbour?", "references": ["Hands"]})
    assert own.asked(judged=True) == 3, "its answer, whether the metric applies to it, its judgement"
    assert own.asked(judged=True, top_k=6) == 0, "the same answers"
    own.samples[4]["references"] = ["Never"]
    assert own.asked(judged=True) == 2, "whether it applies and the judgement, which read the reference"


def test_answer_repeat_uses_another_seed_and_is_cached(own: Own, server: ChatServer) -> None:
    assert own.asked(limit=5, seed=7) == 5
    assert own.asked(limit=5, seed=7, repeat=1) == 5
    assert [request["seed"] for request in server.requests] == [7] * 5 + [8] * 5
    assert own.asked(limit=5, seed=7, repeat=1) == 0
    assert own.asked(limit=5, seed=7) == 0


def test_judge_repeat_sends_the_judgements_of_equal_answers_again(own: Own, server: ChatServer) -> None:
    server.script = lambda request, attempt: Reply(VERDICT.reply if "response_format" in request else "No.")
    assert own.asked(limit=5, judged=True) == 5 + 5 + 5
    assert own.asked(limit=5, judged=True, judge_repeat=1) == 5, "whether the metric applies is decided once"
    assert own.asked(limit=5, judged=True, repeat=1) == 5, "equal answers were judged before"
    assert own.asked(limit=5, judged=True, repeat=1, judge_repeat=1) == 0


def test_plan_marks_estimated_request_counts(own: Own) -> None:
    own.asked(limit=10)
    own.asked(limit=13, plan_only=True)
    estimate = "at most 13 requests for answers; cached replies are not subtracted yet"
    assert estimate in own.printed, "there are no prompts yet to count"
    assert own.asked(limit=13) == 3
