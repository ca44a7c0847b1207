"""The service that sends the requests of every role to language models, such as generators and judges.

Replies are stored **by request**: their key covers model, purpose, messages and draw, but no other sample.
An added question, a new topic, a corrected reference or a
smaller `dataset.limit` repeats no answered request.
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
from components.openai_server.limiter import Tokens, current_limiter
from components.protocols import LLM, AnswersFrom
from components.records import Answer, AnswerState, Request
from runner.engine.checked_answers import hide_secrets, validate_answers
from runner.engine.identity import describe, hash_description
from runner.engine.plugins.plugin_loading import code_class
from runner.engine.source_code import model_code, package_code, require_equal_files
from runner.engine.spending.admission import admit_requests, max_request_tokens

log = logging.getLogger(__name__)

_BATCH_S = 1.0
"""Seconds for which the answers of a stand-in are collected before they are stored together."""

_WAIT_S = 0.2
"""Seconds between checks for replies that another process has requested."""

_WARN_AFTER_WAITS = 10
"""Checks without a claim before a warning names the other process."""

ReportProgress = Callable[[int, int], None]
"""Callback for the progress of a long stage. Takes (done, all)."""


class AskFunction(Protocol):
    """A function that sends requests to a model. Called as `components.protocols.Ask`."""

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        """Return one answer per request, in order."""

    @property
    def usage(self) -> Mapping[str, int | None]:
        """Numbers of requests and tokens behind the answers, cached replies included."""


class ClaimStore(Protocol):
    """Divides requests between processes. Implemented by `runner.engine.store.claims.Claims`."""

    def take(self, keys: Collection[str]) -> AbstractContextManager[Collection[str]]:
        """Claim the keys that no other process has claimed until the context ends. Yields these keys."""


class StoredReplies(Protocol):
    """All stored replies of a model for one purpose. Implemented by `runner.engine.store.replies.Replies`."""

    @property
    def claims(self) -> ClaimStore:
        """Claims to replies that are being requested."""

    def get_all(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return the stored replies to some requests, by key."""

    def add_all(self, answers: Sequence[Answer], hidden: Mapping[str, Sequence[str]]) -> list[Answer]:
        """Store the answers that did not fail under their `request_id`. Returns all answers as they will be read.

        `hidden` names the variables whose values were hidden in an answer, by `request_id`.
        """

    def hidden_variables(self, replies: Collection[str]) -> dict[str, Sequence[str]]:
        """Return the variables whose values were hidden in replies of the last `get_all`, by key."""


class Asker:
    """Sends requests to one model for one purpose, stores the replies, and counts requests and tokens."""

    def __init__(
        self, llm: LLM, replies: StoredReplies, report: ReportProgress, note_files: Callable[[], None] = lambda: None
    ) -> None:
        """`replies` must belong to this model and this purpose. `note_files` is called before answers are stored."""
        self._llm = llm
        self._replies = replies
        self._report = report
        self._note_files = note_files
        self.asks_a_language_model = is_language_model(llm)
        self.n_failed = 0
        self._hidden_in: dict[str, Sequence[str]] = {}
        self._n_requests = 0
        self._n_prompt_tokens: int | None = 0
        self._n_completion_tokens: int | None = 0
        self._n_cached_tokens = 0

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        """Return one answer per request, in order. Equal requests are sent once.

        Failed answers are not stored: the next run asks again. Raises ComponentError if the model leaves a request
        unanswered.
        """
        keys = request_keys(self._llm, requests)
        replies = self._get_or_ask(dict(zip(keys, requests, strict=True)))
        answers = [replace(replies[key], request_id=request.id) for key, request in zip(keys, requests, strict=True)]
        self._count(answers)
        return answers

    def _get_or_ask(self, requests: Mapping[str, Request]) -> dict[str, Answer]:
        """Return answers by key. Waits for requests that another process is sending, and sends them here if that
        process fails.
        """
        answers = self._replies.get_all(requests)
        self._report(len(answers), len(requests))
        self._hidden_in |= self._replies.hidden_variables(answers)
        n_waits = 0
        while missing := [key for key in requests if key not in answers]:
            with self._replies.claims.take(missing) as claimed:
                answers |= self._replies.get_all(missing)  # other processes may have received some replies
                self._hidden_in |= self._replies.hidden_variables(answers)
                claimed_requests = {key: requests[key] for key in missing if key in claimed and key not in answers}
                for answer in self._ask(claimed_requests):
                    answers[answer.request_id] = answer
                    self._report(len(answers), len(requests))
            if not claimed:
                n_waits += 1
                self._wait_for_others(n_waits, len(missing))
        return answers

    def _wait_for_others(self, n_waits: int, n_missing: int) -> None:
        if n_waits == _WARN_AFTER_WAITS:
            model = getattr(self._llm, "model", type(self._llm).__name__)
            log.warning(
                "waiting for %d replies of %s, which another process requested. If that process is suspended "
                "(Ctrl-Z), resume or end it; when it ends, this process sends the requests.",
                n_missing,
                model,
            )
        time.sleep(_WAIT_S)

    def _ask(self, requests: Mapping[str, Request]) -> Iterator[Answer]:
        """Send the requests and yield each answer once it is stored.

        Raises ComponentError if the model leaves a request unanswered, if `validate_answers` refuses an answer, or if a
        file changed that the model reads. Raises BudgetReached after the answers to all requests already sent.
        """
        unanswered = dict(requests)
        if requests:
            generated = hide_secrets(
                self._generate([replace(request, id=key) for key, request in requests.items()]), self._hidden_in
            )
            # An answer that may have cost money is stored immediately.
            batches = ([answer] for answer in generated) if self.asks_a_language_model else _batches(generated)
            for batch in batches:
                require_equal_files(code_class(self._llm), as_model=self.asks_a_language_model)
                self._note_files()
                for answer in self._replies.add_all(batch, self._hidden_in):
                    unanswered.pop(answer.request_id, None)
                    yield answer
        if unanswered:
            raise ComponentError(
                f"{type(self._llm).__name__}: {len(unanswered)} requests got no answer, e.g. "
                f"{next(iter(unanswered.values())).id!r}, expected one answer per request"
            )

    def _generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        is_stand_in = getattr(self._llm, "is_stand_in", False)
        if self.asks_a_language_model and not is_stand_in and not hasattr(self._llm, "account"):
            return admit_requests(self._llm, requests, current_limiter())
        return validate_answers(self._llm, requests)

    def _count(self, answers: Sequence[Answer]) -> None:
        self._n_requests += len(answers)
        self.n_failed += sum(answer.state is AnswerState.ERROR for answer in answers)
        self._n_prompt_tokens = total([self._n_prompt_tokens, *(answer.n_prompt_tokens for answer in answers)])
        self._n_completion_tokens = total(
            [self._n_completion_tokens, *(answer.n_completion_tokens for answer in answers)]
        )
        self._n_cached_tokens += sum(answer.n_cached_tokens for answer in answers)

    @property
    def hidden(self) -> Counter[str]:
        """Answers in which the value of a secret variable was hidden, by variable. Cached replies count."""
        return Counter(variable for names in self._hidden_in.values() for variable in names)

    @property
    def usage(self) -> dict[str, int | None]:
        """Requests and tokens, cached replies included: the cost of these answers if nothing were cached.

        Tokens are None if the provider did not count them.
        """
        return {
            "n_requests": self._n_requests,
            "n_prompt_tokens": self._n_prompt_tokens,
            "n_completion_tokens": self._n_completion_tokens,
            "n_cached_tokens": self._n_cached_tokens,
        }


class CachedReplies:
    """Answers from the stored replies without requests, and counts the missing replies.

    A missing reply becomes an answer with state ERROR. A judge repeats a request only after an unreadable reply, so the
    count covers only the first round.
    """

    def __init__(self, llm: LLM, replies: StoredReplies) -> None:
        self._llm = llm
        self._replies = replies
        self._missing: dict[str, Tokens] = {}
        names = ("n_requests", "n_prompt_tokens", "n_completion_tokens", "n_cached_tokens")
        self.usage: Mapping[str, int | None] = dict.fromkeys(names, 0)

    @property
    def missing(self) -> Mapping[str, Tokens]:
        """Keys of the distinct requests without a stored reply, with the maximum number of tokens of each."""
        return self._missing

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        """Return one answer per request, in order: the stored one, or a failed one."""
        keys = request_keys(self._llm, requests)
        stored = self._replies.get_all(keys)
        for key, request in zip(keys, requests, strict=True):
            if key not in stored and key not in self._missing:
                self._missing[key] = max_request_tokens(self._llm, request.messages)
        return [
            replace(stored[key], request_id=request.id)
            if key in stored
            else Answer(request.id, AnswerState.ERROR, error="counted, not asked")
            for key, request in zip(keys, requests, strict=True)
        ]


def _batches(answers: Iterable[Answer]) -> Iterator[list[Answer]]:
    """Yield the answers of each second together, because each batch opens a file."""
    batch, began = list[Answer](), time.monotonic()
    for answer in answers:
        batch.append(answer)
        if time.monotonic() - began > _BATCH_S:
            yield batch
            batch, began = [], time.monotonic()
    if batch:
        yield batch


def is_language_model(llm: LLM) -> bool:
    """Return False for a stand-in, which computes its answers in this process, and for a cell without a generator."""
    return llm.answers_from is AnswersFrom.MESSAGES


def compute_replies_key(llm: LLM, purpose: str) -> str:
    """Return the key of a model's replies for one purpose ("answers", or the metric of a judge).

    A user's language model costs money: its key covers only the code that it reaches, so that an edit elsewhere in its
    package does not repeat paid requests. A stand-in costs nothing: its key covers its whole package, as in all other
    stages.
    """
    return hash_description([purpose, describe(llm, code_of=model_code if is_language_model(llm) else package_code)])


def request_keys(llm: LLM, requests: Sequence[Request]) -> list[str]:
    """Return one key per request. Requests have equal keys if the model cannot distinguish them.

    A model with a temperature above 0 draws its answers. Each of several equal requests is sent, and a number in
    the key distinguishes them.
    """
    keys = [_make_key(llm, request) for request in requests]
    if not getattr(llm, "temperature", 0.0):
        return keys
    seen: Counter[str] = Counter()
    numbered = []
    for key in keys:
        numbered.append(f"{key}-{seen[key]}" if seen[key] else key)
        seen[key] += 1
    return numbered


def _make_key(llm: LLM, request: Request) -> str:
    messages = [[message.role, message.content] for message in request.messages]
    schema = None if request.json_schema is None else describe(request.json_schema)
    key = hash_description([messages, schema, request.draw])
    if is_language_model(llm):
        return key
    # A stand-in reads the sample and the passages, so these belong to its request.
    return sha256(f"{key} {request.sample!r} {request.passages!r}".encode("utf-8", "surrogatepass")).hexdigest()


def total(counts: Sequence[int | None]) -> int | None:
    """Return the sum of the counts. None if any count is unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
