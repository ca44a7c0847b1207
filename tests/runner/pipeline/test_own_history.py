"""Conversations with the model's own answers as history."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError
from components.generators.self_consistency import SelfConsistency
from components.histories.gold import GoldHistory
from components.histories.own import OwnHistory
from components.llms.extractive import Extractive
from components.llms.scripted import Scripted
from components.retrievers.closed_book import ClosedBook
from runner.engine.store import Store
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.pipeline.fixed import FixedTalk, bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import cells_in, own_data, plan_small, read_or_make, run_small, samples_in

TEXTS = {"a": "The bridge was opened in 1932.", "b": "The bridge is long."}
TALKS = (("Which bridge?", "When was the bridge opened?", "How long is the bridge?"), ("The bridge or the mill?",))


def samples() -> Iterator[dict[str, Any]]:
    for number, talk in enumerate(TALKS):
        for n, question in enumerate(talk):
            history = [{"question": earlier, "answer": f"gold of {earlier}"} for earlier in talk[:n]]
            yield {"id": f"{number}.{n}", "question": question, "history": history, "references": ["1932"]}


def question_in(shown: str) -> str:
    """The question in a prompt of a conversation, or of a single turn."""
    return shown.rpartition("Question")[2].partition(": ")[2].splitlines()[0]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request, attempt: Reply(f"own of {question_in(last_message(request))}")) as running:
        yield running


@pytest.fixture
def options(tmp_path: Path, server: ChatServer) -> list[str]:
    model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.max_retries=0", f"llm.base_url={server.url}"]
    return [*own_data(tmp_path, TEXTS, samples()), "language=en", "history=own", *model]


def test_turns_are_asked_in_order_with_the_generated_history(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    assert plan_small(tmp_path, options).plan.n_requests == 4
    assert run_small(tmp_path, options) == EXIT_OK
    assert len(server.requests) == 4
    rows = {row["id"]: row for row in samples_in(tmp_path)}
    assert [row["generation"] for row in rows.values()] == ["turn 1", "turn 2", "turn 3", "turn 1"]
    assert rows["0.2"]["answer"] == "own of How long is the bridge?"
    for n, question in enumerate(TALKS[0]):
        for earlier in TALKS[0][:n]:
            assert f"Q: {earlier}\nA: own of {earlier}" in rows[f"0.{n}"]["prompt"]
        assert "gold of" not in rows[f"0.{n}"]["prompt"]
        assert rows[f"0.{n}"]["question"] == question
    assert json.loads(rows["0.1"]["history"])[0]["answer"] == "gold of Which bridge?", "the data set's own is shown too"
    (cell,) = cells_in(tmp_path)
    assert cell.usage["answers"]["n_requests"] == 4
    assert cell.axes["history"] == "own"


def test_gold_history_shares_the_first_turns_with_generated_history(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    assert run_small(tmp_path, [*options, "history=gold"], options) == EXIT_OK
    assert len(server.requests) == 4 + 2


def test_failed_turn_fails_later_turns_until_the_next_run(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    works = server.script

    def fails(request: dict[str, Any], attempt: int) -> Reply:
        return Reply(status=400) if question_in(last_message(request)) == TALKS[0][0] else works(request, attempt)

    server.script = fails
    assert run_small(tmp_path, options) == EXIT_CELL_FAILED
    assert len(server.requests) == 2
    (cell,) = cells_in(tmp_path)
    assert cell.counts == {"error": 3, "ok": 1}
    rows = samples_in(tmp_path)
    assert rows[2]["error"] == f"an earlier turn failed: {rows[0]['error']}"
    server.script = works
    assert run_small(tmp_path, options, sweep_id="again") == EXIT_OK
    assert len(server.requests) == 2 + 3


def test_earlier_turns_that_are_not_samples_are_rejected_by_the_plan(tmp_path: Path, options: list[str]) -> None:
    with pytest.raises(ConfigError, match="1 of 1 samples with earlier turns have one that is not itself a sample"):
        plan_small(tmp_path, [*options, *own_data(tmp_path, TEXTS, [s for s in samples() if s["id"] != "0.1"])])


def test_generated_history_refuses_queries_with_gold_answers(tmp_path: Path, options: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"expander\.with_answers: got true with history=own"):
        plan_small(tmp_path, [*options, "expander=history", "expander.with_answers=true"])


def test_generated_history_changes_only_stages_after_the_context(tmp_path: Path) -> None:
    store = Store(tmp_path)
    gold, own = (
        {stage.key: stage.kind for stage in graph_in(store, cell).result.upstream()}
        for cell in (fixed_cell(dataset=FixedTalk(), history=history) for history in (GoldHistory(), OwnHistory()))
    )
    assert {(gold | own)[key] for key in gold.keys() ^ own.keys()} == {
        "turns", "turn_context", "prompts", "answers", "conversations", "generated_answers", "answer_units",
        "answer_scores", "result",
    }  # fmt: skip


@pytest.mark.parametrize("fields", [{}, {"dataset": FixedTalk(), "llm": Extractive()}])
def test_history_axis_is_unused_without_history_or_its_reader(tmp_path: Path, fields: Any) -> None:
    gold, own = (
        graph_in(Store(tmp_path), fixed_cell(history=history, **fields)) for history in (GoldHistory(), OwnHistory())
    )
    assert gold.result.key == own.result.key
    assert "history" not in gold.used | own.used


@pytest.mark.parametrize("retriever", ["bm25", "closed book"])
def test_generators_answer_turn_by_turn_with_generated_history(tmp_path: Path, retriever: str) -> None:
    store = Store(tmp_path)
    cell = fixed_cell(
        dataset=FixedTalk(),
        retriever=bm25(max_share_without_hits=1.0) if retriever == "bm25" else ClosedBook(),
        history=OwnHistory(),
        generator=SelfConsistency(n_draws=2),
        llm=Scripted(reply="To {question}: yes."),
    )
    result = graph_in(store, cell).result
    run_all(store, result)
    table = read_or_make(result, store).samples
    assert [path.partition(":")[0] for path in table["generation"].to_pylist()] == ["turn 1", "turn 2"] * 2
    assert "To When was the bridge opened?: yes." in table["prompt"].to_pylist()[1]
    assert read_or_make(result, store).summary["usage"]["answers"]["n_requests"] == 8
