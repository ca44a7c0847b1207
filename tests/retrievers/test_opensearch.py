"""Search in an index of OpenSearch or Elasticsearch, by requests to a stand-in."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.embedders.hashing import Hashing
from components.errors import ComponentError
from components.records import IndexedText
from components.retrievers.opensearch import SearchServer
from tests.retrievers.search_server import SearchIndex, search_server
from tests.retrievers.test_retrievers import RetrieverContract
from tests.runner.sweeping import FEW_METRICS, cells_in, compose_job, own_data, run_small

TEXTS = ("The bridge was opened in 1932.", "The red towers are high.", "The harbour is deep.")
VECTORS = np.eye(3, dtype=np.float32)
MATCH = '{"query": {"match": {"text": "{query}"}}, "size": "{top_k}"}'
KNN = (
    '{"knn": {"field": "embedding", "query_vector": "{vector}", "k": "{top_k}", "num_candidates": 9}, '
    '"size": "{top_k}"}'
)
OPENSEARCH_KNN = '{"query": {"knn": {"embedding": {"vector": "{vector}", "k": "{top_k}"}}}, "size": "{top_k}"}'
SECRET = "tester:s3cret-of-search"


@pytest.fixture
def index() -> Iterator[SearchIndex]:
    documents = {
        str(i): {"text": text, "embedding": VECTORS[i].tolist(), "metadata": {"source": "s"}}
        for i, text in enumerate(TEXTS)
    }
    with search_server(SearchIndex(documents)) as running:
        yield running


@pytest.fixture
def retriever(index: SearchIndex) -> SearchServer:
    own = {"revision": "1", "embedder": Hashing(), "text_field": "text", "document_field": "metadata.source"}
    return SearchServer(index="passages", request=MATCH, base_url=index.url, backoff_s=0.0, max_retries=2, **own)  # type: ignore[arg-type]


class TestSearchServer(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _component(self, retriever: SearchServer) -> None:
        self.component = retriever


def test_opensearch_word_query_finds_the_documents(retriever: SearchServer, index: SearchIndex) -> None:
    queries = ["red harbour", 'a "quoted" {top_k}', "bridge"]
    found = list(replace(retriever, concurrency=3).find(queries, None, 2))
    assert found[2] == [IndexedText(TEXTS[0], "0", "s")]
    assert [[hit.id for hit in own] for own in found] == [["1", "2"], [], ["0"]]
    assert {"query": {"match": {"text": queries[1]}}, "size": 2} in index.bodies


@pytest.mark.parametrize("request_", [KNN, OPENSEARCH_KNN])
def test_opensearch_vector_query_finds_the_nearest_passages(retriever: SearchServer, request_: str) -> None:
    by_vector = replace(retriever, request=request_)
    assert by_vector.reads_vectors
    found = list(by_vector.find(["a", "b"], VECTORS[1:], 1))
    assert [[hit.id for hit in own] for own in found] == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("scheme", "sent"),
    [
        ("Basic", f"Basic {b64encode(SECRET.encode()).decode()}"),
        ("ApiKey", f"ApiKey {SECRET}"),
        ("Bearer", f"Bearer {SECRET}"),
    ],
)
def test_opensearch_key_is_sent_by_its_scheme(
    retriever: SearchServer, index: SearchIndex, scheme: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_TEST_KEY", SECRET)
    index.authorization = sent
    keyed = replace(retriever, api_key_env="SEARCH_TEST_KEY", scheme=scheme)
    assert len(list(keyed.find(["bridge"], None, 1))) == 1
    index.authorization = "another"
    with pytest.raises(ComponentError, match="401") as error:
        list(keyed.find(["bridge"], None, 1))
    assert SECRET not in str(error.value)
    assert b64encode(SECRET.encode()).decode() not in str(error.value)


PARTIAL = {"hits": {"hits": []}, "timed_out": False, "_shards": {"total": 5, "failed": 2}}


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (PARTIAL, "2 of 5 shards failed, and the reply lacks their hits"),
        ({"hits": {"hits": []}, "timed_out": True}, "the search timed out on the server"),
        ({"hits": 3}, "the reply has no object `hits`"),
        ({"hits": {"hits": 3}}, "the reply has no list `hits.hits`"),
        ([], "the reply has no object `hits`"),
    ],
)
def test_incomplete_opensearch_reply_is_retried_then_an_error(
    retriever: SearchServer, index: SearchIndex, reply: Any, message: str
) -> None:
    index.replies = [(200, reply), (503, {"error": "busy"})]
    assert [hit.id for hit in next(iter(retriever.find(["bridge"], None, 1)))] == ["0"]
    index.replies = [(200, reply)] * 3
    with pytest.raises(ComponentError, match=message):
        list(retriever.find(["bridge"], None, 1))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"index": "other"}, "no such index [other]"),
        ({"text_field": "body"}, "retriever.text_field: a hit has no 'body'; its fields: embedding, metadata, text"),
        ({"text_field": "metadata"}, "retriever.text_field: got a JSON object in 'metadata', expected a string"),
        ({"base_url": "http://127.0.0.1:9"}, "give its address as retriever.base_url"),
    ],
)
def test_failed_opensearch_search_is_one_clear_error(
    retriever: SearchServer, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ComponentError) as error:
        list(replace(retriever, **fields).find(["bridge"], None, 1))
    assert message in str(error.value)


def test_opensearch_wrong_vector_dimension_names_the_embedder(retriever: SearchServer) -> None:
    with pytest.raises(ComponentError, match=r"Dimension should be: 3.*the embedder's vectors have 5 dimensions"):
        list(replace(retriever, request=KNN).find(["a"], np.zeros((1, 5), dtype=np.float32), 1))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"index": ""}, "index: is empty"),
        ({"request": MATCH[:-1]}, "request: is not JSON"),
        ({"request": MATCH.replace('"{query}"', '"a {query}"')}, "request: got 'a {query}', expected a placeholder"),
        ({"scheme": "Digest"}, "scheme: got 'Digest'"),
        ({"base_url": "http://user:word@host"}, "base_url: contains a user name or password"),
        ({"api_key_env": "NOT_SET_HERE"}, "api_key_env: the environment variable NOT_SET_HERE is not set"),
        ({"revision": ""}, "revision: is empty"),
    ],
)
def test_opensearch_rejects_invalid_settings(retriever: SearchServer, fields: dict[str, Any], message: str) -> None:
    (problem,) = replace(retriever, **fields).check()
    assert problem.startswith(message)


@pytest.mark.parametrize("option", ["opensearch", "elasticsearch"])
def test_opensearch_sweep_finds_the_gold(option: str, index: SearchIndex, tmp_path: Path) -> None:
    sample = {"id": "1", "question": "Is the harbour deep?", "references": ["deep"], "gold": [{"document": "c"}]}
    data = own_data(tmp_path, dict(zip("abc", TEXTS, strict=True)), [sample])
    cell = [*data, *FEW_METRICS, f"retriever={option}", "retriever.index=passages", "retriever.revision=1"]
    assert run_small(tmp_path, [*cell, f"retriever.base_url={index.url}", "language=en", "top_k=2"]) == 0
    (done,) = cells_in(tmp_path)
    assert done.value("ndcg@10") == 1.0


def test_documented_knn_requests_of_search_options_are_json() -> None:
    """The options' files contain the wordings as comments."""
    for option in ("opensearch", "elasticsearch"):
        text = (Path(__file__).parents[2] / f"conf/retriever/{option}.yaml").read_text(encoding="utf-8")
        (request,) = [
            line.removeprefix("# By vector: ") for line in text.splitlines() if line.startswith("# By vector")
        ]
        assert compose_job(f"retriever={option}") is not None
        assert "{vector}" in request
        assert request.replace("500", "9") in (KNN, OPENSEARCH_KNN)
