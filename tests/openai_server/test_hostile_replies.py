"""No reply of a server raises anything but an error of this project, and no received reply is lost."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.embedders.openai_embeddings import OpenAIEmbeddings
from components.errors import ComponentError
from components.llms.ollama_chat import OllamaChat
from components.llms.openai_chat import OpenAIChat
from components.protocols import LLM
from components.records import Answer, AnswerState, ErrorClass, Message, Passages, Request
from components.rerankers.rerank_api import RerankApi
from runner.engine.store import Store
from runner.pipeline.answers.answer_stages import AnswersCodec
from tests.contracts.llm_contract import request
from tests.llms.chat_server import Reply, chat_server, last_message
from tests.openai_server.hostile import CHAT, EMBEDDINGS, OLLAMA, RERANK, hostile_bodies
from tests.runner.sweeping import FEW_METRICS, own_data, run_small, samples_in

BY_SERVER = {"api_key_env": "", "max_retries": 0, "timeout_s": 30.0}
UNSHAKEN = 150
"""Consecutive failures that the breaker tolerates."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def answers_to(llm: LLM, bodies: dict[str, bytes]) -> Iterator[Answer]:
    sample = request("q").sample
    requests = [Request(name, (Message("user", name),), sample, ()) for name in bodies]
    for first in range(0, len(requests), 8):  # a call ends before failures in a row open its breaker
        yield from llm.generate(requests[first : first + 8])


@pytest.mark.parametrize(("kind", "sound"), [(OpenAIChat, CHAT), (OllamaChat, OLLAMA)])
def test_hostile_chat_replies_become_answers_that_are_stored(
    store: Store, kind: type[OpenAIChat | OllamaChat], sound: dict[str, Any]
) -> None:
    bodies = dict(hostile_bodies(sound))
    with chat_server(lambda asked, _: Reply(body=bodies[last_message(asked)])) as server:
        settings = {**BY_SERVER, "base_url": server.url}
        settings = {name: value for name, value in settings.items() if hasattr(kind, name)}
        answers = list(answers_to(kind("m", **settings), bodies))
    assert {answer.request_id for answer in answers} == set(bodies)
    failed = Counter(answer.error_class for answer in answers if answer.state is AnswerState.ERROR)
    assert failed.keys() <= {
        ErrorClass.MALFORMED,
        ErrorClass.TOO_LONG,
    }  # too long: Ollama's replies that fill the window
    assert len(bodies) / 5 < failed[ErrorClass.MALFORMED] < len(bodies) * 0.9
    kept = store.replies("k").add_all(answers)
    whole = {answer.request_id: answer for answer in kept if answer.state is not AnswerState.ERROR}
    assert store.replies("k").get_all(bodies) == whole == Store(store.root).replies("k").get_all(bodies)
    store.write("answers", "a" * 64, AnswersCodec().encode(kept), seconds=0.0, made_from={})
    entry = Store(store.root).find("answers", "a" * 64)
    assert entry is not None
    assert AnswersCodec().decode(entry.parts()) == kept


def test_refused_reply_is_retried() -> None:
    bodies = {"half": b'{"choices": [', "deep": b"[" * 100_000, "html": b"<html>"}

    def script(asked: dict[str, Any], attempt: int) -> Reply:
        return Reply(body=bodies[last_message(asked)]) if attempt < 3 else Reply("so")

    with chat_server(script) as server:
        llm = OpenAIChat("m", base_url=server.url, **{**BY_SERVER, "max_retries": 2}, backoff_s=0.0)
        assert [answer.text for answer in answers_to(llm, bodies)] == ["so"] * 3
        assert len(server.requests) == 9


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_hostile_error_bodies_become_failed_answers(status: int) -> None:
    said = {"error": {"message": "no", "code": "c", "type": "t", "param": None}}
    bodies = dict(hostile_bodies(said))
    with chat_server(lambda asked, _: Reply(status=status, body=bodies[last_message(asked)])) as server:
        llm = OpenAIChat("m", base_url=server.url, **BY_SERVER)
        answers = list(answers_to(llm, bodies))
    assert len(answers) == len(bodies)
    for answer in answers:
        assert answer.state is AnswerState.ERROR
        assert answer.error_class is not ErrorClass.MALFORMED
        answer.error.encode()


def test_hostile_embedding_replies_become_vectors_or_one_error() -> None:
    bodies = dict(hostile_bodies(EMBEDDINGS))
    with chat_server(lambda asked, _: Reply(body=bodies[asked["input"][0]])) as server:
        embedder = OpenAIEmbeddings("m", base_url=server.url, **BY_SERVER)
        n_refused = 0
        for name in bodies:
            state = {"dimensions": np.array([2], dtype=np.float32)}
            try:
                vectors = embedder.embed_chunks(Passages([name, "b"]), state)
            except ComponentError as error:
                n_refused += 1
                str(error).encode()
            else:
                assert vectors.shape == (2, 2)
                assert np.isfinite(vectors).all()
                assert [math.hypot(*vector) for vector in vectors.tolist()] == pytest.approx([1, 1], abs=1e-6)
    assert len(bodies) / 3 < n_refused < len(bodies)


def test_hostile_rerank_replies_become_scores_or_one_error() -> None:
    bodies = dict(hostile_bodies(RERANK))
    with chat_server(lambda asked, _: Reply(body=bodies[asked["query"]])) as server:
        reranker = RerankApi("m", base_url=server.url, **BY_SERVER)
        n_refused = 0
        for name in bodies:
            pairs = np.array([[0, 0], [0, 1]], dtype=np.int32)
            try:
                scores = reranker.score(Passages([name]), Passages(["a", "b"]), pairs)
            except ComponentError as error:
                n_refused += 1
                str(error).encode()
            else:
                assert scores.shape == (2,)
                assert np.isfinite(scores).all()
    assert len(bodies) / 3 < n_refused < len(bodies)


def test_malformed_joint_completions_are_requested_separately() -> None:
    second = {**CHAT, "choices": [*CHAT["choices"], *CHAT["choices"]]}
    bodies = {name: body for name, body in hostile_bodies(second) if "choices" in name}
    with chat_server(
        lambda asked, _: Reply(body=bodies[last_message(asked)]) if asked.get("n") == 2 else Reply("alone")
    ) as server:
        settings = {**BY_SERVER, "base_url": server.url, "concurrency": UNSHAKEN, "temperature": 1.0}
        llm = OpenAIChat("m", **settings, completions_per_request=2)
        sample = request("q").sample
        asked = [
            Request(f"{name} {draw}", (Message("user", name),), sample, (), draw=draw)
            for name in bodies
            for draw in range(2)
        ]
        answers = list(llm.generate(asked))
    assert len(answers) == len(asked)
    assert {each.error_class for each in answers if each.error} == {ErrorClass.MALFORMED}


def test_sweep_with_hostile_replies_ends_and_reports_failures(tmp_path: Path) -> None:
    """Covers the store, the tables and MLflow. A second run reads the stored replies and requests the rest."""
    bodies = [body for name, body in hostile_bodies(CHAT) if "think" in name or "half" in name or "usage" in name]
    bodies = bodies[:: 1 + len(bodies) // 120]
    samples = [
        {"id": f"s{n}", "question": f"question {n:04}", "references": ["so"], "gold": []} for n in range(len(bodies))
    ]
    data = own_data(tmp_path, {"d": "the question is so"}, samples)

    def script(asked: dict[str, Any], attempt: int) -> Reply:
        (number,) = re.findall(r"question (\d{4})", last_message(asked))
        return Reply(body=bodies[int(number)])

    with chat_server(script) as server:
        llm = ["llm=openai", "llm.model=m", f"llm.base_url={server.url}", "llm.api_key_env=''", "llm.max_retries=0"]
        overrides = [*data, *llm, f"llm.concurrency={UNSHAKEN}", *FEW_METRICS, "tracking=mlflow"]
        run_small(tmp_path, overrides)
        n_sent = len(server.requests)
        rows = samples_in(tmp_path)
        assert n_sent == len(rows) == len(bodies)
        run_small(tmp_path, [*overrides, "tracking=none"], sweep_id="again")  # the same rows are logged already
        states = Counter(row["state"] for row in rows)
        assert len(server.requests) == n_sent + states["error"]
        again = samples_in(tmp_path, "again")
    assert Counter(row["state"] for row in again) == states
    assert [row["answer"] for row in again] == [row["answer"] for row in rows]
    assert states["ok"] > 20
    assert states["error"] > 10


def test_replies_stored_by_earlier_versions_are_readable(store: Store) -> None:
    """Earlier versions stored counts beyond 64 bits unchanged, and their cell failed forever."""
    store.replies("k").add("q", Answer("q", AnswerState.OK, "so"))
    (journal,) = (store.root / "replies" / "k").glob("*.jsonl")
    raw = json.loads(journal.read_text(encoding="utf-8"))
    raw = {**raw, "n_prompt_tokens": 2**70, "n_cached_tokens": 2**70, "thoughts": "\ud83d", "text": "kept"}
    del raw["crc32"]
    journal.write_text(json.dumps(raw) + "\n", encoding="ascii")
    found = Store(store.root).replies("k").get_all(["q"])["q"]
    assert (found.text, found.n_prompt_tokens, found.n_cached_tokens, found.thoughts) == ("kept", None, 0, "\ufffd")
    AnswersCodec().encode([found])
