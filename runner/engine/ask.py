"""The one service through which every role asks a language model: generators, judges, and whoever comes next.

Replies are kept **by request**: under what the model reads (its identity, the purpose, the messages, the draw), never
under the set of samples that the request was part of. A question added, a topic relabelled, a reference mended or a
smaller `dataset.limit` asks for nothing that was answered before.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import sha256
from typing import Protocol

from components.errors import ComponentError
from components.openai_server.gate import Tokens, current_gate
from components.protocols import LLM, AnswersFrom
from components.records import Answer, AnswerState, Request
from runner.engine.answers_without_secrets import without_secrets_in
from runner.engine.checked_answers import checked_answers
from runner.engine.identity import describe, key_of
from runner.engine.source_code import model_code, package_code, require_equal_files
from runner.engine.spending.admitted import admitted, most_tokens

log = logging.getLogger(__name__)

_LOT_S = 1.0
_WAIT_S = 0.2
_SAID_AFTER_WAITS = 10

Report = Callable[[int, int], None]
"""Called with (done, all) as a long stage gets on."""


class Asking(Protocol):
    """Puts requests to a model. Called as `components.protocols.Ask`."""

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        """One answer per request, in order."""

    @property
    def usage(self) -> Mapping[str, int | None]:
        """What the answers cost when nothing is kept."""


class Claiming(Protocol):
    """Which of several processes asks for what: `runner.engine.store.claims.Claims`."""

    def take(self, keys: Collection[str]) -> AbstractContextManager[Collection[str]]:
        """Those of the keys that are this process's to ask for while the context lasts."""


class KeptReplies(Protocol):
    """All replies that a model ever gave for one purpose: `runner.engine.store.replies.Replies`."""

    @property
    def claims(self) -> Claiming:
        """To replies that are on their way."""

    def get_all(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Those to some requests, by key."""

    def add_all(self, answers: Sequence[Answer]) -> list[Answer]:
        """Keeps those that did not fail, under their `request_id`, and returns all as they will be read."""


class Asker:
    """Asks one model for one purpose, keeps the replies, and counts."""

    def __init__(self, llm: LLM, replies: KeptReplies, report: Report) -> None:
        """`replies` are those of this model for this purpose."""
        self._llm = llm
        self._replies = replies
        self._report = report
        self.asks_a_language_model = is_language_model(llm)
        self.n_failed = 0
        self._n_requests = 0
        self._n_prompt_tokens: int | None = 0
        self._n_completion_tokens: int | None = 0
        self._n_cached_tokens = 0

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        """One answer per request, in order; equal requests are asked once. Failed ones are not kept: the next run asks
        for them again. Raises ComponentError if the model leaves a request without any answer.
        """
        keys = request_keys(self._llm, requests)
        found = self._found_or_asked(dict(zip(keys, requests, strict=True)))
        answers = [replace(found[key], request_id=request.id) for key, request in zip(keys, requests, strict=True)]
        self._count(answers)
        return answers

    def _found_or_asked(self, wanted: Mapping[str, Request]) -> dict[str, Answer]:
        """By key. What another process asks for at this moment is waited for; if that fails, it is asked for here."""
        found = self._replies.get_all(wanted)
        self._report(len(found), len(wanted))
        n_waits = 0
        while missing := [key for key in wanted if key not in found]:
            with self._replies.claims.take(missing) as claimed:
                found |= self._replies.get_all(missing)  # what others were given before the claim
                own = {key: wanted[key] for key in missing if key in claimed and key not in found}
                for answer in self._asked(own):
                    found[answer.request_id] = answer
                    self._report(len(found), len(wanted))
            if not claimed:
                n_waits += 1
                self._wait_for_others(n_waits, len(missing))
        return found

    def _wait_for_others(self, n_waits: int, n_missing: int) -> None:
        if n_waits == _SAID_AFTER_WAITS:
            model = getattr(self._llm, "model", type(self._llm).__name__)
            log.warning(
                "waiting for %d replies of %s, for which another process is asking; if that one was stopped (Ctrl-Z), "
                "let it go on, or end it: its requests are then asked for here",
                n_missing,
                model,
            )
        time.sleep(_WAIT_S)

    def _asked(self, requests: Mapping[str, Request]) -> Iterator[Answer]:
        """Answers as they come, written down. Raises ComponentError if the model leaves a request without one or gives
        one that `checked_answers` refuses, or if a file changed that the model reads. Raises BudgetReached when all
        answers have come to what was sent before that.
        """
        lacking = dict(requests)
        if requests:
            generated = without_secrets_in(
                self._generated([replace(request, id=key) for key, request in requests.items()])
            )
            # Each by itself if it may have cost money.
            lots = ([answer] for answer in generated) if self.asks_a_language_model else _in_lots(generated)
            for lot in lots:
                require_equal_files(type(self._llm), as_model=self.asks_a_language_model)
                for answer in self._replies.add_all(lot):
                    lacking.pop(answer.request_id, None)
                    yield answer
        if lacking:
            raise ComponentError(
                f"{type(self._llm).__name__}: {len(lacking)} requests got no answer at all, e.g. "
                f"{next(iter(lacking.values())).id!r}; expected one each"
            )

    def _generated(self, requests: Sequence[Request]) -> Iterator[Answer]:
        is_stand_in = getattr(self._llm, "is_stand_in", False)
        if self.asks_a_language_model and not is_stand_in and not hasattr(self._llm, "account"):
            return admitted(self._llm, requests, current_gate())
        return checked_answers(self._llm, requests)

    def _count(self, answers: Sequence[Answer]) -> None:
        self._n_requests += len(answers)
        self.n_failed += sum(answer.state is AnswerState.ERROR for answer in answers)
        self._n_prompt_tokens = total([self._n_prompt_tokens, *(answer.n_prompt_tokens for answer in answers)])
        self._n_completion_tokens = total(
            [self._n_completion_tokens, *(answer.n_completion_tokens for answer in answers)]
        )
        self._n_cached_tokens += sum(answer.n_cached_tokens for answer in answers)

    @property
    def usage(self) -> dict[str, int | None]:
        """Requests and tokens (None where the provider did not count them), kept replies included: what these answers
        cost when nothing is kept.
        """
        return {
            "n_requests": self._n_requests,
            "n_prompt_tokens": self._n_prompt_tokens,
            "n_completion_tokens": self._n_completion_tokens,
            "n_cached_tokens": self._n_cached_tokens,
        }


class CountingAsker:
    """Asks nothing: answers from what is kept, and counts the requests that would have been made.

    What is missing ends as ERROR, so whoever asks again only after a reply (a judge whose reply could not be read)
    asks for nothing more: the count is that of the first round.
    """

    def __init__(self, llm: LLM, replies: KeptReplies) -> None:
        self._llm = llm
        self._replies = replies
        self._missing: dict[str, Tokens] = {}
        names = ("n_requests", "n_prompt_tokens", "n_completion_tokens", "n_cached_tokens")
        self.usage: Mapping[str, int | None] = dict.fromkeys(names, 0)

    @property
    def missing(self) -> Mapping[str, Tokens]:
        """Keys of the distinct requests that are not kept, with the tokens that each may take."""
        return self._missing

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        """Kept answers, and failed ones in the place of those that are not kept."""
        keys = request_keys(self._llm, requests)
        kept = self._replies.get_all(keys)
        for key, request in zip(keys, requests, strict=True):
            if key not in kept and key not in self._missing:
                self._missing[key] = most_tokens(self._llm, request.messages)
        return [
            replace(kept[key], request_id=request.id)
            if key in kept
            else Answer(request.id, AnswerState.ERROR, error="counted, not asked")
            for key, request in zip(keys, requests, strict=True)
        ]


def _in_lots(answers: Iterable[Answer]) -> Iterator[list[Answer]]:
    """What comes within a second together: a file is opened for each lot."""
    lot, began = list[Answer](), time.monotonic()
    for answer in answers:
        lot.append(answer)
        if time.monotonic() - began > _LOT_S:
            yield lot
            lot, began = [], time.monotonic()
    if lot:
        yield lot


def is_language_model(llm: LLM) -> bool:
    """False for a baseline, which computes its answers here, and for no generator at all."""
    return llm.answers_from is AnswersFrom.MESSAGES


def replies_key(llm: LLM, purpose: str) -> str:
    """The key of the folder that holds a model's replies for one purpose ("answers", or the metric of a judge).

    A user's language model costs money: of its package only the code that it reaches counts, so that an edit elsewhere
    pays for no answer again. A baseline costs nothing, and its whole package counts as in all other stages.
    """
    return key_of([purpose, describe(llm, code_of=model_code if is_language_model(llm) else package_code)])


def request_keys(llm: LLM, requests: Sequence[Request]) -> list[str]:
    """Equal for requests that the model cannot tell apart. A model that draws its answers (temperature > 0) is asked
    once for each of several equal requests: they are told apart by their number.
    """
    keys = [_key_of(llm, request) for request in requests]
    if not getattr(llm, "temperature", 0.0):
        return keys
    seen: Counter[str] = Counter()
    drawn = []
    for key in keys:
        drawn.append(f"{key}-{seen[key]}" if seen[key] else key)
        seen[key] += 1
    return drawn


def _key_of(llm: LLM, request: Request) -> str:
    messages = [[message.role, message.content] for message in request.messages]
    schema = None if request.json_schema is None else describe(request.json_schema)
    key = key_of([messages, schema, request.draw])
    if is_language_model(llm):
        return key
    # Baselines look at the sample and the passages themselves: these are their request.
    return sha256(f"{key} {request.sample!r} {request.passages!r}".encode("utf-8", "surrogatepass")).hexdigest()


def total(counts: Sequence[int | None]) -> int | None:
    """The sum of counted tokens; None if any is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
