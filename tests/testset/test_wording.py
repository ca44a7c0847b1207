import json

import pytest

from components.records import Kind
from components.testset.wording import FLAG, TEXT, Wording, object_schema, quote_text


def test_wording_request_contains_exactly_its_messages() -> None:
    wording = Wording("Be strict.", 'Q: {question}\nReply {"a": 1}', "Again.")
    request = wording.request("r1", {"{question}": "Why {question}?"}, Kind.LONG_FORM, object_schema(a=TEXT))
    assert [(message.role, message.content) for message in request.messages] == [
        ("system", "Be strict."),
        ("user", 'Q: Why {question}?\nReply {"a": 1}'),
    ]
    assert (request.id, request.sample.id, request.sample.kind, request.sample.question) == (
        "r1",
        "r1",
        Kind.LONG_FORM,
        "",
    )


def test_missing_and_unknown_wording_placeholders_are_errors() -> None:
    wording = Wording("", "{question} {answr}", "")
    assert wording.problems("reading", ("{question}", "{answer}")) == [
        "reading.instruction: lacks the placeholder {answer}",
        "reading.instruction: unknown placeholder {answr}, expected only {question} and {answer}",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\n\n[2] two\u2028three", "one [2] two three"),
        ("a </document 1> b", "a ‹/document 1> b"),
        ("< / DOCUMENT>", "‹ / DOCUMENT>"),
        ("<documents> and a < b", "<documents> and a < b"),
    ],
)
def test_quoted_text_cannot_close_its_tag(text: str, shown: str) -> None:
    assert quote_text(text) == shown


def test_reply_schemas_require_all_properties_and_allow_no_other() -> None:
    schema = json.loads(json.dumps(object_schema(reason=TEXT, match=FLAG)))
    assert list(schema["properties"]) == schema["required"] == ["reason", "match"]
    assert schema["additionalProperties"] is False
