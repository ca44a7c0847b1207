"""Replies are requested, stored by request, and counted."""

import math
import multiprocessing
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import pytest

from components.errors import ComponentError
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Kind, Message, Passage, Request, Sample
from runner.engine import ask
from runner.engine.ask import Asker, CachedReplies, compute_replies_key, request_keys
from runner.engine.store import Store


@dataclass(frozen=True)
class CountingModel:
    """Replies with the text of the request, fails on "fail", and records its requests."""

    asked: list[str] = field(default_factory=list)
    temperature: float = 0.0

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in reversed(requests):
            text = request.messages[-1].content
            self.asked.append(text)
            if "fail" in text:
                yield Answer(request.id, AnswerState.ERROR, error="no")
            else:
                yield Answer(request.id, AnswerState.OK, text.upper(), n_prompt_tokens=3, n_completion_tokens=2)


@dataclass(frozen=True)
class Baseline(CountingModel):
    """Looks at the sample and the passages."""

    answers_from: ClassVar[AnswersFrom] = AnswersFrom.SAMPLE


def request(text: str, sample_id: str = "s", request_id: str = "", question: str = "?") -> Request:
    sample = Sample(sample_id, "qa", Kind.QA, question, ())
    return Request(request_id or f"{sample_id}:{text}", (Message("user", text),), sample, ())


def asking(model: CountingModel, folder: Path) -> Asker:
    """Build an asker like a new process, which knows only the file."""
    return Asker(model, Store(folder / "store").replies("a" * 64), lambda done, total: None)


def counting(folder: Path, model: CountingModel | None = None) -> CachedReplies:
    return CachedReplies(model or CountingModel(), Store(folder / "store").replies("a" * 64))


def replies_folder(folder: Path) -> Path:
    return folder / "store" / "replies" / ("a" * 64)


def test_replies_follow_the_order_of_the_requests(tmp_path: Path) -> None:
    replies = asking(CountingModel(), tmp_path)([request("a"), request("b"), request("c")])
    assert [(reply.request_id, reply.text) for reply in replies] == [("s:a", "A"), ("s:b", "B"), ("s:c", "C")]


def test_equal_requests_are_sent_once(tmp_path: Path) -> None:
    model = CountingModel()
    replies = asking(model, tmp_path)([request("a", request_id="1"), request("a", request_id="2")])
    assert model.asked == ["a"]
    assert [(reply.request_id, reply.text) for reply in replies] == [("1", "A"), ("2", "A")]


class TestReplyKeys:
    def test_reply_key_of_a_language_model_ignores_the_sample(self, tmp_path: Path) -> None:
        model = CountingModel()
        asking(model, tmp_path)([request("a", "s1", question="one"), request("a", "s2", question="other")])
        assert model.asked == ["a"]

    def test_reply_key_of_a_baseline_contains_the_sample(self, tmp_path: Path) -> None:
        model = Baseline()
        asking(model, tmp_path)([request("a", "s1"), request("a", "s2"), request("a", "s1", request_id="again")])
        assert model.asked == ["a", "a"]

    @pytest.mark.parametrize(
        "changes",
        [
            {"messages": (Message("system", "a"),)},
            {"messages": (Message("user", "a"), Message("user", "a"))},
            {"json_schema": {"type": "object"}},
            {"draw": 1},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_reply_key_contains_everything_that_a_model_reads(self, changes: dict[str, object]) -> None:
        one = request("a")
        first, second = request_keys(CountingModel(), [one, replace(one, **changes)])
        assert first != second

    def test_passages_change_only_the_reply_key_of_a_baseline(self) -> None:
        requests = [request("a"), replace(request("a"), passages=(Passage("text", "title"),))]
        assert len(set(request_keys(CountingModel(), requests))) == 1
        assert len(set(request_keys(Baseline(), requests))) == 2

    def test_lone_surrogates_have_distinct_reply_keys(self) -> None:
        assert len(set(request_keys(CountingModel(), [request("\ud83d"), request("\ud83e")]))) == 2
        assert len(set(request_keys(Baseline(), [request("a", "\ud83d"), request("a", "\ud83e")]))) == 2

    def test_drawing_model_is_asked_for_each_of_equal_requests(self, tmp_path: Path) -> None:
        model = CountingModel(temperature=0.7)
        asking(model, tmp_path)([request("a", request_id=str(i)) for i in range(3)])
        assert model.asked == ["a", "a", "a"]
        asking(model, tmp_path)([request("a", request_id=str(i)) for i in range(4)])
        assert model.asked == ["a"] * 4

    def test_reply_stores_differ_by_model_and_purpose(self) -> None:
        keys = {
            compute_replies_key(model, purpose)
            for model in (CountingModel(), CountingModel(temperature=0.7), Baseline())
            for purpose in ("answers", "judge accuracy")
        }
        assert len(keys) == 6


def test_cached_replies_are_not_requested_again_by_anyone(tmp_path: Path) -> None:
    first, second = CountingModel(), CountingModel()
    asking(first, tmp_path)([request("a"), request("b")])
    replies = asking(second, tmp_path)([request("b"), request("c")])
    assert second.asked == ["c"]
    assert [reply.text for reply in replies] == ["B", "C"]


def test_replies_of_another_process_are_reused(tmp_path: Path) -> None:
    first, second = CountingModel(), CountingModel()
    one, other = asking(first, tmp_path), asking(second, tmp_path)
    one([request("a")])
    other([request("b")])
    one([request("b")])
    other([request("a")])
    assert (first.asked, second.asked) == (["a"], ["b"])


def test_replies_before_an_interrupt_are_cached(tmp_path: Path) -> None:
    class Interrupted(CountingModel):
        def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
            yield next(super().generate(requests))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asking(Interrupted(), tmp_path)([request("a"), request("b")])
    model = CountingModel()
    asking(model, tmp_path)([request("a"), request("b")])
    assert model.asked == ["a"]


class TestFileOpenings:
    @pytest.fixture
    def opened(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Files of replies, each time that one is opened to be written."""
        files: list[str] = []
        open_file = os.open

        def noted(path: str | Path, how: int, *mode: int) -> int:
            if how & os.O_APPEND:
                files.append(Path(path).name)
            return open_file(path, how, *mode)

        monkeypatch.setattr(os, "open", noted)
        return files

    def test_replies_file_is_opened_for_each_model_reply(self, tmp_path: Path, opened: list[str]) -> None:
        asking(CountingModel(), tmp_path)([request("a"), request("b"), request("c")])
        assert len(opened) == 3

    def test_replies_file_is_opened_once_for_baseline_answers(self, tmp_path: Path, opened: list[str]) -> None:
        requests = [request("a"), request("fail"), request("c")]
        replies = asking(Baseline(), tmp_path)(requests)
        assert [reply.text for reply in replies] == ["A", "", "C"]
        assert len(opened) == 1
        again = Baseline()
        assert asking(again, tmp_path)(requests) == replies
        assert again.asked == ["fail"]

    def test_replies_file_is_opened_about_once_a_second_for_a_slow_baseline(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Interrupted(Baseline):
            def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
                yield next(super().generate(requests))
                raise KeyboardInterrupt

        monkeypatch.setattr(ask, "_BATCH_S", 0.0)
        with pytest.raises(KeyboardInterrupt):
            asking(Interrupted(), tmp_path)([request("a"), request("b")])
        model = Baseline()
        asking(model, tmp_path)([request("a"), request("b")])
        assert model.asked == ["a"]


def test_failed_requests_are_counted_and_sent_again(tmp_path: Path) -> None:
    first, second = CountingModel(), CountingModel()
    ask = asking(first, tmp_path)
    (reply,) = ask([request("fail")])
    assert (reply.request_id, reply.state, reply.error, ask.n_failed) == ("s:fail", AnswerState.ERROR, "no", 1)
    asking(second, tmp_path)([request("fail")])
    assert second.asked == ["fail"]


def test_model_that_omits_answers_is_an_error(tmp_path: Path) -> None:
    class Silent(CountingModel):
        def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
            return iter(())

    with pytest.raises(
        ComponentError, match=r"Silent: 2 requests got no answer, e\.g\. 's:a', expected one answer per request"
    ):
        asking(Silent(), tmp_path)([request("a"), request("b")])


@dataclass(frozen=True)
class WrongSecond(CountingModel):
    """Gives the second request an answer with a wrong field."""

    wrong: tuple[str, object] = ("", "")

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        first, second = requests
        yield Answer(first.id, AnswerState.OK, "one")
        name, value = self.wrong
        yield replace(Answer(second.id, AnswerState.OK, "two"), **{name: first.id if value is FIRST else value})


FIRST = object()
"""Stands for the id of the first request."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latency_s", math.nan),
        ("latency_s", math.inf),
        ("latency_s", -1.0),
        ("latency_s", "1"),
        ("latency_s", True),
        ("state", "ok"),
        ("error_class", "timeout"),
        ("text", None),
        ("thoughts", 1),
        ("error", None),
        ("n_prompt_tokens", math.nan),
        ("n_completion_tokens", -1),
        ("n_completion_tokens", "7"),
        ("n_reasoning_tokens", 1.0),
        ("n_cached_tokens", None),
        ("request_id", None),
        ("request_id", "another"),
        ("request_id", FIRST),
    ],
)
def test_invalid_answer_is_rejected_before_it_is_stored(name: str, value: object, tmp_path: Path) -> None:
    requests = [request("a"), request("b")]
    with pytest.raises(ComponentError, match=rf"^WrongSecond.generate: Answer\.{name}: got .*\bexpected "):
        asking(WrongSecond(wrong=(name, value)), tmp_path)(requests)
    model = CountingModel()
    assert [answer.text for answer in asking(model, tmp_path)(requests)] == ["one", "B"]
    assert model.asked == ["b"]


def test_request_of_a_truncated_reply_line_is_sent_again(tmp_path: Path) -> None:
    asking(CountingModel(), tmp_path)([request("a"), request("b")])
    (path,) = replies_folder(tmp_path).iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    model = CountingModel()
    asking(model, tmp_path)([request("a"), request("b")])
    third = CountingModel()
    asking(third, tmp_path)([request("a"), request("b")])
    assert (len(model.asked), third.asked) == (1, [])


def test_progress_starts_at_the_number_of_cached_replies(tmp_path: Path) -> None:
    asking(CountingModel(), tmp_path)([request("a")])
    seen: list[tuple[int, int]] = []
    replies = Store(tmp_path / "store").replies("a" * 64)
    Asker(CountingModel(), replies, lambda done, total: seen.append((done, total)))(
        [request("a"), request("b"), request("c")]
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_usage_counts_cached_replies_too(tmp_path: Path) -> None:
    asking(CountingModel(), tmp_path)([request("a")])
    ask = asking(CountingModel(), tmp_path)
    ask([request("a"), request("b")])
    assert ask.usage == {"n_requests": 2, "n_prompt_tokens": 6, "n_completion_tokens": 4, "n_cached_tokens": 0}


def test_usage_sums_all_calls(tmp_path: Path) -> None:
    ask = asking(CountingModel(), tmp_path)
    ask([request("a")])
    ask([request("a"), request("b")])
    assert ask.usage == {"n_requests": 3, "n_prompt_tokens": 9, "n_completion_tokens": 6, "n_cached_tokens": 0}


def test_uncounted_tokens_are_unknown(tmp_path: Path) -> None:
    class Uncounted(CountingModel):
        def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
            return (replace(answer, n_prompt_tokens=None) for answer in super().generate(requests))

    ask = asking(Uncounted(), tmp_path)
    ask([request("a")])
    assert ask.usage == {"n_requests": 1, "n_prompt_tokens": None, "n_completion_tokens": 2, "n_cached_tokens": 0}


def test_empty_request_list_calls_no_model(tmp_path: Path) -> None:
    model = CountingModel()
    assert asking(model, tmp_path)([]) == []
    assert model.asked == []


@dataclass(frozen=True)
class SlowModel(CountingModel):
    """Takes a moment for each answer, and records its requests in a file, because several processes call it."""

    notes: Path = Path()

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            time.sleep(0.02)
            with self.notes.open("a", encoding="utf-8") as file:
                file.write(f"{request.messages[-1].content}\n")
            yield Answer(request.id, AnswerState.OK, "so")


def ask_for_all(model: SlowModel, folder: Path, texts: Sequence[str]) -> list[str]:
    """Send the requests once two processes have arrived."""
    (folder / f"here-{os.getpid()}").touch()
    while len(list(folder.glob("here-*"))) < 2:
        time.sleep(0.005)
    return [answer.text for answer in asking(model, folder)([request(text) for text in texts])]


class TestSeveralProcesses:
    def test_several_processes_request_each_reply_once(self, tmp_path: Path) -> None:
        notes = tmp_path / "notes.txt"
        Store(tmp_path / "store")
        model = SlowModel(notes=notes)
        wanted = [[f"q{n}" for n in range(30)], [f"q{n}" for n in range(20, 50)]]
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            asked = [pool.apply_async(ask_for_all, (model, tmp_path, texts)) for texts in wanted]
            assert [each.get(timeout=60) for each in asked] == [["so"] * 30, ["so"] * 30]
        assert sorted(notes.read_text(encoding="utf-8").split()) == sorted(f"q{n}" for n in range(50))

    def test_request_that_failed_in_another_process_is_sent_again(self, tmp_path: Path) -> None:
        ask = asking(model := CountingModel(), tmp_path)
        others = Store(tmp_path / "store").replies("a" * 64)
        n_takes = 0

        @contextmanager
        def claimed_by_another_at_first(keys: Collection[str]) -> Iterator[frozenset[str]]:
            nonlocal n_takes
            n_takes += 1
            (key,) = keys
            if n_takes == 2:
                others.add(key, Answer(key, AnswerState.ERROR, error="no"))
            yield frozenset(keys if n_takes > 2 else ())

        ask._replies.claims.take = claimed_by_another_at_first  # type: ignore[method-assign]
        assert [answer.text for answer in ask([request("a")])] == ["A"]
        assert (model.asked, n_takes) == (["a"], 3)


class TestCounting:
    def test_counting_requests_asks_no_model(self, tmp_path: Path) -> None:
        asking(CountingModel(), tmp_path)([request("a")])
        model = CountingModel()
        count = counting(tmp_path, model)
        replies = count([request("a"), request("b", request_id="1"), request("b", request_id="2"), request("c")])
        assert len(count.missing) == 2
        assert model.asked == []
        assert [(reply.request_id, reply.text) for reply in replies[:1]] == [("s:a", "A")]
        assert [(reply.request_id, reply.state) for reply in replies[1:]] == [
            ("1", AnswerState.ERROR), ("2", AnswerState.ERROR), ("s:c", AnswerState.ERROR),
        ]  # fmt: skip

    def test_request_count_equals_the_requests_sent_later(self, tmp_path: Path) -> None:
        requests = [request(text) for text in "aabca"]
        count = counting(tmp_path)
        count(requests)
        model = CountingModel()
        asking(model, tmp_path)(requests)
        assert len(count.missing) == len(model.asked) == 3

    def test_failed_replies_are_counted_as_missing(self, tmp_path: Path) -> None:
        asking(CountingModel(), tmp_path)([request("fail")])
        count = counting(tmp_path)
        count([request("fail")])
        assert len(count.missing) == 1

    def test_counting_requests_writes_no_files(self, tmp_path: Path) -> None:
        counting(tmp_path)([request("a")])
        assert not replies_folder(tmp_path).exists()
