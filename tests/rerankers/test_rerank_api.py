"""Any server with an endpoint /rerank, on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.errors import ComponentError
from components.rerankers.rerank_api import RequestForm, RerankApi
from tests.contracts.reranker_contract import CHUNKS, PAIRS, QUERIES, RerankerContract
from tests.llms.chat_server import ChatServer, Reply, chat_server
from tests.rerankers.pretrained import scores_of
from tests.runner.sweeping import RANKING_ONLY, cells_in, run_small


def score_of(query: str, chunk: str) -> float:
    """The share of the query's characters that the chunk has."""
    return sum(character in chunk for character in query) / len(query)


def reranked(request: dict[str, Any]) -> list[tuple[int, float]]:
    """(index, score), best first, as servers send them."""
    chunks = request.get("documents") or request["texts"]
    scores = [score_of(request["query"], chunk) for chunk in chunks]
    return sorted(enumerate(scores), key=lambda item: -item[1])


def as_jina(request: dict[str, Any], attempt: int = 1) -> Reply:
    results = [{"index": index, "relevance_score": score} for index, score in reranked(request)]
    return Reply(body=json.dumps({"model": "m", "results": results[: request["top_n"]]}).encode())


def as_tei(request: dict[str, Any], attempt: int = 1) -> Reply:
    return Reply(body=json.dumps([{"index": index, "score": score} for index, score in reranked(request)]).encode())


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server(as_jina) as running:
        yield running


def reranker_at(url: str, **fields: Any) -> RerankApi:
    return RerankApi(**{"model": "m", "base_url": url, "backoff_s": 0.0, **fields})


class TestContract(RerankerContract):
    component = RerankApi("m", base_url="http://localhost:1")

    @pytest.fixture(autouse=True)
    def _served(self, server: ChatServer) -> None:
        self.component = reranker_at(server.url, batch_size=2)


def test_rerank_api_request_holds_chunks_of_one_query() -> None:
    with chat_server(as_jina) as server:
        scores = TestContract.score(
            _make_contract(reranker_at(server.url, batch_size=3)), np.concatenate([PAIRS, PAIRS])
        )
    n_written = sum(bool(chunk) for chunk in CHUNKS)
    assert len(server.requests) == sum(bool(query) for query in QUERIES) * -(-n_written // 3)
    assert all(request["model"] == "m" and request["top_n"] == len(request["documents"]) for request in server.requests)
    sent = [(request["query"], chunk) for request in server.requests for chunk in request["documents"]]
    assert len(sent) == len(set(sent)), "equal pairs once"
    for (query, chunk), score in zip(np.concatenate([PAIRS, PAIRS]).tolist(), scores.tolist(), strict=True):
        if QUERIES[query] and CHUNKS[chunk]:
            assert score == pytest.approx(score_of(QUERIES[query], CHUNKS[chunk]))


def _make_contract(component: RerankApi) -> TestContract:
    contract = TestContract()
    contract.component = component
    return contract


def test_tei_request_form_sends_query_and_texts() -> None:
    with chat_server(as_tei) as server:
        scores = scores_of(reranker_at(server.url, form=RequestForm.TEXTS), [("西湖", "西湖在杭州"), ("西湖", "北京")])
    assert scores.tolist() == [1.0, 0.0]
    (request,) = server.requests
    assert sorted(request) == ["query", "texts", "truncate"]


def test_rerank_api_skips_blank_texts_and_ranks_them_last(server: ChatServer) -> None:
    before = len(server.requests)
    blank, other, written = scores_of(reranker_at(server.url), [("西湖", " "), ("西湖", "北京"), ("西湖", "西湖")])
    assert blank < other < written
    assert server.requests[before]["documents"] == ["北京", "西湖"]


def test_rerank_api_retries_temporary_failures() -> None:
    whole = [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": 0.25}]
    bad: dict[int, Any] = {
        2: {"results": whole[:1]},
        3: {"results": [whole[0], whole[0]]},
        4: {"results": [whole[0], {"index": 1}]},
        5: {"results": [whole[0], {"index": 1, "relevance_score": None}]},
        6: {"results": "none"},
        7: ["?"],
        8: {"results": [{"relevance_score": 0.5}, {"relevance_score": 0.25}]},
    }

    def script(request: dict[str, Any], attempt: int) -> Reply:
        if attempt == 1:
            return Reply(status=503)
        return Reply(body=json.dumps(bad.get(attempt, {"results": whole})).encode())

    with chat_server(script) as server:
        scores = scores_of(reranker_at(server.url, max_retries=9), [("q", "a"), ("q", "b")])
    assert scores.tolist() == [0.5, 0.25]
    assert len(server.requests) == 2 + len(bad)


def test_rerank_api_reports_a_permanently_failing_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "jina-secret")
    refused = Reply(status=422, body=b'{"detail": "jina-secret: unknown model"}')
    with chat_server(lambda request, attempt: refused) as server:
        with pytest.raises(ComponentError, match=r"RerankApi: m at 127.*: HTTP 422: \*\*\*: unknown model") as raised:
            scores_of(reranker_at(server.url, api_key_env="A_KEY"), [("q", "a")])
        assert "secret" not in str(raised.value)
        assert server.keys == ["Bearer jina-secret"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"model": " "}, "model: is empty"),
        ({"base_url": ""}, "base_url: is empty, expected the address before /rerank"),
        ({"depth": 0}, "depth: got 0"),
        ({"batch_size": 0}, "batch_size: got 0"),
        ({"api_key_env": "NOT_SET_ANYWHERE"}, "api_key_env: the environment variable NOT_SET_ANYWHERE is not set"),
    ],
)
def test_rerank_api_rejects_invalid_settings(fields: dict[str, Any], problem: str) -> None:
    (found,) = RerankApi(**{"model": "m", "base_url": "http://localhost:1", **fields}).check()
    assert found.startswith(problem)


def test_rerank_api_sweep_sends_only_new_pairs(tmp_path: Path) -> None:
    own = ["reranker=rerank_api", "reranker.model=m", "llm=none", *RANKING_ONLY]
    with chat_server(as_jina) as server:
        address = f"reranker.base_url={server.url}"
        assert run_small(tmp_path, [*own, address, "reranker.depth=3"], [*own, address, "reranker.depth=5"]) == 0
        sent = [(request["query"], chunk) for request in server.requests for chunk in request["documents"]]
    assert len(sent) == len(set(sent))
    assert all(cell.value("ndcg@10") is not None for cell in cells_in(tmp_path))
    away = "reranker.base_url=http://127.0.0.1:1"
    assert run_small(tmp_path, [*own, away, "reranker.depth=4"], sweep_id="again") == 0, "kept scores are enough"
