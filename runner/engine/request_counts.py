"""How many requests to models behind servers a plan comes to, and what these take: counted from what is kept, with no
model asked.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from components.openai_server.gate import Tokens
from components.protocols import LLM
from runner.engine.ask import Asking, CountingAsker, is_language_model, replies_key
from runner.engine.cache import Cache
from runner.engine.edited_models import EditedModel, edited_model
from runner.engine.stage import AnyStage, ServerRequests, Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store

T = TypeVar("T")


@dataclass(frozen=True)
class RequestCount:
    """Requests to models behind servers that the stages of one kind will make. `is_exact` if they were counted from
    prompts or texts that are kept; else as many at most: kept replies are not subtracted, nor what turns out to be
    equal or not applicable. `n_with_repeats` is their number at most if unreadable replies are asked for again.
    `title` is the kind for users.
    """

    kind: str
    title: str
    n_requests: int
    is_exact: bool
    n_with_repeats: int
    tokens: Sequence[tuple[object, Tokens]] | None = ()
    """What they take at most, by component, estimated by the length of their texts; None if that cannot be told."""
    tokens_with_repeats: Sequence[tuple[object, Tokens]] | None = ()
    """The same for `n_with_repeats`."""
    edited: Sequence[EditedModel] = ()
    """Users' models whose earlier code gave some of these answers."""


_Missing = dict[tuple[str, str, str], tuple[LLM, Tokens]]
"""Requests that are not kept, by their purpose, the key of the model's replies and their own: whom they go to, and the
tokens that they may take.
"""


class _CountingRun(Run):
    """A run whose models are not asked."""

    def __init__(self, stage: AnyStage, store: Store, cache: Cache) -> None:
        super().__init__(stage, store, cache, lambda done, total: None)
        self._counted: list[tuple[LLM, str, str, CountingAsker]] = []

    def ask(self, llm: LLM, purpose: str) -> Asking:
        """Counts instead."""
        replies = replies_key(llm, purpose)
        asker = CountingAsker(llm, self._store.replies(replies))
        self._counted.append((llm, purpose, replies, asker))
        return asker

    @property
    def workspace(self) -> Path:
        """Not made: counting leaves nothing."""
        return self._store.workspace_path(self._key)

    @property
    def missing(self) -> _Missing:
        """Distinct requests that are not kept."""
        return {
            (purpose, replies, key): (llm, tokens)
            for llm, purpose, replies, asker in self._counted
            for key, tokens in asker.missing.items()
        }


class _ReadingAhead(_CountingRun):
    """A run before its inputs are there: those that are not kept are made on the spot, each once, and not kept. Whoever
    is asked ahead reads what is made at once, such as the samples.
    """

    def __init__(self, stage: AnyStage, store: Store, cache: Cache, made: dict[str, object]) -> None:
        super().__init__(stage, store, cache)
        self._made = made

    def read(self, stage: Stage[T]) -> T:
        """The result of an input."""
        if self._store.is_kept(stage.kind, stage.key):
            return super().read(stage)
        if stage.key not in self._made:
            # In a run of its own: what it would ask for is counted where it is wanted itself.
            self._made[stage.key] = stage.make(_ReadingAhead(stage, self._store, self._cache, self._made))
        return self._made[stage.key]  # type: ignore[return-value]  # kept under the key of a Stage[T]


def request_counts(needed: Mapping[str, AnyStage], kept: set[str], store: Store) -> tuple[RequestCount, ...]:
    """Of the stages that are to be run, by key; `kept` are the keys of results that are there.

    Where all inputs of a stage are kept, or are made at once, its prompts are made and held against the kept replies:
    equal requests of several stages count once.
    """
    of_kinds: dict[str, _OfKind] = defaultdict(_OfKind)
    asking = [stage for stage in needed.values() if stage.n_requests]
    cache, made = Cache(), dict[str, object]()
    for stage in asking:
        own = of_kinds[stage.kind]
        missing = None
        if stage.counts_ahead:
            missing = _missing(stage, _ReadingAhead(stage, store, cache, made))
        elif all(before.key in kept for before in stage.inputs):
            missing = _missing(stage, _CountingRun(stage, store, cache))
        own.unanswered |= missing or {}
        if missing is None:
            own.estimate(stage.n_requests, stage, [_told_ahead(stage, _ReadingAhead(stage, store, cache, made))])
        elif missing and _follows_asking(stage, needed):  # what it will read is not what there is by now
            own.estimate(len(missing), stage, list(missing.values()))
        elif missing and stage.n_rounds > 1:  # any of them may be the first of its rounds
            own.estimate(min(stage.n_requests, stage.n_rounds * len(missing)), stage, [None])
        else:
            own.exact |= dict.fromkeys(missing, stage.n_attempts)
    of_components = _server_request_counts(
        [(stage, _ReadingAhead(stage, store, cache, made)) for stage in reversed(tuple(needed.values()))]
    )
    titles = {stage.kind: stage.title for stage in asking}
    return (*of_components, *(of_kinds[kind].count(kind, title, store) for kind, title in titles.items()))


@dataclass
class _OfKind:
    """Requests of the stages of one kind, while they are counted."""

    exact: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Attempts at most, by request."""
    unanswered: _Missing = field(default_factory=dict)
    n_estimated: int = 0
    n_estimated_with_repeats: int = 0
    ahead: list[tuple[tuple[LLM, Tokens] | None, int]] = field(default_factory=list)
    """Tokens of estimated requests, with their attempts at most."""

    def estimate(self, n: int, stage: AnyStage, tokens: Sequence[tuple[LLM, Tokens] | None]) -> None:
        """Adds `n` requests of a stage, which take these tokens."""
        self.n_estimated += n
        self.n_estimated_with_repeats += n * stage.n_attempts
        self.ahead += [(each, stage.n_attempts) for each in tokens]

    def count(self, kind: str, title: str, store: Store) -> RequestCount:
        """All of them."""
        tokens = [*self.ahead, *((self.unanswered[key], n_attempts) for key, n_attempts in self.exact.items())]
        return RequestCount(
            kind,
            title,
            self.n_estimated + len(self.exact),
            not self.n_estimated,
            self.n_estimated_with_repeats + sum(self.exact.values()),
            _summed([each for each, _ in tokens]),
            _summed([each and (each[0], _with_repeats(each[1], n_attempts)) for each, n_attempts in tokens]),
            _edited(self.unanswered, store),
        )


def _with_repeats(tokens: Tokens, n_attempts: int) -> Tokens:
    """Of a request that is sent so many times: each repeat shows the replies before it too."""
    n_shown = n_attempts * (n_attempts - 1) // 2
    return Tokens(n_attempts * tokens.n_prompt + n_shown * tokens.n_completion, n_attempts * tokens.n_completion)


def _edited(missing: _Missing, store: Store) -> list[EditedModel]:
    requests: dict[tuple[str, str], list[str]] = defaultdict(list)
    models = {(purpose, replies): llm for (purpose, replies, _), (llm, _) in missing.items()}
    for purpose, replies, request in missing:
        requests[purpose, replies].append(request)
    found = (edited_model(llm, each[0], requests[each], store) for each, llm in models.items())
    return [each for each in found if each]


def _follows_asking(stage: AnyStage, needed: Mapping[str, AnyStage]) -> bool:
    """Whether a stage before this one, which is not kept, asks a language model."""
    return any(before.n_requests for before in stage.upstream() if before is not stage and before.key in needed)


def _server_request_counts(stages: Sequence[tuple[AnyStage, Run]]) -> Iterator[RequestCount]:
    """Of the components that ask servers by themselves."""
    of_kind: dict[tuple[str, str], list[ServerRequests]] = defaultdict(list)
    for stage, run in stages:
        if asked := _server_requests(stage, run):
            of_kind[stage.kind, stage.title].append(asked)
    for (kind, title), counts in of_kind.items():
        n_requests = sum(count.n_requests for count in counts)
        tokens = _summed([(count.component, Tokens(count.n_tokens)) for count in counts])
        # Stages of one kind may score the same pairs, for which only the first of them asks.
        is_exact = len(counts) == 1 and counts[0].is_exact
        yield RequestCount(kind, title, n_requests, is_exact, n_requests, tokens, tokens)


def _server_requests(stage: AnyStage, run: Run) -> ServerRequests | None:
    try:
        return stage.server_requests(run)
    except Exception:  # noqa: BLE001 - whatever is wrong is reported when the stage is run; here it is not counted
        return None


def _told_ahead(stage: AnyStage, run: Run) -> tuple[LLM, Tokens] | None:
    """Whom a stage asks whose requests are not written yet, and the tokens that they take at most; None if that cannot
    be told.
    """
    models = [part for part in stage.components() if isinstance(part, LLM) and is_language_model(part)]
    try:
        most = stage.most_tokens(run)
    except Exception:  # noqa: BLE001 - whatever is wrong is reported when the stage is run; here it is not counted
        return None
    return (models[0], most) if most and len(models) == 1 else None


def _summed(tokens: Sequence[tuple[object, Tokens] | None]) -> list[tuple[object, Tokens]] | None:
    """By component; None if some are not known."""
    sums: dict[str, tuple[object, Tokens]] = {}
    for each in tokens:
        if each is None:
            return None
        asked, more = each
        sums[repr(asked)] = asked, sums.get(repr(asked), (asked, Tokens()))[1] + more
    return list(sums.values())


def _missing(stage: AnyStage, run: _CountingRun) -> _Missing | None:
    """The requests that a stage would make; None if that cannot be told."""
    try:
        stage.make(run)
    except Exception:  # noqa: BLE001 - whatever is wrong is reported when the stage is run; here it is not counted
        return None
    return run.missing
