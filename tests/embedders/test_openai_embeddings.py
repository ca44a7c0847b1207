"""Any server that speaks OpenAI's embeddings API, on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.embedders.hashing import Hashing
from components.embedders.openai_embeddings import OpenAIEmbeddings
from components.errors import ComponentError
from components.records import Passages
from runner.engine.identity import describe
from tests.contracts.embedder_contract import CORPUS, EmbedderContract
from tests.llms.chat_server import ChatServer, Reply, chat_server
from tests.runner.sweeping import FEW_METRICS, cells_in, run_small

N_DIMENSIONS = 32


def vectors_of(texts: list[str]) -> list[list[float]]:
    """Hashed letters, three times as long as the embedder makes them."""
    vectors: NDArray[np.float32] = Hashing(N_DIMENSIONS, 1).embed_chunks(Passages(texts), {})
    return (3 * vectors).tolist()  # type: ignore[no-any-return]


def embeddings(vectors: list[list[float]], **fields: Any) -> Reply:
    """The body of the API's reply, in the reverse order."""
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    body = {"object": "list", "model": "m", "data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return Reply(body=json.dumps({**body, **fields}).encode())


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request, attempt: embeddings(vectors_of(request["input"]))) as running:
        yield running


def embedder_at(url: str, **fields: Any) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(**{"model": "m", "base_url": url, "api_key_env": "", "backoff_s": 0.0, **fields})


class TestContract(EmbedderContract):
    component = OpenAIEmbeddings("m")

    @pytest.fixture(autouse=True)
    def served(self, server: ChatServer) -> None:
        self.component = embedder_at(server.url, batch_size=3)


def test_embedding_requests_contain_batches_prefixes_and_dimensions() -> None:
    with chat_server(lambda request, attempt: embeddings(vectors_of(request["input"]))) as server:
        prefixes = {"query_prefix": "query: ", "passage_prefix": "passage: "}
        embedder = embedder_at(server.url, batch_size=2, dimensions=8, **prefixes)
        state = {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)}
        embedder.embed_chunks(Passages(["a", "", "b", "c", " "]), state)
        embedder.embed_queries(Passages(["q"]), state)
    sent = [request["input"] for request in server.requests]
    assert sorted(sent[:2]) == [["passage: a", "passage: b"], ["passage: c"]]
    assert sent[2] == ["query: q"]
    assert {(r["model"], r["dimensions"], r["encoding_format"]) for r in server.requests} == {("m", 8, "float")}


def test_embedding_requests_are_retried_after_temporary_failures() -> None:
    def script(request: dict[str, Any], attempt: int) -> Reply:
        bad = {
            1: Reply(status=503),
            2: embeddings(vectors_of(request["input"])[:-1]),
            3: Reply(body=b'{"data": [{"index": 0, "embedding": "?"}]}'),
            4: Reply(body=b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]}'),
            5: Reply(
                body=b'{"data": [{"index": 0, "embedding": [1%s]}, {"index": 1, "embedding": [1]}]}' % (b"0" * 400)
            ),
        }
        return bad.get(attempt) or embeddings(vectors_of(request["input"]))

    with chat_server(script) as server:
        state = {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)}
        vectors = embedder_at(server.url).embed_chunks(Passages(["好", "雨"]), state)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
        assert len(server.requests) == 6


@pytest.mark.parametrize(
    "message",
    [
        "Value 'float' supplied for argument 'encoding_format' is not valid",
        [{"type": "extra_forbidden", "loc": ["body"], "msg": "Extra inputs are not permitted"}],
    ],
    ids=["voyage", "jina"],
)
def test_server_that_refuses_the_encoding_gets_none(message: Any) -> None:
    refused = Reply(status=400, body=json.dumps({"detail": message}).encode())

    def script(request: dict[str, Any], attempt: int) -> Reply:
        return refused if "encoding_format" in request else embeddings(vectors_of(request["input"]))

    with chat_server(script) as server:
        state = {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)}
        embedder = embedder_at(server.url, batch_size=1, concurrency=1, max_retries=0)
        assert embedder.embed_chunks(Passages(["好", "雨", "雪"]), state).shape == (3, N_DIMENSIONS)
        assert embedder.embed_queries(Passages(["风"]), state).shape == (1, N_DIMENSIONS)
    assert ["encoding_format" in request for request in server.requests] == [True, False, False, False, False]


def test_refused_encoding_format_is_remembered_per_model_of_a_server() -> None:
    def script(request: dict[str, Any], attempt: int) -> Reply:
        if ("encoding_format" in request) == (request["model"] == "voyage"):
            return Reply(status=400, body=b'{"error": {"message": "encoding_format: Input should be float"}}')
        return embeddings(vectors_of(request["input"]))

    with chat_server(script) as router:
        state = {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)}
        for model in ("voyage", "hosted_vllm"):
            embedder = embedder_at(router.url, model=model, max_retries=0)
            assert embedder.embed_chunks(Passages(["好"]), state).shape == (1, N_DIMENSIONS)


def test_embeddings_without_any_index_are_in_order() -> None:
    def script(request: dict[str, Any], attempt: int) -> Reply:
        vectors = [{"embedding": vector} for vector in vectors_of(request["input"])]
        return Reply(body=json.dumps({"data": vectors}).encode())

    with chat_server(script) as server:
        state = {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)}
        embedder = embedder_at(server.url)
        vectors = embedder.embed_chunks(Passages(["好", "雨"]), state)
    expected = np.array(vectors_of([f"{embedder.passage_prefix}{text}" for text in "好雨"]))
    assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-6)


def test_missing_index_counts_as_zero() -> None:
    """Gemini omits an index of 0, at any position of the item."""

    def script(request: dict[str, Any], attempt: int) -> Reply:
        vectors = vectors_of(request["input"])
        data = [{"embedding": vectors[0]}, *({"index": i, "embedding": v} for i, v in enumerate(vectors) if i)]
        return Reply(body=json.dumps({"data": data[1:] + data[:1]}).encode())

    with chat_server(script) as server:
        state = {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)}
        embedder = embedder_at(server.url)
        vectors = embedder.embed_chunks(Passages(["好", "雨", "雪"]), state)
        assert len(server.requests) == 1
    expected = np.array(vectors_of([f"{embedder.passage_prefix}{text}" for text in "好雨雪"]))
    assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-6)


def test_refused_embedding_request_is_an_error_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-secret")
    refused = Reply(status=400, body=b'{"error": {"message": "sk-secret: input is too long for this model"}}')
    with chat_server(lambda request, attempt: refused) as server:
        with pytest.raises(ComponentError, match=r"m at 127.*: HTTP 400: \*\*\*: input is too long") as raised:
            embedder_at(server.url, api_key_env="A_KEY").fit(Passages([]))
        assert "sk-secret" not in str(raised.value)
        assert server.keys == ["Bearer sk-secret"]


def test_embedding_server_with_another_dimension_is_an_error() -> None:
    with chat_server(lambda request, attempt: embeddings([[1.0] * 5 for _ in request["input"]])) as server:
        state = {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)}
        with pytest.raises(ComponentError, match="vectors of 5 dimensions, expected 32"):
            embedder_at(server.url).embed_queries(Passages(["q"]), state)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"model": " "}, "model: is empty"),
        ({"batch_size": 0}, "batch_size: got 0"),
        ({"dimensions": 0}, "dimensions: got 0"),
        ({"base_url": "localhost"}, "base_url: got"),
        ({"api_key_env": "NOT_SET_ANYWHERE"}, "api_key_env: the environment variable NOT_SET_ANYWHERE is not set"),
        ({"concurrency": 0}, "concurrency: got 0"),
        (
            {"query_body": {"model": "x", "input_type": "query"}},
            "query_body: contains ['model'], which other fields set",
        ),
        ({"extra_body": {"dimensions": 8}}, "extra_body: contains ['dimensions']"),
    ],
)
def test_openai_embeddings_reject_invalid_settings(fields: dict[str, Any], problem: str) -> None:
    (found,) = OpenAIEmbeddings(**{"model": "m", "api_key_env": "", **fields}).check()
    assert found.startswith(problem)


def test_repeated_embedding_sweep_needs_no_server(tmp_path: Path) -> None:
    with chat_server(lambda request, attempt: embeddings(vectors_of(request["input"]))) as server:
        own = ["retriever=dense", "embedder=openai", "embedder.model=m", "embedder.api_key_env=''", "llm=none"]
        own += FEW_METRICS
        assert run_small(tmp_path, [*own, f"embedder.base_url={server.url}"]) == 0
    (cell,) = cells_in(tmp_path)
    assert 0 < (cell.value("ndcg@10") or 0) <= 1
    assert run_small(tmp_path, [*own, "top_k=2", "embedder.base_url=http://127.0.0.1:1/v1"], sweep_id="again") == 0
    (again,) = cells_in(tmp_path, "again")
    assert again.reused["vectors"]
    assert again.value("ndcg@10") == cell.value("ndcg@10")


def test_contract_corpus_is_embedded_in_several_requests(server: ChatServer) -> None:
    before = len(server.requests)
    embedder = embedder_at(server.url, batch_size=3)
    embedder.embed_chunks(Passages(CORPUS), {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)})
    assert len(server.requests) - before == 2


def by_side(request: dict[str, Any], attempt: int) -> Reply:
    """Vectors that differ for queries and chunks, as in asymmetric models."""
    side = f"{request.get('input_type', '')} {request['model']}"
    return embeddings(vectors_of([f"{side} {text}" for text in request["input"]]))


STATE = {"dimensions": np.array([N_DIMENSIONS], dtype=np.float32)}


@pytest.mark.parametrize(
    "fields",
    [
        {"query_body": {"input_type": "query"}, "passage_body": {"input_type": "passage"}},
        {"query_body": {"input_type": "query"}},
        {"extra_body": {"input_type": "passage"}, "query_body": {"input_type": "query"}},
        {"query_model": "m-query", "passage_model": "m-passage"},
        {"query_model": "m-query"},
    ],
    ids=str,
)
def test_query_and_passage_sides_have_separate_parameters_and_model(fields: dict[str, Any]) -> None:
    with chat_server(by_side) as server:
        embedder = embedder_at(server.url, **fields)
        queries, chunks = [f(Passages(["a text"]), STATE) for f in (embedder.embed_queries, embedder.embed_chunks)]
        plain = embedder_at(server.url)
        alike = [f(Passages(["a text"]), STATE) for f in (plain.embed_queries, plain.embed_chunks)]
    assert not np.allclose(queries, chunks)
    assert np.array_equal(*alike)


def test_query_parameters_override_common_parameters() -> None:
    with chat_server(by_side) as server:
        own = {"extra_body": {"truncate": "END", "input_type": "passage"}, "query_body": {"input_type": "query"}}
        embedder = embedder_at(server.url, **own)
        embedder.embed_queries(Passages(["q"]), STATE)
        embedder.fit(Passages([]))
    assert [(sent["truncate"], sent["input_type"]) for sent in server.requests] == [
        ("END", "query"),
        ("END", "passage"),
    ]


def test_openai_embeddings_key_omits_unset_optional_fields() -> None:
    plain = OpenAIEmbeddings("m")
    names = {name.removeprefix("field ") for name in describe(plain) if name.startswith("field ")}
    assert names == {"model", "dimensions", "query_prefix", "passage_prefix"}
    body = {"input_type": "query"}
    others: list[dict[str, Any]] = [{"extra_body": body}, {"query_body": body}, {"passage_body": body}]
    others += [{"query_model": "q"}, {"passage_model": "p"}]
    described = [json.dumps(describe(OpenAIEmbeddings("m", **fields))) for fields in [{}, *others]]
    assert len(set(described)) == len(described)
    assert hash(OpenAIEmbeddings("m", query_body=body)) == hash(OpenAIEmbeddings("m", query_body=dict(body)))


def test_asymmetric_embedding_model_runs_in_a_sweep(tmp_path: Path) -> None:
    own = [
        "retriever=dense",
        "embedder=openai",
        "embedder.model=m",
        "embedder.api_key_env=''",
        "llm=none",
        *FEW_METRICS,
    ]
    sides = ["embedder.query_body={input_type: query}", "embedder.passage_body={input_type: passage}"]
    with chat_server(by_side) as server:
        own.append(f"embedder.base_url={server.url}")
        assert run_small(tmp_path, own, [*own, *sides]) == 0
        sent = {request.get("input_type") for request in server.requests}
    assert sent == {None, "query", "passage"}
    plain, asymmetric = cells_in(tmp_path)
    assert not asymmetric.reused["vectors"]
    assert plain.cell_id != asymmetric.cell_id
