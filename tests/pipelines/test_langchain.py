"""Chains of LangChain as pipelines: inputs, outputs and failures."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.errors import ComponentError
from components.pipelines.langchain import LangchainPipeline
from components.pipelines.pipeline_reply import PipelineReply, parse_stored_replies
from components.records import Answer, AnswerState, ErrorClass, Turn
from components.user_code.returned_passages import ReportedPassage
from tests.contracts.pipeline_contract import PipelineContract, make_request
from tests.extras import skip_without

skip_without("langchain_core", extra="langchain")

CODE = """
import threading

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from pydantic import BaseModel

never = threading.Event()
USED = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
NAME = "no chain"


class Finds(BaseRetriever):
    k: int = 2

    def _get_relevant_documents(self, query, *, run_manager):
        known = {"document_id": "lakes", "source": "lakes.txt", "start_index": 12, "page": 3}
        return [Document("The lake is in the west.", metadata=known), Document("A river.")][: self.k]


class Outer(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return Finds().invoke(query, config={"callbacks": run_manager.get_child()})[:1]


class Structured(BaseModel):
    answer: str
    context: list[str]


def says(*texts, usage=USED):
    def messages():
        while True:
            yield from (AIMessage(text, usage_metadata=usage) for text in texts)

    return GenericFakeChatModel(messages=messages())


def joined(documents):
    return " ".join(document.page_content for document in documents)


find = Finds()
prompt = ChatPromptTemplate.from_template("{context} {question}")
text = {"context": find | joined, "question": RunnablePassthrough()} | prompt | says("west") | StrOutputParser()
nested = {"context": Outer() | joined, "question": RunnablePassthrough()} | prompt | says("west")
untold = {"context": find | joined, "question": RunnablePassthrough()} | prompt | says("west", usage=None)
talk = ChatPromptTemplate.from_messages([MessagesPlaceholder("chat_history", optional=True), ("human", "{input}")])
documents = RunnablePassthrough.assign(context=(lambda given: given["input"]) | find).assign(
    answer=talk | RunnableLambda(lambda prompt: " / ".join(message.content for message in prompt.messages))
)
twice = {"context": find, "question": RunnablePassthrough()} | RunnableLambda(
    lambda given: {"result": says("a").invoke("x"), "source_documents": given["context"][:1]}
)
structured = RunnableLambda(lambda question: Structured(answer=question, context=["one"]))
nothing = RunnableLambda(lambda question: {"answer": question, "context": []})
no_passages = RunnableLambda(lambda question: {"answer": question, "context": "a text of passages"})
other_names = RunnableLambda(lambda question: {"reply": question})
number = RunnableLambda(lambda question: 7)
lacking = prompt | says("never")
blocks = RunnableLambda(lambda question: AIMessage([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]))


def one_variable():
    return ChatPromptTemplate.from_template("{anything}") | RunnableLambda(lambda prompt: prompt.messages[0].content)


def agent_answers(state: dict) -> dict:
    return {"messages": [*state["messages"], AIMessage(f"{len(state['messages'])} messages")]}


agent = RunnableLambda(agent_answers)
tuned = RunnableLambda(lambda question: question) | Finds().configurable_fields(k=ConfigurableField(id="k")) | joined


def built(mark="!", times=1):
    return RunnableLambda(lambda question: question + mark * times)


def built_wrong():
    return "no chain"


def broken():
    raise RuntimeError("no index")


async def asynchronous(question):
    return question


only_asynchronous = RunnableLambda(asynchronous)


@RunnableLambda
def misbehaving(question):
    if question == "raise":
        raise ValueError("no luck")
    if question == "hang":
        never.wait(60)
    return {"answer": question, "context": [Document("x" * 2_000_000)] if question == "long" else []}


most, now, lock = [0], [0], threading.Lock()


@RunnableLambda
def meeting(question):
    with lock:
        now[0] += 1
        most[0] = max(most[0], now[0])
    never.wait(0.05)
    with lock:
        now[0] -= 1
    return {"answer": question, "context": find.invoke(question)}
"""


@pytest.fixture(autouse=True)
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "chain_of_tests.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("chain_of_tests", None)


def pipeline(name: str, **fields: Any) -> LangchainPipeline:
    return LangchainPipeline(runnable=f"chain_of_tests:{name}", **{"parameters": {}, "timeout_s": 30.0, **fields})


def answered(component: LangchainPipeline, question: str = "Where?", *history: Turn) -> tuple[Answer, PipelineReply]:
    (answer,) = component.generate([make_request(question, *history)])
    (reply,) = parse_stored_replies([answer])
    assert reply is not None, answer.error
    return answer, reply


FOUND = (ReportedPassage("The lake is in the west.", "lakes", "lakes.txt", 12), ReportedPassage("A river."))


class TestChain(PipelineContract):
    component = pipeline("text")


class TestChainThatFails(PipelineContract):
    component = pipeline("misbehaving", timeout_s=0.3)

    def test_langchain_failures_are_reported_and_other_questions_answered(self) -> None:
        questions = [make_request(each) for each in ("raise", "one", "hang", "long", "two")]
        found = {answer.request_id: answer for answer in self.component.generate(questions)}
        assert {name for name, answer in found.items() if answer.state is AnswerState.OK} == {"one", "two", "long"}
        line = next(number for number, text in enumerate(CODE.splitlines(), 1) if "no luck" in text)
        assert (found["raise"].error_class, found["raise"].error) == (
            ErrorClass.OTHER,
            f"chain_of_tests:misbehaving: ValueError at chain_of_tests:{line}: no luck",
        )
        assert found["hang"].error_class is ErrorClass.TIMEOUT


class TestOutputs:
    def test_langchain_output_documents_become_passages_with_hints(self) -> None:
        _, reply = answered(pipeline("documents"))
        assert reply == PipelineReply("Where?", FOUND)

    def test_text_answer_has_the_retrieved_documents_and_the_model_tokens(self) -> None:
        answer, reply = answered(pipeline("text"))
        assert reply == PipelineReply("west", FOUND)
        assert (answer.n_prompt_tokens, answer.n_completion_tokens) == (7, 2)

    def test_nested_retrieval_is_counted_once(self) -> None:
        _, reply = answered(pipeline("nested"))
        assert reply == PipelineReply("west", FOUND[:1])

    def test_langchain_tokens_without_a_report_are_unknown(self) -> None:
        answer, _ = answered(pipeline("untold"))
        assert answer.n_prompt_tokens is answer.n_completion_tokens is None

    def test_explicit_output_documents_override_retrieved_documents(self) -> None:
        _, reply = answered(pipeline("twice"))
        assert reply == PipelineReply("a", FOUND[:1])

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("structured", PipelineReply("Where?", (ReportedPassage("one"),))),
            ("nothing", PipelineReply("Where?", ())),
            ("no_passages", PipelineReply("Where?", None)),
            ("blocks", PipelineReply("one two", None)),
        ],
    )
    def test_unusual_langchain_outputs_are_read(self, name: str, expected: PipelineReply) -> None:
        assert answered(pipeline(name))[1] == expected

    @pytest.mark.parametrize(
        ("name", "part"),
        [("other_names", "the output has reply, expected one of answer, result, output"), ("number", "answer: got 7")],
    )
    def test_langchain_output_without_an_answer_is_malformed(self, name: str, part: str) -> None:
        (answer,) = pipeline(name).generate([make_request("Where?")])
        assert answer.error_class is ErrorClass.MALFORMED
        assert part in answer.error

    def test_asynchronous_chain_is_a_failed_request(self) -> None:
        (answer,) = pipeline("only_asynchronous").generate([make_request("Where?")])
        assert "Cannot invoke a coroutine function synchronously" in answer.error


class TestInputs:
    def test_langchain_pipeline_receives_history_as_messages(self) -> None:
        _, reply = answered(pipeline("documents"), "And?", Turn("Who?", "I."))
        assert reply.answer == "Who? / I. / And?"

    def test_langchain_agent_receives_the_conversation_as_messages(self) -> None:
        component = pipeline("agent", question_key="messages")
        assert component.check() == []
        assert answered(component, "And?", Turn("Who?", "I."))[1].answer == "3 messages"

    def test_single_langchain_input_variable_is_the_question(self) -> None:
        assert answered(pipeline("one_variable"))[1].answer == "Where?"

    def test_concurrent_langchain_calls_keep_their_own_documents(self) -> None:
        component = pipeline("meeting", concurrency=4)
        questions = [make_request(str(number)) for number in range(20)]
        answers = list(component.generate(questions))
        replies = parse_stored_replies(answers)
        assert [reply and (reply.answer, reply.passages) for reply in replies] == [
            (answer.request_id, FOUND) for answer in answers
        ]
        assert 2 <= sys.modules["chain_of_tests"].most[0] <= 4


class TestParameters:
    def test_langchain_parameters_configure_a_runnable(self) -> None:
        component = pipeline("tuned", parameters={"k": 1})
        assert component.check() == []
        assert answered(component)[1] == PipelineReply("The lake is in the west.", FOUND[:1])

    def test_langchain_parameters_are_passed_to_a_building_function(self) -> None:
        component = pipeline("built", parameters={"mark": "?", "times": 2})
        assert component.check() == []
        assert answered(component)[1].answer == "Where???"

    def test_unknown_langchain_parameter_is_one_error(self) -> None:
        (found,) = pipeline("tuned", parameters={"top": 1}).check()
        assert "has no configurable field 'top', expected at least one of k as parameters" in found
        (found,) = pipeline("built", parameters={"top": 1}).check()
        assert "which cannot be called as built(top=...): got an unexpected keyword argument 'top'" in found


class TestChecks:
    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("text", ""),
            ("misbehaving", ""),
            ("absent", "which cannot be imported (AttributeError: "),
            ("NAME", "which is a str, expected a Runnable, or a function that returns one"),
            ("Finds", "which is a ModelMetaclass, expected a Runnable"),
            ("find", "which is a retriever and does not answer. Use it as retriever=langchain"),
            ("lacking", "whose input also needs context, which a question does not provide"),
            ("agent", "whose input is a mapping. Set pipeline.question_key"),
            ("asynchronous", "which is asynchronous, expected a plain function"),
        ],
    )
    def test_langchain_object_that_cannot_answer_is_one_error(self, name: str, problem: str) -> None:
        found = pipeline(name).check()
        expected = [f"runnable: got 'chain_of_tests:{name}', {problem}"] if problem else []
        assert [each[: len(expected[0])] for each in found] == expected if expected else found == []

    @pytest.mark.parametrize(
        ("name", "part"), [("built_wrong", "returned 'no chain' (str), expected a Runnable"), ("broken", "no index")]
    )
    def test_function_that_builds_no_chain_is_one_error(self, name: str, part: str) -> None:
        component = pipeline(name)
        assert component.check() == []
        with pytest.raises(ComponentError, match="chain_of_tests") as caught:
            list(component.generate([make_request("Where?")]))
        assert part in str(caught.value)

    def test_missing_langchain_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        (found,) = pipeline("text").check()
        assert "langchain-core" in found
        assert "[langchain]" in found
