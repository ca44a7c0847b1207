"""Custom searches: a function, a retriever of LangChain or LlamaIndex, and an address."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.errors import ComponentError
from components.records import IndexedText
from components.retrievers.called import CalledRetriever
from components.retrievers.http import HttpRetriever
from components.retrievers.langchain import LangchainRetriever
from components.retrievers.llama_index import LlamaIndexRetriever
from components.retrievers.python import PythonRetriever
from tests.extras import skip_without
from tests.llms.chat_server import ChatServer, Reply, chat_server
from tests.retrievers.test_retrievers import RetrieverContract

CODE = """
import threading
import time

never = threading.Event()


def find(query):
    return [f"about {query}", {"text": "a river", "document_id": "rivers", "source": "rivers.txt"}]


def counted(query, top_k, mark="."):
    time.sleep(0.01 * (len(query) % 3))
    return [f"{query}{mark}{rank}" for rank in range(top_k + 3)]


def misbehaving(query):
    if query == "raise":
        raise ValueError("no luck")
    if query == "hang":
        never.wait(60)
    if query == "type":
        return "one text"
    if query == "hit":
        return ["fine", 7]
    if query == "long":
        return ["x" * 11_000_000]
    return []


def wrong(query, other):
    return []
"""
LANGCHAIN = """
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda


class Finds(BaseRetriever):
    k: int = 2

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(f"about {query}", metadata={"source": "a.txt"}), Document("a river")][: self.k]


retriever = Finds().configurable_fields(k=ConfigurableField(id="k"))
text = RunnableLambda(lambda query: "one text")


def built(k=1):
    return Finds(k=k)
"""
LLAMA_INDEX = """
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode


class Finds(BaseRetriever):
    def __init__(self, k=2):
        super().__init__()
        self.k = k

    def _retrieve(self, query):
        texts = (f"about {query.query_str}", "a river")
        return [NodeWithScore(node=TextNode(text=text, metadata={"source": "a.txt"})) for text in texts][: self.k]


class WithoutScores(BaseRetriever):
    def _retrieve(self, query):
        return ["a river"]


retriever = Finds()
engine = RetrieverQueryEngine.from_args(Finds(1), llm=MockLLM())
without_scores = WithoutScores()


def built(k=1):
    return Finds(k)
"""
MODULES = {"search_of_tests": CODE, "langchain_of_tests": LANGCHAIN, "llama_index_of_tests": LLAMA_INDEX}


@pytest.fixture(autouse=True)
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, code in MODULES.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


def function(name: str, **fields: Any) -> PythonRetriever:
    return PythonRetriever(call=f"search_of_tests:{name}", **{"parameters": {}, "timeout_s": 30.0, **fields})


def langchain(name: str, **fields: Any) -> LangchainRetriever:
    skip_without("langchain_core", extra="langchain")
    return LangchainRetriever(runnable=f"langchain_of_tests:{name}", **{"parameters": {}, **fields})


def llama_index(name: str, **fields: Any) -> LlamaIndexRetriever:
    skip_without("llama_index", extra="llama-index")
    return LlamaIndexRetriever(engine=f"llama_index_of_tests:{name}", **{"parameters": {}, **fields})


def texts(component: CalledRetriever | HttpRetriever, *queries: str, depth: int = 5) -> list[list[str]]:
    return [[hit.text for hit in hits] for hits in component.find(queries, None, depth)]


class TestPythonRetriever(RetrieverContract):
    component = function("find")


class TestFunction:
    def test_called_function_passages_become_hits_with_hints(self) -> None:
        (hits,) = function("find").find(["lakes"], None, 5)
        assert hits == [IndexedText("about lakes", "", ""), IndexedText("a river", "rivers.txt", "rivers")]

    def test_called_hits_follow_the_query_order_and_depth(self) -> None:
        component = function("counted", depth=2, concurrency=3, parameters={"mark": "/"})
        assert component.check() == []
        queries = ["abc"[: 1 + number % 3] * 2 + str(number) for number in range(9)]
        assert texts(component, *queries, depth=2) == [[f"{query}/0", f"{query}/1"] for query in queries]

    @pytest.mark.parametrize(
        ("query", "part"),
        [
            ("raise", "ValueError at search_of_tests:"),
            ("hang", "TimeoutError: no answer after 0.2 s (retriever.timeout_s)"),
            ("type", "passages: got 'one text' (str), expected a list"),
            ("hit", "passages[1]: got 7 (int)"),
            ("long", "passages: have 11,000,000 characters"),
        ],
    )
    def test_failed_function_search_is_one_error_with_its_query(self, query: str, part: str) -> None:
        component = function("misbehaving", timeout_s=0.2)
        with pytest.raises(ComponentError, match="query 2 of 3") as caught:
            texts(component, "one", query, "two")
        assert str(caught.value).startswith("retriever=python: search_of_tests:misbehaving: ")
        assert part in str(caught.value)

    def test_function_retriever_rejects_an_uncallable_function(self) -> None:
        (found,) = function("wrong").check()
        assert "which cannot be called as wrong(query): missing a required argument: 'other'" in found
        (found,) = function("counted", parameters={"top_k": 3}).check()
        assert "`top_k` is set by the sweep. Remove it from retriever.parameters." in found
        (found,) = function("absent").check()
        assert "which cannot be imported" in found
        (found,) = function("find", depth=0).check()
        assert found.startswith("depth: ")


class TestLangchain:
    def test_langchain_documents_become_hits(self) -> None:
        component = langchain("retriever")
        assert component.check() == []
        (hits,) = component.find(["lakes"], None, 5)
        assert hits == [IndexedText("about lakes", "a.txt", ""), IndexedText("a river", "", "")]

    def test_langchain_retriever_parameters_configure_or_build_it(self) -> None:
        for name in ("retriever", "built"):
            component = langchain(name, parameters={"k": 1})
            assert component.check() == []
            assert texts(component, "lakes") == [["about lakes"]]

    def test_malformed_langchain_output_is_an_error(self) -> None:
        with pytest.raises(ComponentError, match="got 'one text'"):
            texts(langchain("text"), "lakes")


class TestLlamaIndex:
    def test_llama_index_nodes_become_hits(self) -> None:
        component = llama_index("retriever")
        assert component.check() == []
        (hits,) = component.find(["lakes"], None, 5)
        assert hits == [IndexedText("about lakes", "a.txt", ""), IndexedText("a river", "a.txt", "")]

    def test_llama_index_query_engine_and_function_retrieve(self) -> None:
        for component in (llama_index("engine"), llama_index("built", parameters={"k": 1})):
            assert component.check() == []
            assert texts(component, "lakes") == [["about lakes"]]

    def test_malformed_llama_index_output_is_an_error(self) -> None:
        with pytest.raises(ComponentError, match="AttributeError"):
            texts(llama_index("without_scores"), "lakes")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request, attempt: body([f"about {request['query']}", "a river"])) as server:
        yield server


def body(value: Any) -> Reply:
    return Reply(body=json.dumps(value).encode())


def address(server: ChatServer, **fields: Any) -> HttpRetriever:
    fields = {"revision": "1", "parameters": {}, "backoff_s": 0.0, "max_retries": 1, **fields}
    return HttpRetriever(url=f"{server.url}/search", **fields)


class TestHttpRetriever(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _component(self, server: ChatServer) -> None:
        self.component = address(server)


class TestHttp:
    def test_http_retriever_sends_query_number_and_parameters(self, server: ChatServer) -> None:
        assert texts(address(server, parameters={"fuzzy": True}), "lakes", depth=1) == [["about lakes"]]
        assert server.requests == [{"query": "lakes", "top_k": 1, "parameters": {"fuzzy": True}}]

    def test_http_retriever_reads_passages_in_an_object(self, server: ChatServer) -> None:
        server.script = lambda request, attempt: body({"passages": [{"text": "a river"}]})
        assert texts(address(server), "lakes") == [["a river"]]

    def test_malformed_http_retriever_reply_is_retried_then_an_error(self, server: ChatServer) -> None:
        server.script = lambda request, attempt: body({"hits": []})
        with pytest.raises(ComponentError, match=r"retriever=http: .*passages: got None"):
            texts(address(server), "lakes")
        assert len(server.requests) == 2

    def test_missing_retriever_server_error_suggests_starting_it(self) -> None:
        silent = HttpRetriever(url="http://127.0.0.1:9/search", revision="1", parameters={}, max_retries=0)
        with pytest.raises(ComponentError, match="start the search, or give its address"):
            texts(silent, "lakes")

    def test_http_retriever_requires_address_and_revision(self) -> None:
        found = HttpRetriever(url="", revision=" ", parameters={}).check()
        assert [each.split(":")[0] for each in found] == ["url", "revision"]
