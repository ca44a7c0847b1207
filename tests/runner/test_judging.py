"""How a judge's replies are asked for, kept and counted."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from components.records import Answer, AnswerState, Kind, Message, Request, Sample
from runner.pipeline.judging import Asking


class CountingModel:
    """Replies with the text of the request, fails on "fail", and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in reversed(requests):
            text = request.messages[-1].content
            self.asked.append(text)
            if "fail" in text:
                yield Answer(request.id, AnswerState.ERROR, error="no")
            else:
                yield Answer(request.id, AnswerState.OK, text.upper(), n_prompt_tokens=3, n_completion_tokens=2)


def request(text: str, sample_id: str = "s", request_id: str = "") -> Request:
    sample = Sample(sample_id, "qa", Kind.QA, "?", ())
    return Request(request_id or f"{sample_id}:{text}", (Message("user", text),), sample, ())


def asking(model: CountingModel, folder: Path) -> Asking:
    return Asking(model, folder / "replies.jsonl", lambda done, total: None)


def test_replies_come_in_the_order_of_the_requests(tmp_path: Path) -> None:
    replies = asking(CountingModel(), tmp_path)([request("a"), request("b"), request("c")])
    assert [(reply.request_id, reply.text) for reply in replies] == [("s:a", "A"), ("s:b", "B"), ("s:c", "C")]


def test_equal_requests_are_asked_once(tmp_path: Path) -> None:
    model = CountingModel()
    replies = asking(model, tmp_path)([request("a", request_id="1"), request("a", request_id="2")])
    assert model.asked == ["a"]
    assert [reply.request_id for reply in replies] == ["1", "2"]


def test_requests_about_other_samples_are_not_equal(tmp_path: Path) -> None:
    model = CountingModel()
    asking(model, tmp_path)([request("a", "s1"), request("a", "s2")])
    assert model.asked == ["a", "a"]


def test_kept_replies_are_not_asked_for_again_by_anyone(tmp_path: Path) -> None:
    first, second = CountingModel(), CountingModel()
    asking(first, tmp_path)([request("a"), request("b")])
    replies = asking(second, tmp_path)([request("b"), request("c")])
    assert second.asked == ["c"]
    assert [reply.text for reply in replies] == ["B", "C"]


def test_what_an_interrupted_judge_got_is_kept(tmp_path: Path) -> None:
    class Interrupted(CountingModel):
        def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
            yield next(super().generate(requests))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asking(Interrupted(), tmp_path)([request("a"), request("b")])
    model = CountingModel()
    asking(model, tmp_path)([request("a"), request("b")])
    assert model.asked == ["a"]


def test_failures_are_counted_and_asked_for_again(tmp_path: Path) -> None:
    first, second = CountingModel(), CountingModel()
    ask = asking(first, tmp_path)
    (reply,) = ask([request("fail")])
    assert (reply.state, ask.n_failed) == (AnswerState.ERROR, 1)
    asking(second, tmp_path)([request("fail")])
    assert second.asked == ["fail"]


def test_a_line_that_was_cut_off_is_asked_for_again(tmp_path: Path) -> None:
    asking(CountingModel(), tmp_path)([request("a"), request("b")])
    path = tmp_path / "replies.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    model = CountingModel()
    asking(model, tmp_path)([request("a"), request("b")])
    third = CountingModel()
    asking(third, tmp_path)([request("a"), request("b")])
    assert (len(model.asked), third.asked) == (1, [])


def test_usage_counts_kept_replies_too(tmp_path: Path) -> None:
    asking(CountingModel(), tmp_path)([request("a")])
    ask = asking(CountingModel(), tmp_path)
    ask([request("a"), request("b")])
    assert ask.usage == {"n_requests": 2, "n_prompt_tokens": 6, "n_completion_tokens": 4}


def test_no_request_asks_nothing(tmp_path: Path) -> None:
    model = CountingModel()
    assert asking(model, tmp_path)([]) == []
    assert model.asked == []
