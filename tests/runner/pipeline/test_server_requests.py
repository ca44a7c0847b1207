"""Planned requests of embedders and rerankers, compared with the requests that a server receives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.rerankers.rerank_api import RerankApi
from runner.pipeline.corpus.server_requests import max_reranking_requests, reranking_requests
from runner.pipeline.planned_cells import SweepPlan
from tests.embedders.test_openai_embeddings import embeddings, vectors_of
from tests.llms.chat_server import ChatServer, Reply, chat_server
from tests.rerankers.test_rerank_api import as_jina
from tests.runner.sweeping import RANKING_ONLY, own_data, plan_small, run_small, store_of

RERANKER = RerankApi("m", batch_size=2)


def answer(request: dict[str, Any], attempt: int) -> Reply:
    return embeddings(vectors_of(request["input"])) if "input" in request else as_jina(request)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(answer) as running:
        yield running


def embedding(server: ChatServer, *more: str) -> list[str]:
    fields = ("model=m", f"base_url={server.url}", "api_key_env=''", "batch_size=20", "concurrency=1")
    own = [f"embedder.{field}" for field in fields]
    return ["retriever=dense", "embedder=openai", *own, "llm=none", *RANKING_ONLY, *more]


def reranking(server: ChatServer, *more: str) -> list[str]:
    own = (f"reranker.{field}" for field in ("model=m", f"base_url={server.url}", "batch_size=2", "depth=5"))
    return ["reranker=rerank_api", *own, "llm=none", *RANKING_ONLY, *more]


def counts(plan: SweepPlan) -> dict[str, tuple[int, bool]]:
    return {count.kind: (count.n_requests, count.is_exact) for count in plan.plan.requests}


def count_requests(server: ChatServer, folder: Path, overrides: list[str], sweep_id: str) -> int:
    before = len(server.requests)
    assert run_small(folder, overrides, sweep_id=sweep_id) == 0
    return len(server.requests) - before


def test_vector_requests_are_planned_exactly(server: ChatServer, tmp_path: Path) -> None:
    planned = counts(plan_small(tmp_path, embedding(server)))
    n_of_chunks = planned["vectors"][0]
    assert n_of_chunks > 5
    assert planned == {"embedder_state": (1, True), "query_vectors": (1, True), "vectors": (n_of_chunks, True)}
    assert server.requests == []
    assert count_requests(server, tmp_path, embedding(server), "first") == n_of_chunks + 2
    assert counts(plan_small(tmp_path, embedding(server, "top_k=3"))) == {}, "they are kept"
    of_two = counts(plan_small(tmp_path, *(embedding(server, f"chunk.size={size}") for size in (64, 96))))
    assert of_two["vectors"] == (sum(count_chunks(server, tmp_path, size) for size in (64, 96)), False)


def count_chunks(server: ChatServer, folder: Path, size: int) -> int:
    return counts(plan_small(folder, embedding(server, f"chunk.size={size}")))["vectors"][0]


def test_plan_subtracts_received_vectors(server: ChatServer, tmp_path: Path) -> None:
    """The plan subtracts finished blocks and the answered requests of the interrupted block."""
    small_chunks = embedding(server, "chunk.size=32")
    n_all = count_chunks(server, tmp_path, 32)
    assert n_all > 16
    assert run_small(tmp_path, [*small_chunks, "run.max_requests=13"]) == 3
    planned = counts(plan_small(tmp_path, small_chunks))
    assert planned["vectors"] == (n_all - 12, True)
    assert count_requests(server, tmp_path, small_chunks, "rest") == sum(n for n, _ in planned.values())


def test_chunk_requests_of_a_large_corpus_are_estimated_from_a_sample(server: ChatServer, tmp_path: Path) -> None:
    texts = {f"d{n:03}": " ".join(f"Sentence {n} {i} is here." for i in range(5 + n % 40)) for n in range(450)}
    own = own_data(tmp_path, texts, [{"id": "q", "question": "Where is sentence 7?"}])
    overrides = embedding(server, *own, "chunk.size=32")
    n_planned, is_exact = counts(plan_small(tmp_path, overrides))["vectors"]
    n_sent = count_requests(server, tmp_path, overrides, "first") - 2
    assert n_sent <= n_planned <= 1.25 * n_sent
    assert not is_exact


def test_planned_rerank_pairs_bound_the_pairs_sent(server: ChatServer, tmp_path: Path) -> None:
    ((kind, (n_planned, is_exact)),) = counts(plan_small(tmp_path, reranking(server))).items()
    assert (kind, n_planned, is_exact) == ("reranked_hits", 12 * 3, False)
    assert 0 < count_requests(server, tmp_path, reranking(server), "first") <= n_planned


def test_planned_rerank_requests_exclude_scored_pairs(server: ChatServer, tmp_path: Path) -> None:
    count_requests(server, tmp_path, reranking(server, "reranker.depth=3"), "first")
    ((_, (n_planned, is_exact)),) = counts(plan_small(tmp_path, reranking(server))).items()
    assert is_exact
    assert count_requests(server, tmp_path, reranking(server), "second") == n_planned


def test_plan_reports_a_budget_that_is_too_small(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    price = '+prices.lists.own={as_of:"2026-11-22",source:a bill,models:{m:{prompt:1000.0}}}'
    budgets = ("run.max_requests=3", "run.max_cost=0.5", "run.plan_only=true")
    assert run_small(tmp_path, embedding(server, price, *budgets)) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 request for fitting the embedder" in shown
    assert "may be more than run.max_requests=3, run.max_cost=0.5" in shown
    assert server.requests == []
    assert not list((store_of(tmp_path).root / "workspaces").glob("*")), "counting leaves nothing"


class TestRerank:
    def test_rerank_batches_hold_one_query_of_one_block(self) -> None:
        blocks = [[("q", "a"), ("q", "b"), ("q", "c"), ("p", "a"), ("p", " ")], [("p", "b"), (" ", "b")]]
        found = reranking_requests(RERANKER, blocks)
        assert (found.n_requests, found.is_exact) == (2 + 1 + 1, True)
        assert found.n_tokens == (2 + 3 + 2 + 2) // 3

    def test_rerank_estimate_of_unknown_hits_assumes_the_longest_chunks(self) -> None:
        found = max_reranking_requests(RERANKER, ["q", "p", "q", ""], 3, ["a", "bbb"], block_size=4)
        assert (found.n_requests, found.is_exact) == (2 * 2 + 1, False)
        assert found.n_tokens == (2 * (2 + 3 * 3)) // 3
