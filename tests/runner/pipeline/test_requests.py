"""Replies are kept by request: what a model was asked once it is not asked again, whatever else changes around it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.sweeping import QUIET, cells_in, run_small, sweep_in

N_QUESTIONS = 40
DOCUMENTS = [
    {"id": "a", "text": "The bridge was opened in 1932."},
    {"id": "b", "text": "The harbour is deep."},
    {"id": "c", "text": "The mill ground corn."},
]
"""Three chunks: every top_k from 3 on gives the same prompts."""


class Own:
    """A user's questions, asked of a model on this machine."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder, self.server = folder, server
        self.samples: list[dict[str, Any]] = [
            {"id": f"q{n}", "question": f"Is {n} on the bridge?", "references": ["No"], "topic": "numbers"}
            for n in range(N_QUESTIONS)
        ]
        self._n_sweeps = 0

    def write(self) -> None:
        for name, records in (("documents", DOCUMENTS), ("samples", self.samples)):
            lines = "".join(f"{json.dumps(record)}\n" for record in records)
            (self.folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")

    def overrides(self, *more: str) -> tuple[str, ...]:
        return (
            "dataset=jsonl", f"dataset.documents={self.folder}/documents.jsonl",
            f"dataset.samples={self.folder}/samples.jsonl", "dataset.limit=null", "prompt=english", "tokenizer=english",
            "metrics=retrieval", "metrics.interval.n_resamples=20", "top_k=5", "llm=openai", "llm.model=m",
            f"llm.base_url={self.server.url}", "llm.api_key_env=''", "llm.max_retries=0", *QUIET, *more,
        )  # fmt: skip

    def asked(self, *more: str, code: int = 0) -> int:
        """How many requests reach the model in a sweep."""
        self.write()
        before = len(self.server.requests)
        self._n_sweeps += 1
        assert run_small(self.folder, self.overrides(*more), sweep_id=self.sweep_id) == code
        return len(self.server.requests) - before

    @property
    def sweep_id(self) -> str:
        """Of the last sweep."""
        return f"sweep-{self._n_sweeps}"

    def counted(self) -> int:
        """What the plan of the last sweep said."""
        n_requests = sweep_in(self.folder, self.sweep_id).plan["n_requests"]
        assert isinstance(n_requests, int)
        return n_requests


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request, attempt: Reply("No.")) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path, server: ChatServer) -> Own:
    return Own(tmp_path, server)


def test_an_edited_data_set_asks_for_what_is_new_alone(own: Own) -> None:
    assert own.asked() == N_QUESTIONS == own.counted()
    own.samples.append({"id": "new", "question": "Who dug the harbour?"})
    assert own.asked() == 1, "a question added"
    own.samples[3]["topic"] = "bridges"
    assert own.asked() == 0, "a topic relabelled"
    own.samples[4]["references"] = ["Never"]
    assert own.asked() == 0, "a reference mended"
    assert own.asked("dataset.limit=20") == 0, "fewer of the same questions"
    (cell,) = cells_in(own.folder, own.sweep_id)
    assert cell.counts == {"ok": 20}
    own.samples[5]["id"] = "renamed"
    assert own.asked() == 0, "a sample renamed"
    own.samples[6]["question"] = "Is it six?"
    assert own.asked() == 1, "a question changed"


def test_another_top_k_with_equal_prompts_asks_nothing(own: Own) -> None:
    assert own.asked("top_k=5") == N_QUESTIONS
    assert own.asked("top_k=6") == 0
    assert own.asked("top_k=1") > 0, "the prompts are others"


def test_another_model_is_asked_anew_and_another_server_is_not(own: Own) -> None:
    assert own.asked("dataset.limit=5") == 5
    assert own.asked("dataset.limit=5", "llm.concurrency=2", "llm.timeout_s=60") == 0
    assert own.asked("dataset.limit=5", "llm.max_new_tokens=7") == 5


def test_equal_prompts_are_one_request_unless_answers_are_drawn(own: Own) -> None:
    own.samples = [{"id": name, "question": "Is it deep?"} for name in ("one", "other", "third")]
    assert own.asked() == 1
    assert own.asked("llm.temperature=0.7") == 3, "each sample gets a draw of its own"
    own.samples.append({"id": "fourth", "question": "Is it deep?"})
    assert own.asked("llm.temperature=0.7") == 1


def test_the_plan_counts_what_is_then_asked_once_the_prompts_are_kept(tmp_path: Path) -> None:
    def half(request: dict[str, Any], attempt: int) -> Reply:
        number = last_message(request).split("Is ")[1].split(" ")[0]
        return Reply(status=400) if int(number) % 4 == 0 else Reply("No.")

    with chat_server(half) as server:
        assert Own(tmp_path, server).asked(code=1) == N_QUESTIONS
    with chat_server(lambda request, attempt: Reply("No.")) as server:
        again = Own(tmp_path, server)
        assert again.asked() == N_QUESTIONS // 4 == again.counted()
        assert again.asked() == 0 == again.counted()


def test_a_plan_alone_says_the_count_and_asks_nothing(
    own: Own, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    own.asked("dataset.limit=10")
    server.script = lambda request, attempt: Reply(status=400)
    assert own.asked("dataset.limit=13", code=1) == 3, "keeps the prompts, and gets no answers"
    capsys.readouterr()
    assert own.asked("dataset.limit=13", "run.plan_only=true") == 0
    output = capsys.readouterr().out
    assert "3 requests" in output or "requests: 3" in output, output
