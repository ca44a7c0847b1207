"""A check that no answer is lost, mixed up or paid twice if three of ten requests fail, or after SIGKILL.

A reply is *paid* when the server has delivered a complete sound answer on an open connection. It is paid *twice* if its
request is sent again although the answer was stored. It is unknown whether replies in transit at a kill arrived. They
are counted separately, and there may be as many as concurrent requests.
"""

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.chat_endpoint import Behaviour, Endpoint, answer_to, serving
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.llms.openai_chat import OpenAIChat
from components.openai_server.limiter import use_limiter
from components.records import Answer, AnswerState, Kind, Message, Request, Sample
from runner.engine.ask import Asker, compute_replies_key, request_keys
from runner.engine.spending import SharedLimiter
from runner.engine.store import Store

_N, _N_KILLS, _CONCURRENCY = 10_000, 3, 64
_BEHAVIOUR = Behaviour(delay_s=0.02, chaos=0.3, hang_s=2.0, storm_s=0.003)
_MAX_SECONDS = 120.0


@dataclass(frozen=True)
class Endured:
    """The outcome of `n` requests.

    - `n_wrong`: requests that ended without the right answer
    - `n_paid_twice`: requests sent again although their answers were stored
    - `n_lost_to_kills`: requests paid again because a kill lost their replies
    - `n_asked`: attempts counted by the server
    - `n_spent`: attempts counted by the ledger
    """

    n: int
    n_wrong: int
    n_paid_twice: int
    n_lost_to_kills: int
    n_asked: int
    n_spent: int
    n_failed: int
    seconds: float


def measure(settings: Settings) -> list[Measure]:
    """Run the full test. Nothing may be lost or paid twice."""
    endured = endure(settings.scratch, _N, _N_KILLS, _CONCURRENCY, _BEHAVIOUR)
    detail = (
        f"{endured.n:,} requests, {endured.n_asked:,} attempts of which {endured.n_failed:,} failed, {_N_KILLS} kills"
    )
    return [
        Measure("answers lost or wrong under chaos and SIGKILL", endured.n_wrong, "", detail, Bound(0)),
        Measure("kept answers that were paid again", endured.n_paid_twice, "", detail, Bound(0)),
        Measure(
            "answers on their way at a kill, paid again",
            endured.n_lost_to_kills / _N_KILLS,
            "per kill",
            f"with {_CONCURRENCY} requests under way",
            Bound(3 * _CONCURRENCY),
        ),
    ]


def endure(folder: Path, n: int, n_kills: int, concurrency: int, behaviour: Behaviour) -> Endured:
    """Request `n` answers in several processes. The first ones are killed on the way."""
    started = time.perf_counter()
    paid_twice: set[str] = set()
    with serving(behaviour) as endpoint:
        for kill in range(1, n_kills + 1):
            seen = len(endpoint.log())
            stored = _stored_prompts(folder, endpoint, n, concurrency)
            _run_until_killed(folder, endpoint, n, concurrency, n_stored=n * kill // (n_kills + 1))
            paid_twice |= stored & {asked.prompt for asked in endpoint.log()[seen:]}
        seen = len(endpoint.log())
        stored = _stored_prompts(folder, endpoint, n, concurrency)
        answers = ask_all(folder, endpoint.url, n, concurrency)
        log = endpoint.log()
        paid_twice |= stored & {asked.prompt for asked in log[seen:]}
    paid = Counter(asked.prompt for asked in log if asked.delivered)
    return Endured(
        n,
        _n_wrong(answers, n),
        len(paid_twice),
        sum(times - 1 for times in paid.values()),
        len(log),
        int(_limiter(folder).spent.n_requests),
        sum(not asked.delivered for asked in log),
        time.perf_counter() - started,
    )


def ask_all(folder: Path, url: str, n: int, concurrency: int) -> list[Answer]:
    """Return all answers, including stored ones."""
    llm = _llm(url, concurrency)
    asker = Asker(llm, _store(folder).replies(compute_replies_key(llm, "answers")), lambda done, total: None)
    with use_limiter(_limiter(folder)):
        return asker(_requests(n))


def _n_wrong(answers: Sequence[Answer], n: int) -> int:
    right = [
        answer.request_id == str(number)
        and answer.state is AnswerState.OK
        and answer.text == answer_to(_prompt(number))
        for number, answer in enumerate(answers)
    ]
    return n - sum(right)


def _run_until_killed(folder: Path, endpoint: Endpoint, n: int, concurrency: int, n_stored: int) -> None:
    """Run a process that is killed as soon as `n_stored` answers are stored."""
    process = multiprocessing.get_context("spawn").Process(
        target=ask_all, args=(folder, endpoint.url, n, concurrency), daemon=True
    )
    process.start()
    assert process.pid is not None
    last = time.monotonic() + _MAX_SECONDS
    while len(_stored_prompts(folder, endpoint, n, concurrency)) < n_stored:
        if not process.is_alive() or time.monotonic() > last:
            raise RuntimeError(f"the process did not come to {n_stored} answers, and was not killed")
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def _stored_prompts(folder: Path, endpoint: Endpoint, n: int, concurrency: int) -> set[str]:
    """Return the prompts whose answers are stored."""
    llm, requests = _llm(endpoint.url, concurrency), _requests(n)
    keys = request_keys(llm, requests)
    found = _store(folder).replies(compute_replies_key(llm, "answers")).get_all(keys)
    return {request.messages[0].content for key, request in zip(keys, requests, strict=True) if key in found}


def _llm(url: str, concurrency: int) -> OpenAIChat:
    return OpenAIChat(
        "m", base_url=url, api_key_env="", timeout_s=0.7, max_retries=30, backoff_s=0.01, concurrency=concurrency
    )


def _requests(n: int) -> list[Request]:
    sample = Sample("s", "qa", Kind.QA, "?", ())
    return [Request(str(number), (Message("user", _prompt(number)),), sample, ()) for number in range(n)]


def _prompt(number: int) -> str:
    return f"question {number}"


def _store(folder: Path) -> Store:
    return Store(folder / "store")


def _limiter(folder: Path) -> SharedLimiter:
    return SharedLimiter(folder / "store" / "limits", folder / "spent")
