"""Rate limits that processes share, and models that pass no limiter by themselves."""

import multiprocessing
import pickle
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import pytest

from benchmarks.chat_endpoint import Behaviour, Chaos, serving
from components.errors import BudgetReached, StoreError
from components.llms.openai_chat import OpenAIChat
from components.openai_server.breaker import NOT_SENT
from components.openai_server.limiter import Account, Attempt, Tokens, current_limiter, use_limiter
from components.prices import Price, PriceList, Prices
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, ErrorClass, Kind, Message, Request, Sample
from runner.engine.spending import Budget, SharedLimiter
from runner.engine.spending.admission import admit_requests
from tests.llms.chat_server import Reply, chat_server

PRICES = Prices("USD", {"own": PriceList("2026-11-22", "a page", {"m": Price(1.0, 2.0)}, "host")})


def request(name: str) -> Request:
    return Request(name, (Message("user", f"{name} "),), Sample("s", "qa", Kind.QA, "?", ()), ())


class NotingLimiter(SharedLimiter):
    """Records when it admits attempts. Arrival times would depend on how busy the machine is."""

    def __init__(self, limits: Path) -> None:
        super().__init__(limits)
        self.admitted_at: list[float] = []

    def admit(self, attempt: Attempt) -> float:
        wait_s = super().admit(attempt)
        if not wait_s:
            self.admitted_at.append(time.time())
        return wait_s


def ask(url: str, folder: Path, names: Sequence[str], max_requests_per_minute: int | None) -> list[float]:
    """When each attempt of a process was let through."""
    llm = OpenAIChat(
        "m",
        base_url=url,
        api_key_env="",
        backoff_s=0.01,
        max_retries=20,
        max_requests_per_minute=max_requests_per_minute,
    )
    limiter = NotingLimiter(folder)
    with use_limiter(limiter):
        answers = list(llm.generate([request(name) for name in names]))
    assert {answer.state for answer in answers} == {AnswerState.OK}
    return limiter.admitted_at


def test_rate_limit_is_shared_by_all_processes(tmp_path: Path) -> None:
    per_s, window_s = 50, 0.4
    with serving(Behaviour()) as endpoint:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            names = [f"a{n}" for n in range(40)], [f"b{n}" for n in range(40)]
            admitted_at = pool.starmap(ask, [(endpoint.url, tmp_path, some, per_s * 60) for some in names])
        assert len(endpoint.log()) == 80
    times = sorted(chain(*admitted_at))
    assert len(times) == 80
    in_window = max(sum(start <= at < start + window_s for at in times) for start in times)
    assert in_window <= per_s * (window_s + 0.1) + 2, "a minute's share, and what came 0.1 s late"
    assert times[-1] - times[0] < 10 * 80 / per_s, "and they do not stand still"


def test_retry_pause_of_a_server_applies_to_all_processes(tmp_path: Path) -> None:
    behaviour = Behaviour(chaos=0.2, kinds=(Chaos.RATE_LIMIT,), storm_s=0.0, retry_after_s=0.3, seed=1)
    with serving(behaviour) as endpoint:
        asking = [
            threading.Thread(target=ask, args=(endpoint.url, tmp_path, [f"{name}{n}" for n in range(6)], None))
            for name in "ab"
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        log = endpoint.log()
    refused = [asked for asked in log if asked.status == 429]
    assert refused
    for first in refused:
        too_early = [asked for asked in log if first.at + 0.1 < asked.at < first.at + 0.3]
        assert too_early == [], "those within 0.1 s were under way"


class TestSharedLimiter:
    attempt = Attempt(Account("host", "m", ""), Tokens(10, 10), 60.0)

    def test_prices_apply_to_one_model_at_one_server(self, tmp_path: Path) -> None:
        limiter = SharedLimiter(tmp_path / "limits", tmp_path / "spent", Budget(), PRICES)
        for host in ("host", "elsewhere"):
            attempt = Attempt(Account(host, "m", ""), Tokens(10, 10), 60.0)
            assert limiter.admit(attempt) == 0.0
            limiter.settle(attempt, Tokens(10, 5))
        assert (limiter.spent.cost, limiter.spent.n_unpriced) == (pytest.approx(20e-6), 1)

    def test_attempt_refused_by_the_budget_takes_no_turn(self, tmp_path: Path) -> None:
        account = Account("host", "m", "", max_requests_per_minute=1)
        limiter = SharedLimiter(tmp_path / "limits", tmp_path / "spent", Budget(max_tokens=5), PRICES)
        with pytest.raises(BudgetReached):
            limiter.admit(Attempt(account, Tokens(10, 10), 60.0))
        assert SharedLimiter(tmp_path / "limits").admit(Attempt(account, Tokens(), 60.0)) == 0.0

    def test_deleted_ledger_fails_the_next_attempt_but_not_the_reply(self, tmp_path: Path) -> None:
        limiter = SharedLimiter(tmp_path / "limits", tmp_path / "spent")
        assert limiter.admit(self.attempt) == 0.0
        (tmp_path / "spent").unlink()
        limiter.settle(self.attempt, Tokens(10, 5))
        with pytest.raises(StoreError, match="spent: cannot write the spending of the sweep"):
            limiter.admit(self.attempt)

    def test_limiter_without_a_ledger_counts_nothing(self, tmp_path: Path) -> None:
        limiter = SharedLimiter(tmp_path / "limits")
        assert limiter.admit(self.attempt) == 0.0
        limiter.settle(self.attempt, None)
        assert limiter.spent.n_requests == 0


@pytest.mark.parametrize(
    ("body", "n_unanswered"),
    [
        (b'data: {"choices": []}\n\ndata: [DONE]\n\n', 1),  # events of a gateway that always streams
        (b'{"choices": [{"message": {"content": "an ans', 1),
        (b"\n<!doctype html><title>Sign in</title>", 0),
    ],
)
def test_unreadable_model_reply_counts_as_possibly_charged(tmp_path: Path, body: bytes, n_unanswered: int) -> None:
    with chat_server(lambda *_: Reply(body=body)) as server:
        llm = OpenAIChat("m", base_url=server.url, api_key_env="", max_retries=5, backoff_s=0.0, max_new_tokens=100)
        limiter = SharedLimiter(tmp_path / "limits", tmp_path / "spent", Budget(max_tokens=350))
        with use_limiter(limiter), suppress(BudgetReached):
            list(llm.generate([request("a")]))
        most = 2 if n_unanswered else 6
        assert (limiter.spent.n_requests, limiter.spent.n_unanswered) == (most, n_unanswered * most)


@dataclass(frozen=True)
class Local:
    """Answers each request with its text, fails on "fail", and does not begin "long"."""

    max_new_tokens: int = 10

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for each in requests:
            if each.id == "kept back":
                yield Answer(each.id, AnswerState.ERROR, error=f"{NOT_SENT}: the server is down")
                continue
            if each.id == "long":
                yield Answer(each.id, AnswerState.ERROR, error="long", error_class=ErrorClass.TOO_LONG)
                continue
            state = AnswerState.ERROR if each.id == "fail" else AnswerState.OK
            yield Answer(each.id, state, each.id, n_prompt_tokens=3, n_completion_tokens=2)


class TestModelsThatPassNoLimiter:
    def limiter(self, folder: Path, budget: Budget) -> SharedLimiter:
        return SharedLimiter(folder / "limits", folder / "spent", budget)

    def test_requests_to_models_without_a_limiter_are_counted(self, tmp_path: Path) -> None:
        limiter = self.limiter(tmp_path, Budget())
        answers = list(admit_requests(Local(), [request("a"), request("fail"), request("b")], limiter))
        assert [answer.request_id for answer in answers] == ["a", "fail", "b"]
        spent = limiter.spent
        assert (spent.n_requests, spent.n_prompt_tokens, spent.n_completion_tokens, spent.n_unanswered) == (3, 6, 4, 1)

    def test_request_that_a_breaker_kept_back_is_not_counted(self, tmp_path: Path) -> None:
        limiter = self.limiter(tmp_path, Budget())
        assert len(list(admit_requests(Local(), [request("a"), request("kept back")], limiter))) == 2
        assert (limiter.spent.n_requests, limiter.spent.n_tokens, limiter.spent.n_unanswered) == (1, 5, 0)

    def test_overlong_prompt_is_counted_without_tokens(self, tmp_path: Path) -> None:
        limiter = self.limiter(tmp_path, Budget())
        assert len(list(admit_requests(Local(), [request("long")], limiter))) == 1
        assert (limiter.spent.n_requests, limiter.spent.n_tokens, limiter.spent.n_unanswered) == (1, 0, 0)

    def test_models_without_a_limiter_answer_until_the_budget_is_spent(self, tmp_path: Path) -> None:
        answers = admit_requests(
            Local(), [request(name) for name in "abcde"], self.limiter(tmp_path, Budget(max_requests=3))
        )
        seen: list[str] = []
        with pytest.raises(BudgetReached, match=r"run\.max_requests=3"):
            seen.extend(answer.request_id for answer in answers)
        assert seen == list("abc")
        assert self.limiter(tmp_path, Budget()).spent.n_requests == 3

    def test_tokens_unused_by_earlier_requests_remain_available_to_local_models(self, tmp_path: Path) -> None:
        budget = Budget(max_tokens=30)  # 10 for each reply at most, and 5 in the end
        answers = list(admit_requests(Local(), [request(name) for name in "abcd"], self.limiter(tmp_path, budget)))
        assert [answer.request_id for answer in answers] == list("abcd")

    @pytest.mark.parametrize(
        ("budget", "n_calls"),
        [(Budget(max_tokens=500), 1), (Budget(max_tokens=3_500), 3), (Budget(max_requests=4), 4)],
    )
    def test_tokens_of_the_first_call_bound_calls_of_unknown_size(
        self, budget: Budget, n_calls: int, tmp_path: Path
    ) -> None:
        """A pipeline may use any number of tokens. All eight calls began when their questions fitted the budget."""
        called: list[str] = []

        @dataclass(frozen=True)
        class Pipeline(Local):
            max_new_tokens: int = 0
            is_built_in: ClassVar[bool] = False

            def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
                for each in requests:
                    called.append(each.id)
                    yield Answer(each.id, AnswerState.OK, "yes", n_prompt_tokens=900, n_completion_tokens=100)

        with pytest.raises(BudgetReached):
            list(admit_requests(Pipeline(), [request(name) for name in "abcdefgh"], self.limiter(tmp_path, budget)))
        assert called == list("abcdefgh")[:n_calls]

    def test_attempts_may_be_copies_from_another_process(self, tmp_path: Path) -> None:
        """An actor on another machine admits one copy of an attempt and settles another."""
        limiter, account = self.limiter(tmp_path, Budget(max_tokens=10_000)), Account("url", "m", "key")
        for number in range(6):
            attempt = Attempt(account, Tokens(10 + number, 0), 1.0)
            assert limiter.admit(pickle.loads(pickle.dumps(attempt))) == 0
            limiter.settle(pickle.loads(pickle.dumps(attempt)), Tokens(1_000, 0))
        assert limiter.spent.n_tokens == 6_000
        assert not limiter._reserved

    def test_server_requests_of_models_without_a_limiter_count_once(self, tmp_path: Path) -> None:
        limiter = self.limiter(tmp_path, Budget())

        @dataclass(frozen=True)
        class Asking(Local):
            def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
                for each in super().generate(requests):
                    assert current_limiter() is not limiter
                    yield each

        with use_limiter(limiter):
            for _ in admit_requests(Asking(), [request("a"), request("b")], limiter):
                assert current_limiter() is limiter
        assert limiter.spent.n_requests == 2
