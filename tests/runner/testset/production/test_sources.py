"""Traces of MLflow, of OTLP files and of Langfuse's export, read as questions."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from components.errors import DataError
from components.records import Turn
from runner.testset.production.langfuse_traces import read_langfuse
from runner.testset.production.mlflow_server_traces import read_mlflow
from runner.testset.production.otlp_traces import read_otlp
from runner.testset.production.traced_questions import SkippedTrace, TracedQuestion

ROOT = Path(__file__).resolve().parents[4]


def otlp_value(value: Any) -> Any:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def span(trace: str, an_id: str, parent: str = "", start: Any = 1, code: Any = 1, **attributes: Any) -> dict[str, Any]:
    """A span in OTLP's JSON encoding. Names of attributes have "__" for dots."""
    own = {name.replace("__", "."): value for name, value in attributes.items()}
    return {
        "traceId": trace,
        "spanId": an_id,
        "parentSpanId": parent,
        "name": an_id,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1),
        "status": {"code": code},
        "attributes": [{"key": key, "value": otlp_value(value)} for key, value in own.items()],
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


CHAIN = {"openinference__span__kind": "CHAIN"}
TRACES = [
    otlp(
        span("t1", "search", "root", 2, openinference__span__kind="RETRIEVER",
             **{f"retrieval.documents.{n}.document.content": f"text {n}" for n in (0, 1, 10, 2)}),
        span("t1", "root", "elsewhere", 1, input__value="Where is it?", output__value="There.", session__id="s",
             feedback=True, **CHAIN),
    ),
    otlp(
        span("t2", "model", "root", 5, **{
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "And who?",
            "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "She.",
        }),
        span("t2", "rerank", "root", 4, **{
            "openinference.span.kind": "RERANKER", "reranker.output_documents.0.document.content": "the best",
        }),
        span("t2", "search", "root", 3, **{
            "openinference.span.kind": "RETRIEVER", "retrieval.documents.0.document.content": "another",
        }),
        span("t2", "root", "", 2, **CHAIN),
    ),
    otlp(span("t3", "root", code=2, input__value="What?", **CHAIN)),
    otlp(span("t4", "root", input__value="", **CHAIN)),
]  # fmt: skip


@pytest.mark.parametrize("form", ["lines", "one value", "indented"])
def test_openinference_spans_become_a_question(form: str, tmp_path: Path) -> None:
    file = tmp_path / "traces.json"
    if form == "lines":
        file.write_text("".join(f"{json.dumps(trace)}\n" for trace in TRACES))
    else:
        whole = {"resourceSpans": [own for trace in TRACES for own in trace["resourceSpans"]]}
        file.write_text(json.dumps(whole, indent=2 if form == "indented" else None))
    first, second, failed, empty = read_otlp(file, "")
    assert first == TracedQuestion(
        "t1", "Where is it?", "There.", ("text 0", "text 1", "text 2", "text 10"), (), "s", 1.0, "good"
    )
    assert second == TracedQuestion("t2", "And who?", "She.", ("the best",), (), "", 2.0, "")
    assert (failed, empty) == (SkippedTrace("failed"), SkippedTrace("no question in its input"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"resourceSpans": []}\n{"spans": 3}', r"traces.json, line 2: has no list `resourceSpans`"),
        ('{"resourceSpans": []}\nno JSON', r"traces.json, line 2: .*JSON"),
        ("{\n  bad\n}", r"traces.json, line 2: is not JSON"),
        ("", r"traces.json: is empty"),
        ("[1]", r"traces.json, item 1: has no list"),
        (json.dumps(otlp({"spanId": "x"})), r"traces.json, line 1: a span has no `traceId`"),
        ("[" * 100_000, r"traces.json: cannot be read|traces.json, line 1: is not JSON"),
    ],
)
def test_malformed_otlp_file_is_one_clear_error(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "traces.json").write_text(content)
    with pytest.raises(DataError, match=message):
        list(read_otlp(tmp_path / "traces.json", ""))


def test_hostile_spans_are_skipped_or_read_without_harm(tmp_path: Path) -> None:
    odd = span("t", "root", input__value="q")
    odd["startTimeUnixNano"] = "soon"
    odd["attributes"] += [3, {"key": 3}, {"key": "retrieval.documents.99999999999.document.content", "value": {}}]
    odd["attributes"].append({"key": "n", "value": {"intValue": "9" * 5_000}})
    loop = span("t2", "a", "a", input__value="q2")
    (tmp_path / "traces.json").write_text(json.dumps(otlp(odd, loop)))
    assert [own.question for own in read_otlp(tmp_path / "traces.json", "") if isinstance(own, TracedQuestion)] == [
        "q",
        "q2",
    ]


LANGFUSE = [
    {
        "id": "t1",
        "timestamp": "2026-11-20T10:00:00.000Z",
        "sessionId": "s",
        "input": {"messages": [{"role": "user", "content": "Where is it?"}]},
        "output": {"answer": "There."},
        "observations": [
            {"id": "o", "type": "RETRIEVER", "startTime": "2026-11-20T10:00:00Z", "output": [{"page_content": "a"}]},
        ],
        "scores": [
            {"name": "toxicity", "value": 0, "source": "EVAL", "dataType": "NUMERIC"},
            {"name": "thumb", "value": 1, "source": "API", "dataType": "BOOLEAN"},
        ],
    },
    {
        "trace": {"id": "t2", "input": None, "output": None},
        "observations": [
            {"id": "a", "type": "SPAN", "name": "chain", "input": "Who?", "startTime": "1"},
            {"id": "b", "type": "SPAN", "name": "Retrieve", "parentObservationId": "a", "startTime": "2",
             "output": {"documents": ["b"]}},
            {"id": "c", "type": "GENERATION", "parentObservationId": "a", "startTime": "3",
             "output": {"content": "She."}},
        ],
        "scores": [{"name": "grade", "dataType": "CATEGORICAL", "stringValue": "so so", "value": 2}],
    },
    {"id": "t3", "input": "What?", "observations": [{"id": "a", "level": "ERROR"}]},
]  # fmt: skip


@pytest.mark.parametrize("form", ["list", "lines", "page"])
def test_langfuse_export_becomes_questions(form: str, tmp_path: Path) -> None:
    whole: Any = {"data": LANGFUSE, "meta": {}} if form == "page" else LANGFUSE
    text = "\n".join(map(json.dumps, LANGFUSE)) if form == "lines" else json.dumps(whole, indent=1)
    (tmp_path / "traces.json").write_text(text)
    first, second, third = read_langfuse(tmp_path / "traces.json", "")
    assert isinstance(first, TracedQuestion)
    assert (first.question, first.answer, first.passages, first.feedback) == ("Where is it?", "There.", ("a",), "1")
    assert isinstance(second, TracedQuestion)
    assert (second.question, second.answer, second.passages, second.feedback) == ("Who?", "She.", ("b",), "so so")
    assert third == SkippedTrace("failed")
    named = next(iter(read_langfuse(tmp_path / "traces.json", "toxicity")))
    assert isinstance(named, TracedQuestion)
    assert named.feedback == "0"


@pytest.mark.parametrize(
    ("content", "message"), [('[{"id": 3}]', "item 1: a trace has no `id`"), ("[3]", "item 1: got a number")]
)
def test_malformed_langfuse_export_is_one_clear_error(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "traces.json").write_text(content)
    with pytest.raises(DataError, match=message):
        list(read_langfuse(tmp_path / "traces.json", ""))


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with traces. They are written in another process, because MLflow's tracing is global."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('mlflow') / 'traces.db'}"
    command = [sys.executable, "-m", "tests.runner.testset.production.mlflow_writer", uri]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return uri


def test_mlflow_traces_become_questions(uri: str) -> None:
    found = list(read_mlflow(uri, "production", ""))
    questions = sorted((own for own in found if isinstance(own, TracedQuestion)), key=lambda own: own.time)
    assert [own.question for own in questions] == ["Where is it?", "And who built it?"]
    assert questions[0].answer == "ABOUT WHERE IS IT?"
    assert questions[0].passages == ("about Where is it?", "more")
    assert {own.session for own in questions} == {"s1"}
    assert [own.feedback for own in questions] == ["good", "bad"]
    assert [own for own in found if isinstance(own, SkippedTrace)] == [SkippedTrace("failed")]
    judged = [own.feedback for own in read_mlflow(uri, "", "judge") if isinstance(own, TracedQuestion)]
    assert judged == ["bad", "bad"]


def test_unknown_mlflow_experiment_and_store_are_clear_errors(uri: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--experiment: got 'other', expected one of Default, production"):
        list(read_mlflow(uri, "other", ""))
    with pytest.raises(DataError, match="MLflow cannot read its traces"):
        list(read_mlflow("nosuchscheme://x", "", ""))
    with pytest.raises(DataError, match="does not exist, expected MLflow's database"):
        list(read_mlflow(f"sqlite:///{tmp_path / 'absent.db'}", "", ""))
    assert not (tmp_path / "absent.db").exists()


def test_turns_before_a_traced_question_become_its_history(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "There."},
        {"role": "user", "content": "Why?"},
    ]
    trace = otlp(span("t", "root", input__value=json.dumps({"messages": talk}), output__value="So.", **CHAIN))
    (tmp_path / "traces.json").write_text(json.dumps(trace))
    (own,) = read_otlp(tmp_path / "traces.json", "")
    assert isinstance(own, TracedQuestion)
    assert (own.history, own.question) == ((Turn("Where?", "There."),), "Why?")
