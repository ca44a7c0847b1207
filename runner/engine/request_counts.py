"""Counts of requests to models behind servers, and of their tokens, without sending one."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from components.openai_server.limiter import Tokens
from components.protocols import LLM
from runner.engine.ask import AskFunction, CachedReplies, is_language_model
from runner.engine.cache import Cache
from runner.engine.edited_models import EditedModel, find_edited_model
from runner.engine.model_replies import replies_name
from runner.engine.spending.admission import has_token_limit
from runner.engine.stage import AnyStage, ServerRequests, Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store

T = TypeVar("T")


@dataclass(frozen=True)
class RequestCount:
    """Requests to models behind servers that the stages of one kind will send. `title` is the kind for users.

    `is_exact` is true if the requests were counted from cached prompts or texts. Otherwise the count is an upper bound:
    stored replies and equal or inapplicable requests are not subtracted. `n_with_repeats` is the maximum if
    unreadable replies are requested again.
    """

    kind: str
    title: str
    n_requests: int
    is_exact: bool
    n_with_repeats: int
    tokens: Sequence[tuple[object, Tokens]] | None = ()
    """Maximum number of tokens by component, estimated from the lengths of the texts. None if unknown."""
    tokens_with_repeats: Sequence[tuple[object, Tokens]] | None = ()
    """The same for `n_with_repeats` requests."""
    edited: Sequence[EditedModel] = ()
    """Users' models whose code has changed since it gave some of these answers."""
    groups: Sequence["RequestCount"] = ()
    """The same requests by `Stage.request_group`. Equal requests of several groups count in the first one."""

    @property
    def n_tokens(self) -> int | None:
        """Maximum number of tokens of all components. None if unknown."""
        return None if self.tokens is None else sum(each.n_all for _, each in self.tokens)

    def times(self, n: int) -> "RequestCount":
        """Return an upper bound for `n` cells, each with at most these requests."""
        return replace(
            self,
            n_requests=n * self.n_requests,
            is_exact=False,
            n_with_repeats=n * self.n_with_repeats,
            tokens=_multiply(n, self.tokens),
            tokens_with_repeats=_multiply(n, self.tokens_with_repeats),
            groups=tuple(group.times(n) for group in self.groups),
        )


def _multiply(n: int, tokens: Sequence[tuple[object, Tokens]] | None) -> Sequence[tuple[object, Tokens]] | None:
    return tokens and [(component, Tokens(n * each.n_prompt, n * each.n_completion)) for component, each in tokens]


_Missing = dict[tuple[str, str, str], tuple[LLM, Tokens]]
"""Requests without a stored reply, by (purpose, key of the model's replies, key of the request).

The values are the model and the maximum number of tokens of the request.
"""


class _CountingRun(Run):
    """A run that counts requests and sends none."""

    only_counts = True

    def __init__(self, stage: AnyStage, store: Store, cache: Cache) -> None:
        super().__init__(stage, store, cache, lambda done, total: None)
        self._counting_askers: list[tuple[LLM, str, str, CachedReplies]] = []

    def ask(self, llm: LLM, purpose: str) -> AskFunction:
        """Return a function that counts the requests."""
        replies = replies_name(llm, purpose, self._store)
        asker = CachedReplies(llm, self._store.replies(replies))
        self._counting_askers.append((llm, purpose, replies, asker))
        return asker

    @property
    def workspace(self) -> Path:
        """Path of the workspace. The folder is not created, because counting must leave nothing behind."""
        return self._store.workspace_path(self._key)

    @property
    def missing(self) -> _Missing:
        """Distinct requests without a stored reply."""
        return {
            (purpose, replies, key): (llm, tokens)
            for llm, purpose, replies, asker in self._counting_askers
            for key, tokens in asker.missing.items()
        }


class _InputComputingRun(_CountingRun):
    """A run before its inputs are cached. Missing inputs are computed immediately, each once, and not stored.

    Only stages with quick inputs, such as the samples, are counted this way.
    """

    def __init__(self, stage: AnyStage, store: Store, cache: Cache, computed: dict[str, object]) -> None:
        super().__init__(stage, store, cache)
        self._computed = computed

    def read(self, stage: Stage[T]) -> T:
        """Return the result of an input."""
        if self._store.is_cached(stage.kind, stage.key):
            return super().read(stage)
        if stage.key not in self._computed:
            # In a separate run: requests of the input are counted with the input itself.
            self._computed[stage.key] = stage.make(_InputComputingRun(stage, self._store, self._cache, self._computed))
        return self._computed[stage.key]  # type: ignore[return-value]  # the key of a Stage[T] has a result of type T


def count_missing_requests(needed: Mapping[str, AnyStage], cached: set[str], store: Store) -> tuple[RequestCount, ...]:
    """Count the requests of the stages to be run, which `needed` holds by key. `cached` are the keys of cached results.

    If all inputs of a stage are cached or quick to compute, the stage writes its prompts, and stored replies are
    subtracted. Equal requests of several stages count once.
    """
    requests_by_kind: dict[str, _KindRequests] = defaultdict(_KindRequests)
    asking = [stage for stage in needed.values() if stage.n_requests]
    cache, computed = Cache(), dict[str, object]()
    answered = {key for key, stage in needed.items() if stage.has_quick_inputs and not stage.n_requests}
    """Keys of stages that are not cached, but quick to compute: all of their replies are stored."""
    for stage in asking:
        missing = None
        if stage.has_quick_inputs:
            missing = _missing_requests(stage, _InputComputingRun(stage, store, cache, computed))
        elif all(input_stage.key in cached for input_stage in stage.inputs):
            missing = _missing_requests(stage, _CountingRun(stage, store, cache))
        elif all(input_stage.key in cached | answered for input_stage in stage.inputs):
            missing = _missing_requests(stage, _InputComputingRun(stage, store, cache, computed))
        counted = requests_by_kind[stage.kind]
        if missing is None:
            tokens = _estimate_tokens(stage, _InputComputingRun(stage, store, cache, computed))
            counted.estimate(stage.n_requests, stage, [tokens])
        elif missing and _waits_for_requests(
            stage, needed, answered
        ):  # an earlier stage must send requests first, so this is an estimate
            counted.estimate(len(missing), stage, list(missing.values()))
        elif missing and stage.n_rounds > 1:  # each missing request may be in the first round
            counted.estimate(min(stage.n_requests, stage.n_rounds * len(missing)), stage, [None])
        else:
            counted.add(missing, stage)
        counted.unanswered |= missing or {}
        if stage.has_quick_inputs and missing == {}:
            answered.add(stage.key)
    server_counts = _server_request_counts(
        [(stage, _InputComputingRun(stage, store, cache, computed)) for stage in reversed(tuple(needed.values()))]
    )
    titles = {stage.kind: stage.title for stage in asking}
    return (*server_counts, *(requests_by_kind[kind].count(kind, title, store) for kind, title in titles.items()))


def count_max_requests(stages: Collection[AnyStage], store: Store) -> tuple[RequestCount, ...]:
    """Count the requests of stages as if nothing were stored."""
    requests_by_kind: dict[str, _KindRequests] = defaultdict(_KindRequests)
    asking = [stage for stage in stages if stage.n_requests]
    cache, computed = Cache(), dict[str, object]()
    for stage in asking:
        tokens = _estimate_tokens(stage, _InputComputingRun(stage, store, cache, computed))
        requests_by_kind[stage.kind].estimate(stage.n_requests, stage, [tokens])
    server_counts = _server_request_counts(
        [(stage, _InputComputingRun(stage, store, cache, computed)) for stage in stages]
    )
    titles = {stage.kind: stage.title for stage in asking}
    return (*server_counts, *(requests_by_kind[kind].count(kind, title, store) for kind, title in titles.items()))


@dataclass
class _KindRequests:
    """Requests of the stages of one kind while they are counted."""

    exact: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Maximum number of attempts by request."""
    unanswered: _Missing = field(default_factory=dict)
    n_estimated: int = 0
    n_estimated_with_repeats: int = 0
    ahead: list[tuple[tuple[LLM, Tokens] | None, int]] = field(default_factory=list)
    """Tokens of estimated requests, with their maximum number of attempts."""
    requests_by_group: dict[str, "_KindRequests"] = field(default_factory=dict)

    def add(self, missing: _Missing, stage: AnyStage) -> None:
        """Add counted requests of a stage."""
        if stage.request_group:
            group = self.requests_by_group.setdefault(stage.request_group, _KindRequests())
            new = {key: tokens for key, tokens in missing.items() if key not in self.exact}
            group.exact |= dict.fromkeys(new, stage.n_attempts)
            group.unanswered |= new
        self.exact |= dict.fromkeys(missing, stage.n_attempts)

    def estimate(self, n: int, stage: AnyStage, tokens: Sequence[tuple[LLM, Tokens] | None]) -> None:
        """Add `n` requests of a stage, which take these tokens."""
        if stage.request_group:
            group = self.requests_by_group.setdefault(stage.request_group, _KindRequests())
            group._add_estimate(n, stage, tokens)
        self._add_estimate(n, stage, tokens)

    def _add_estimate(self, n: int, stage: AnyStage, tokens: Sequence[tuple[LLM, Tokens] | None]) -> None:
        self.n_estimated += n
        self.n_estimated_with_repeats += n * stage.n_attempts
        self.ahead += [(each, stage.n_attempts) for each in tokens]

    def count(self, kind: str, title: str, store: Store) -> RequestCount:
        """Return the sums over the requests of this kind of stage."""
        exact = ((self.unanswered[key], n_attempts) for key, n_attempts in self.exact.items())
        tokens = [*self.ahead, *((each if has_token_limit(each[0]) else None, n) for each, n in exact)]
        return RequestCount(
            kind,
            title,
            self.n_estimated + len(self.exact),
            not self.n_estimated,
            self.n_estimated_with_repeats + sum(self.exact.values()),
            _sum_by_component([each for each, _ in tokens]),
            _sum_by_component(
                [each and (each[0], _tokens_with_repeats(each[1], n_attempts)) for each, n_attempts in tokens]
            ),
            _edited_models(self.unanswered, store),
            tuple(group.count(kind, name, store) for name, group in self.requests_by_group.items()),
        )


def _tokens_with_repeats(tokens: Tokens, n_attempts: int) -> Tokens:
    """Return the tokens of a request that is sent `n_attempts` times. Each repeat also contains the earlier replies."""
    n_shown = n_attempts * (n_attempts - 1) // 2
    return Tokens(n_attempts * tokens.n_prompt + n_shown * tokens.n_completion, n_attempts * tokens.n_completion)


def _edited_models(missing: _Missing, store: Store) -> list[EditedModel]:
    requests: dict[tuple[str, str], list[str]] = defaultdict(list)
    models = {(purpose, replies): llm for (purpose, replies, _), (llm, _) in missing.items()}
    for purpose, replies, request in missing:
        requests[purpose, replies].append(request)
    edits = (find_edited_model(llm, each[0], requests[each], store) for each, llm in models.items())
    return [each for each in edits if each]


def _waits_for_requests(stage: AnyStage, needed: Collection[str], answered: Collection[str]) -> bool:
    """Return True if an uncached stage before this one sends requests to a language model."""
    return any(
        upstream_stage.n_requests
        for upstream_stage in stage.upstream()
        if upstream_stage is not stage and upstream_stage.key in needed and upstream_stage.key not in answered
    )


def _server_request_counts(stages: Sequence[tuple[AnyStage, Run]]) -> Iterator[RequestCount]:
    """Yield the counts of components that send requests to servers themselves."""
    requests_by_group: dict[tuple[str, str], list[ServerRequests]] = defaultdict(list)
    for stage, run in stages:
        if requests := _server_requests(stage, run):
            requests_by_group[stage.kind, stage.title].append(requests)
    for (kind, title), counts in requests_by_group.items():
        n_requests = sum(count.n_requests for count in counts)
        tokens = _sum_by_component([(count.component, Tokens(count.n_tokens)) for count in counts])
        # Stages of one kind may score the same pairs, and only the first of them sends requests.
        is_exact = len(counts) == 1 and counts[0].is_exact
        yield RequestCount(kind, title, n_requests, is_exact, n_requests, tokens, tokens)


def _server_requests(stage: AnyStage, run: Run) -> ServerRequests | None:
    try:
        return stage.server_requests(run)
    except Exception:  # noqa: BLE001 - the stage reports the error when it runs; here it is not counted
        return None


def _estimate_tokens(stage: AnyStage, run: Run) -> tuple[LLM, Tokens] | None:
    """Return the model of a stage and the maximum tokens of its requests before they are written. None if unknown."""
    models = [part for part in stage.components() if isinstance(part, LLM) and is_language_model(part)]
    try:
        tokens = stage.max_request_tokens(run)
    except Exception:  # noqa: BLE001 - the stage reports the error when it runs; here it is not counted
        return None
    return (models[0], tokens) if tokens and len(models) == 1 else None


def _sum_by_component(tokens: Sequence[tuple[object, Tokens] | None]) -> list[tuple[object, Tokens]] | None:
    """Return the tokens by component. None if the tokens of any request are unknown."""
    sums: dict[str, tuple[object, Tokens]] = {}
    for each in tokens:
        if each is None:
            return None
        component, more = each
        sums[repr(component)] = component, sums.get(repr(component), (component, Tokens()))[1] + more
    return list(sums.values())


def _missing_requests(stage: AnyStage, run: _CountingRun) -> _Missing | None:
    """Return the requests that a stage would send. None if that cannot be determined."""
    try:
        stage.make(run)
    except Exception:  # noqa: BLE001 - the stage reports the error when it runs; here it is not counted
        return None
    return run.missing
