from typing import Any

import pytest

from components.openai_server.limiter import Tokens
from components.openai_server.reply_reading import Malformed, read_count, to_float_array
from components.openai_server.token_counts import AS_OPENAI

MAX_TOKENS = Tokens(100, 50)


def test_token_counts_are_found_by_their_path_in_a_reply() -> None:
    reply = {"usage": {"prompt_tokens": 0, "details": {"cached_tokens": 5}}}
    assert (read_count(reply, "usage", "prompt_tokens"), read_count(reply, "usage", "details", "cached_tokens")) == (
        0,
        5,
    )


@pytest.mark.parametrize("value", [-1, "7", True, 2.5, None, {}, [3], 10**9 + 1, 2**63, 10**400])
def test_values_that_are_not_token_counts_are_unknown(value: Any) -> None:
    assert read_count({"usage": {"prompt_tokens": value}}, "usage", "prompt_tokens") is None
    assert read_count({"usage": value}, "usage", "prompt_tokens") is None


def test_invalid_token_counts_are_charged_as_the_maximum() -> None:
    """Negative counts would reduce the spending."""
    assert (
        AS_OPENAI.count_used(
            {"choices": [], "usage": {"prompt_tokens": -(10**6), "completion_tokens": True}}, MAX_TOKENS
        )
        == MAX_TOKENS
    )


def test_cached_tokens_are_capped_at_the_prompt_tokens() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 900}}
    assert AS_OPENAI.count_used({"choices": [], "usage": usage}, MAX_TOKENS) == Tokens(3, 1, 3)


@pytest.mark.parametrize(
    ("usage", "used"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, Tokens(7, 2)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 59}, Tokens(7, 52)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 3}, Tokens(7, 2)),
        ({"prompt_tokens": 7, "total_tokens": 12}, Tokens(7, 5)),
        ({"completion_tokens": 2, "total_tokens": 12}, Tokens(10, 2)),
        ({"total_tokens": 60}, Tokens(10, 50)),
        ({"total_tokens": 20}, Tokens(0, 20)),
        ({"total_tokens": "20"}, MAX_TOKENS),
    ],
    ids=str,
)
def test_total_completes_the_counts_of_prompt_and_completion(usage: dict[str, Any], used: Tokens) -> None:
    assert AS_OPENAI.count_used({"choices": [], "usage": usage}, MAX_TOKENS) == used


def test_total_of_a_request_without_a_completion_is_the_prompt() -> None:
    assert AS_OPENAI.count_used({"results": [], "usage": {"total_tokens": 40}}, Tokens(100)) == Tokens(40)


@pytest.mark.parametrize("rows", [[True, 0.5], [0.5, False], [[0.5, 1.0], [True, 0.5]], [True, False]])
def test_booleans_among_numbers_are_malformed(rows: list[object]) -> None:
    with pytest.raises(Malformed, match="expected numbers"):
        to_float_array(rows)
