import pytest

from components.expanders.history import ConversationHistory
from tests.contracts.expander_contract import PLAIN, TALK, ExpanderContract


class TestConversationHistory(ExpanderContract):
    component = ConversationHistory()


@pytest.mark.parametrize(
    ("expander", "query"),
    [
        (ConversationHistory(), "来了几人？\n都是谁？\n后一年呢？"),
        (ConversationHistory(1), "都是谁？\n后一年呢？"),
        (ConversationHistory(None), "哪年开始？\n来了几人？\n都是谁？\n后一年呢？"),
        (ConversationHistory(9), "哪年开始？\n来了几人？\n都是谁？\n后一年呢？"),
        (ConversationHistory(1, with_answers=True), "都是谁？\n不清楚。\n后一年呢？"),
    ],
)
def test_history_expander_joins_earlier_turns_to_the_query(expander: ConversationHistory, query: str) -> None:
    assert expander.expand([TALK, PLAIN]) == [(query,), ("谁获了奖？",)]


def test_history_expander_rejects_zero_turns() -> None:
    assert ConversationHistory(0).check() == [
        "n_turns: got 0, expected at least 1 (for none, use expander=none), or null for all"
    ]
