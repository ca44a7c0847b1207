"""Requests that are repeated until the reply is readable."""

from collections.abc import Sequence

import pytest

from components.asking.model_reply import read_object
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.records import Answer, AnswerState, Kind, Message, Request, Sample, ScoreState

INQUIRY = Inquiry(
    Request("r", (Message("user", "Who?"),), Sample("s", "", Kind.QA, "Who?", ()), ()),
    lambda text: text.strip() or None,
)
CUT = AnswerState.TRUNCATED


def result_of(*replies: tuple[AnswerState, str], inquiry: Inquiry[str] = INQUIRY) -> str | UnreadableReply:
    """Return the result if the model gives these replies one after another."""
    left = list(replies)

    def ask(requests: Sequence[Request]) -> list[Answer]:
        state, text = left.pop(0)
        return [Answer(requests[0].id, state, text)]

    (result,) = ask_until_readable([inquiry], ask, "Again.", len(replies))
    return result


@pytest.mark.parametrize("copied", ["It is the old", " It is the old\n", "<think>Hm.</think>It is the old"])
def test_copied_truncated_reply_counts_as_truncated(copied: str) -> None:
    """SmolLM2 copies its own cut text from the conversation, and then ends it."""
    result = result_of((CUT, "It is the old"), (AnswerState.OK, copied))
    assert isinstance(result, UnreadableReply)
    assert (result.state, result.unread.partition(") ")[0]) == (
        ScoreState.UNPARSABLE,
        "cannot be read: (truncated reply",
    )


def test_copy_of_a_copied_truncated_reply_counts_as_truncated() -> None:
    assert isinstance(result_of((CUT, "It is"), (AnswerState.OK, "It is"), (AnswerState.OK, "It is")), UnreadableReply)


def test_copied_truncated_object_is_not_repaired() -> None:
    inquiry = Inquiry(
        INQUIRY.request, lambda text: str((read_object(text, "reason") or {}).get("reason") or "") or None
    )
    assert isinstance(
        result_of((CUT, '{"reason": "It'), (AnswerState.OK, '{"reason": "It'), inquiry=inquiry), UnreadableReply
    )


def test_copied_part_of_a_long_truncated_reply_is_unreadable() -> None:
    long = "It is " * 1000
    assert isinstance(result_of((CUT, long), (AnswerState.OK, long[:2000])), UnreadableReply)


def test_truncated_reply_is_requested_a_second_time() -> None:
    assert result_of((CUT, "It is the old"), (AnswerState.OK, "It is the old bridge.")) == "It is the old bridge."
    assert result_of((CUT, "It is the old"), (AnswerState.OK, "It is")) == "It is"
    assert result_of((AnswerState.EMPTY, ""), (AnswerState.OK, "It is")) == "It is"
