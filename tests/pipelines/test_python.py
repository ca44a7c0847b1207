"""Functions as pipelines: results, exceptions, and calls that never return."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.errors import ComponentError
from components.pipelines.pipeline_reply import parse_stored_replies
from components.pipelines.python import PythonPipeline
from components.records import Answer, AnswerState, ErrorClass, Turn
from tests.contracts.pipeline_contract import PipelineContract, make_request

CODE = """
import sys
import threading

never = threading.Event()
most, now, lock = [0], [0], threading.Lock()
NAME = "no function"


def answer(question):
    return f"about {question}"


def with_history(question, history, top=1):
    return {"answer": f"{question} after {history} with {top}", "passages": []}


def keywords(question, **parameters):
    return str(parameters)


async def asynchronous(question):
    return ""


def misbehaving(question):
    print("printed", question)
    print("printed", question, file=sys.stderr)
    if question == "raise":
        raise ValueError("no luck\\nat all")
    if question == "exit":
        sys.exit(3)
    if question == "interrupt":
        raise KeyboardInterrupt
    if question == "hang":
        never.wait(60)
    if question == "type":
        return 7
    if question == "unspeakable":
        raise Unspeakable()
    return "fine"


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("none")


def meeting(question):
    with lock:
        now[0] += 1
        most[0] = max(most[0], now[0])
    never.wait(0.05)
    with lock:
        now[0] -= 1
    return "met"
"""


@pytest.fixture(autouse=True)
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "rag_of_tests.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("rag_of_tests", None)


def pipeline(
    name: str, timeout_s: float = 60.0, concurrency: int = 1, **parameters: bool | int | float | str
) -> PythonPipeline:
    return PythonPipeline(
        call=f"rag_of_tests.{name}", parameters=parameters, timeout_s=timeout_s, concurrency=concurrency
    )


def by_question(component: PythonPipeline, *questions: str) -> dict[str, Answer]:
    return {answer.request_id: answer for answer in component.generate([make_request(each) for each in questions])}


class TestPythonPipeline(PipelineContract):
    component = pipeline("answer")


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(CODE.splitlines(), 1) if text in line)


class TestWithFailures(PipelineContract):
    component = pipeline("misbehaving", timeout_s=0.2)

    def test_function_failures_are_reported_and_other_questions_answered(self) -> None:
        found = by_question(self.component, "raise", "one", "exit", "interrupt", "type", "unspeakable", "hang", "two")
        assert {name for name, answer in found.items() if answer.state is AnswerState.OK} == {"one", "two"}
        failed = {name: (answer.error_class, answer.error) for name, answer in found.items() if answer.error}
        name = "rag_of_tests.misbehaving: "
        assert failed == {
            "raise": (ErrorClass.OTHER, f"{name}ValueError at rag_of_tests:{line_of('no luck')}: no luck at all"),
            "exit": (ErrorClass.OTHER, f"{name}SystemExit at rag_of_tests:{line_of('sys.exit')}: 3"),
            "interrupt": (
                ErrorClass.OTHER,
                f"{name}KeyboardInterrupt at rag_of_tests:{line_of('raise KeyboardInterrupt')}:",
            ),
            "type": (
                ErrorClass.MALFORMED,
                f"{name}BadReply: the reply: got 7 (int), expected a string, or a mapping or dataclass with `answer`",
            ),
            "unspeakable": (ErrorClass.OTHER, f"{name}Unspeakable at rag_of_tests:{line_of('raise Unspeakable')}"),
            "hang": (ErrorClass.TIMEOUT, f"{name}TimeoutError: no answer after 0.2 s (pipeline.timeout_s)"),
        }

    def test_function_that_always_hangs_stops_further_calls(self) -> None:
        component = pipeline("misbehaving", timeout_s=0.01)
        requests = [make_request("hang") for _ in range(40)]
        began = time.monotonic()
        errors = [answer.error for answer in component.generate(requests)]
        assert time.monotonic() - began < 5
        assert len(errors) == 40
        assert sum(error.startswith("not sent: ") for error in errors) == 30


class TestParameters:
    def test_history_is_passed_only_to_a_function_with_that_parameter(self) -> None:
        request = make_request("And?", Turn("Who?", "I."))
        (answer,) = pipeline("with_history", top=3).generate([request])
        (reply,) = parse_stored_replies([answer])
        assert reply is not None
        assert reply.answer == "And? after [{'question': 'Who?', 'answer': 'I.'}] with 3"

    def test_python_pipeline_parameters_are_keyword_arguments(self) -> None:
        (reply,) = parse_stored_replies(list(pipeline("keywords", k=2, mode="fast").generate([make_request("x")])))
        assert reply is not None
        assert reply.answer == "{'k': 2, 'mode': 'fast'}"

    @pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (3, 3)])
    def test_python_pipeline_limits_concurrent_calls(self, concurrency: int, most: int) -> None:
        answers = list(pipeline("meeting", concurrency=concurrency).generate([make_request(str(n)) for n in range(9)]))
        assert [answer.state for answer in answers] == [AnswerState.OK] * 9
        assert sys.modules["rag_of_tests"].most == [most]

    def test_closed_iterator_starts_no_more_function_calls(self) -> None:
        n_before = threading.active_count()  # other tests of this process may have left some
        answers = pipeline("meeting").generate([make_request(str(n)) for n in range(100)])
        next(answers)
        answers.close()  # type: ignore[attr-defined]  # it is a generator
        time.sleep(0.2)
        assert threading.active_count() < n_before + 20


class TestChecks:
    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("absent", "which cannot be imported (AttributeError: "),
            ("NAME", "which is a str, expected a function"),
            ("asynchronous", "which is asynchronous, expected a plain function"),
        ],
    )
    def test_path_that_is_not_a_function_is_one_error(self, name: str, problem: str) -> None:
        (found,) = pipeline(name).check()
        assert found.startswith(f"call: got 'rag_of_tests.{name}', {problem}")

    def test_pipeline_module_that_cannot_be_imported_is_one_error(self) -> None:
        (found,) = PythonPipeline(call="rag_of_nobody.answer", parameters={}).check()
        assert "which cannot be imported (ModuleNotFoundError: " in found
        with pytest.raises(ComponentError, match=r"^rag_of_nobody\.answer: cannot be imported \(ModuleNotFoundError: "):
            PythonPipeline(call="rag_of_nobody.answer", parameters={}).answering()
        (found,) = PythonPipeline(call="answer", parameters={}).check()
        assert found == "call: got 'answer', expected the dotted path of a function, e.g. my_app.rag.answer"

    def test_function_with_other_parameters_is_one_error(self) -> None:
        (found,) = pipeline("answer", top=3).check()
        assert "which cannot be called as answer(question, top=...): got an unexpected keyword argument 'top'" in found
        (found,) = pipeline("with_history", history="x").check()
        assert "whose parameter `history` is set by the sweep" in found

    def test_python_pipeline_rejects_numbers_out_of_range(self) -> None:
        found = pipeline("answer", timeout_s=0, concurrency=0).check()
        assert found == ["concurrency: got 0, expected at least 1", "timeout_s: got 0, expected more than 0"]
