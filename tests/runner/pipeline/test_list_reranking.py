"""Hits in the order that a language model gives them: each reply is requested once, and failures are reported."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.records import Hits
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from runner.pipeline.ranking.list_reranking import LLMHitOrders, ReorderedHits
from runner.pipeline.search.sparse_search import SparseHits
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.pipeline.fixed import CELLS, fixed_cell, graph_in, run_all
from tests.runner.sweeping import RANKING_ONLY, cells_in, plan_small, read_or_make, run_small


def shortest_first(request: dict[str, Any], attempt: int = 1) -> Reply:
    """Reply like a model that prefers short passages."""
    shown = dict(re.findall(r"^\[(\d+)\] (.*)$", last_message(request), re.MULTILINE))
    return Reply(json.dumps({"ranking": sorted(map(int, shown), key=lambda n: (len(shown[str(n)]), n))}))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(shortest_first) as running:
        yield running


@pytest.fixture
def options(server: ChatServer) -> list[str]:
    return [
        "reranker=llm_listwise",
        "reranker.llm.model=m",
        "reranker.llm.api_key_env=''",
        "reranker.llm.max_retries=0",
        f"reranker.llm.base_url={server.url}",
        "reranker.depth=6",
        "reranker.window=4",
        "reranker.step=2",
        "dataset.limit=4",
        "llm=none",
        *RANKING_ONLY,
    ]


def test_model_reorders_the_first_hits_and_the_rest_follow(tmp_path: Path) -> None:
    store = Store(tmp_path)
    stages = list(graph_in(store, fixed_cell(**CELLS["a model swaps neighbours"])).result.upstream())
    run_all(store, stages[-1])

    def hits_of(kind: type[Stage[Hits]]) -> Hits:
        (stage,) = [stage for stage in stages if isinstance(stage, kind)]
        return read_or_make(stage, store)

    before, after = hits_of(SparseHits), hits_of(ReorderedHits)
    for old, new, scores in zip(before.chunk.tolist(), after.chunk.tolist(), after.score.tolist(), strict=True):
        found = [chunk for chunk in old if chunk >= 0]
        first, second, third = found[:3]
        assert new[: len(found)] == [third, first, second, *found[3:]]
        assert scores[: len(found)] == [-float(place) for place in range(len(found))]
        assert scores[len(found) :] == [-np.inf] * (len(old) - len(found))


def test_list_reranking_sweep_never_repeats_a_request(tmp_path: Path, options: list[str], server: ChatServer) -> None:
    (cell,) = plan_small(tmp_path, options).cells
    (stage,) = [stage for stage in cell.graph.result.upstream() if isinstance(stage, LLMHitOrders)]
    assert (stage.n_requests, stage.n_rounds) == (8, 2)
    assert run_small(tmp_path, options) == EXIT_OK
    assert len(server.requests) == 8
    (result,) = cells_in(tmp_path)
    assert result.judges["reranker"] == {
        "n_judged": 4, "n_unparsable": 0, "commonest": "", "n_failed": 0, "commonest_error": ""
    }  # fmt: skip
    assert result.tokens["reranker_prompt"] == 8 * 7
    assert run_small(tmp_path, [*options, "top_k=2"], [*options, "reranker.llm.concurrency=2"], sweep_id="again") == 0
    assert len(server.requests) == 8
    assert run_small(tmp_path, [*options, "reranker.depth=4"], sweep_id="other") == EXIT_OK
    assert len(server.requests) == 12, "other windows"


def test_failed_rerank_requests_fail_the_cell_and_are_sent_again(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    questions: list[str] = []

    def fails_on_the_first_question(request: dict[str, Any], attempt: int) -> Reply:
        question = last_message(request).splitlines()[1]
        questions.append(question)
        return Reply(status=400) if question == questions[0] else shortest_first(request)

    server.script = fails_on_the_first_question
    assert run_small(tmp_path, options) == EXIT_CELL_FAILED
    (failed,) = cells_in(tmp_path)
    reason = "1 of 4 orders of the reranker failed, more than run.max_failure_rate=0 allows (most often: m at 127"
    assert failed.reason.startswith(reason)
    assert len(server.requests) == 7, "after the failed one no other about the same question"
    server.script = shortest_first
    assert run_small(tmp_path, options, sweep_id="again") == EXIT_OK
    assert len(server.requests) == 7 + 2
    (mended,) = cells_in(tmp_path, "again")
    with chat_server(shortest_first) as other:
        own = [option.replace(server.url, other.url) for option in options]
        assert run_small(tmp_path / "at_once", own) == EXIT_OK
    (at_once,) = cells_in(tmp_path / "at_once")
    assert mended.metrics == at_once.metrics


def test_unreadable_rerank_orders_are_counted_and_fail_the_cell(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    server.script = lambda request, attempt: Reply("They are all good.")
    assert run_small(tmp_path, options) == EXIT_CELL_FAILED
    (cell,) = cells_in(tmp_path)
    assert cell.reason.startswith("4 of 4 orders of the reranker could not be read, more than run.max_unparsable_rate")
    assert len(server.requests) == 4 * 2 * 3
    assert cell.value("ndcg@10") is not None
    assert run_small(tmp_path, ["llm=none", "dataset.limit=4", *RANKING_ONLY], sweep_id="plain") == EXIT_OK
    (plain,) = cells_in(tmp_path, "plain")
    assert plain.metrics["overall"]["ndcg@10"] == cell.metrics["overall"]["ndcg@10"], "the old order is kept"
