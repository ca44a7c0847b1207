"""The file that replies are written to, whatever happens to its writers."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from components.records import Answer, AnswerState
from runner.engine.store.replies import Replies


def ok(text: str) -> Answer:
    return Answer("any", AnswerState.OK, text, n_prompt_tokens=3, n_completion_tokens=None, latency_s=0.5)


def reread(path: Path) -> Replies:
    replies = Replies(path)
    replies.refresh()
    return replies


def test_a_reply_is_read_back_under_its_key(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    kept = Replies(path).add("k", ok("Grüße\n北京\x85"))
    assert kept == Answer(
        "k", AnswerState.OK, "Grüße\n北京\x85", n_prompt_tokens=3, n_completion_tokens=None, latency_s=0.5
    )
    assert reread(path).get("k") == kept
    with pytest.raises(KeyError):
        reread(path).get("other")


@pytest.mark.parametrize("state", [AnswerState.EMPTY, AnswerState.REFUSED, AnswerState.OK])
def test_every_end_but_an_error_is_kept(tmp_path: Path, state: AnswerState) -> None:
    path = tmp_path / "replies.jsonl"
    Replies(path).add("k", Answer("any", state))
    Replies(path).add("failed", Answer("any", AnswerState.ERROR, error="HTTP 500"))
    assert reread(path).get("k").state is state
    assert "failed" not in reread(path)


@pytest.mark.parametrize("n_bytes_lost", [1, 2, 40])
def test_a_line_that_was_cut_off_is_passed_over_and_spoils_no_other(tmp_path: Path, n_bytes_lost: int) -> None:
    path = tmp_path / "replies.jsonl"
    Replies(path).add("first", ok("one"))
    Replies(path).add("cut", ok("two"))
    path.write_bytes(path.read_bytes()[:-n_bytes_lost])
    seen_before = reread(path)
    assert "cut" not in seen_before
    Replies(path).add("third", ok("three"))
    seen_before.refresh()
    for replies in (seen_before, reread(path)):
        assert replies.get("first").text == "one"
        assert replies.get("third").text == "three"
        assert ("cut" in replies) == (n_bytes_lost == 1), "only its line's end was lost"


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    writers = [Replies(path) for _ in range(4)]

    def write(number: int) -> None:
        writers[number % 4].add(f"k{number}", ok(f"{number} " * 500))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    found = reread(path).get_all([f"k{number}" for number in range(200)])
    assert {key: answer.text for key, answer in found.items()} == {f"k{n}": f"{n} " * 500 for n in range(200)}


def test_what_another_writer_added_is_seen_after_a_refresh(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    one, other = Replies(path), Replies(path)
    one.refresh()
    other.add("k", ok("first"))
    assert "k" not in one
    one.refresh()
    assert one.get("k").text == "first"


def test_halves_of_characters_are_replaced_and_read_back_as_returned(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    kept = Replies(path).add("k", ok("half \ud83d of an emoji, and a whole one \U0001f600"))
    assert "\ud83d" not in kept.text
    assert "\U0001f600" in kept.text
    assert reread(path).get("k") == kept
