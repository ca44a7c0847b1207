"""Query engines of LlamaIndex as pipelines: inputs, outputs and failures."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.errors import ComponentError
from components.pipelines.llama_index import LlamaIndexPipeline
from components.pipelines.pipeline_reply import PipelineReply, parse_stored_replies
from components.records import Answer, AnswerState, ErrorClass
from components.user_code.returned_passages import ReportedPassage
from tests.contracts.pipeline_contract import PipelineContract, make_request
from tests.extras import skip_without

skip_without("llama_index", extra="llama-index")

CODE = """
import threading

from llama_index.core.base.response.schema import Response
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

never = threading.Event()
NAME = "no engine"


class Finds(BaseRetriever):
    def __init__(self, k=2):
        super().__init__()
        self.k = k

    def _retrieve(self, query):
        lake = TextNode(
            text="The lake is in the west.",
            start_char_idx=12,
            metadata={"file_name": "lakes.txt"},
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="lakes")},
        )
        return [NodeWithScore(node=node, score=0.5) for node in (lake, TextNode(text="A river."))][: self.k]


class Custom(CustomQueryEngine):
    def custom_query(self, query_str):
        if query_str == "raise":
            raise ValueError("no luck")
        if query_str == "hang":
            never.wait(60)
        if query_str == "long":
            return "x" * 2_000_000
        return f"about {query_str}"


class Found(CustomQueryEngine):
    def custom_query(self, query_str):
        return Response(None, source_nodes=Finds(1).retrieve(query_str))


find = Finds()
engine = RetrieverQueryEngine.from_args(find, llm=MockLLM(max_tokens=3))
streaming = RetrieverQueryEngine.from_args(find, llm=MockLLM(max_tokens=3), streaming=True)
finds_nothing = RetrieverQueryEngine.from_args(Finds(0), llm=MockLLM())
custom = Custom()
found = Found()
chat = SimpleChatEngine.__new__(SimpleChatEngine)  # a built one opens a database


def built(top=1):
    return RetrieverQueryEngine.from_args(Finds(top), llm=MockLLM(max_tokens=3))


def built_wrong():
    return find


def broken():
    raise RuntimeError("no index")


async def asynchronous():
    return engine
"""


@pytest.fixture(autouse=True)
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "engine_of_tests.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("engine_of_tests", None)


def pipeline(name: str, **fields: Any) -> LlamaIndexPipeline:
    return LlamaIndexPipeline(engine=f"engine_of_tests:{name}", **{"parameters": {}, "timeout_s": 30.0, **fields})


def answered(component: LlamaIndexPipeline, question: str = "Where?") -> tuple[Answer, PipelineReply]:
    (answer,) = component.generate([make_request(question)])
    (reply,) = parse_stored_replies([answer])
    assert reply is not None, answer.error
    return answer, reply


FOUND = (ReportedPassage("The lake is in the west.", "lakes", "lakes.txt", 12), ReportedPassage("A river."))


class TestQueryEngine(PipelineContract):
    component = pipeline("engine")


class TestQueryEngineThatFails(PipelineContract):
    component = pipeline("custom", timeout_s=0.3)

    def test_query_engine_failures_are_reported_and_other_questions_answered(self) -> None:
        questions = [make_request(each) for each in ("raise", "one", "hang", "long", "two")]
        found = {answer.request_id: answer for answer in self.component.generate(questions)}
        assert {name for name, answer in found.items() if answer.state is AnswerState.OK} == {"one", "two"}
        assert {name: answer.error_class for name, answer in found.items() if answer.error} == {
            "raise": ErrorClass.OTHER,
            "hang": ErrorClass.TIMEOUT,
            "long": ErrorClass.MALFORMED,
        }


class TestOutputs:
    @pytest.mark.parametrize("name", ["engine", "streaming"])
    def test_llama_index_source_nodes_become_passages_with_hints(self, name: str) -> None:
        _, reply = answered(pipeline(name))
        assert reply.passages == FOUND
        assert reply.answer

    def test_query_engine_without_hits_returns_no_passages(self) -> None:
        assert answered(pipeline("finds_nothing"))[1].passages == ()

    def test_query_engine_without_nodes_has_unknown_passages(self) -> None:
        assert answered(pipeline("custom"))[1] == PipelineReply("about Where?", None)

    def test_llama_index_response_without_text_is_an_empty_answer(self) -> None:
        assert answered(pipeline("found"))[1] == PipelineReply("", FOUND[:1])

    def test_concurrent_query_engine_calls_keep_their_own_passages(self) -> None:
        answers = list(pipeline("engine", concurrency=4).generate([make_request(str(number)) for number in range(20)]))
        assert [reply and reply.passages for reply in parse_stored_replies(answers)] == [FOUND] * 20


class TestChecks:
    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("engine", ""),
            ("custom", ""),
            ("built", ""),
            ("absent", "which cannot be imported (AttributeError: "),
            ("NAME", "which is a str, expected a query engine, or a function that returns one"),
            ("Custom", "which is a ModelMetaclass, expected a query engine"),
            ("find", "which is a retriever and does not answer. Use it as retriever=llama_index"),
            ("chat", "which is a chat engine, whose memory all calls would share"),
            ("asynchronous", "which is asynchronous, expected a plain function"),
        ],
    )
    def test_llama_index_object_that_cannot_answer_is_one_error(self, name: str, problem: str) -> None:
        found = pipeline(name).check()
        expected = [f"engine: got 'engine_of_tests:{name}', {problem}"] if problem else []
        assert [each[: len(expected[0])] for each in found] == expected if expected else found == []

    def test_llama_index_parameters_are_passed_to_a_building_function(self) -> None:
        component = pipeline("built", parameters={"top": 2})
        assert component.check() == []
        assert answered(component)[1].passages == FOUND
        (found,) = pipeline("built", parameters={"k": 1}).check()
        assert "which cannot be called as built(k=...): got an unexpected keyword argument 'k'" in found
        (found,) = pipeline("engine", parameters={"k": 1}).check()
        assert "which has no parameters, got k, expected a function that takes them" in found

    @pytest.mark.parametrize(
        ("name", "part"), [("built_wrong", "an object which is a retriever"), ("broken", "RuntimeError: no index")]
    )
    def test_function_that_builds_no_engine_is_one_error(self, name: str, part: str) -> None:
        component = pipeline(name)
        assert component.check() == []
        with pytest.raises(ComponentError, match="engine_of_tests") as caught:
            list(component.generate([make_request("Where?")]))
        assert part in str(caught.value)
