"""The interface between a running stage and its surroundings: inputs, requests, a workspace, the progress bar."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, TypeVar

from components.errors import DamagedEntryError
from components.loading import loading
from components.openai_server.limiter import current_limiter, use_limiter
from components.openai_server.received_replies import ReceivedReplies, use_received
from components.protocols import LLM
from runner.engine.ask import Asker, AskFunction, ReportProgress
from runner.engine.cache import Cache
from runner.engine.codecs import Parts
from runner.engine.edited_models import record_code
from runner.engine.model_replies import build_asker
from runner.engine.stage import AnyStage, Stage
from runner.engine.store import Store, StoredResult
from runner.engine.store.held_locks import LimiterUnderLock
from runner.engine.store.pair_scores import PairScores
from runner.engine.store.received_numbers import ReceivedNumbers

T = TypeVar("T")


class Run:
    """The computation of one stage."""

    only_counts: ClassVar[bool] = False
    """True in a run for the plan, which counts requests and discards the result."""

    def __init__(self, stage: AnyStage, store: Store, cache: Cache, report: ReportProgress) -> None:
        self._key = stage.key
        self._store = store
        self._cache = cache
        self.report = report
        """Callback that moves the progress bar within a long stage. Takes (done, all)."""
        self._askers: list[Asker] = []
        self._shared_received = stage.shared_received
        self._received: ReceivedReplies | None = None

    def read(self, stage: Stage[T]) -> T:
        """Return the result of an input. Raises DamagedEntryError if it is damaged or was deleted: it is then computed
        again.
        """
        with loading():
            return self._cache.get(stage, self.entry(stage))

    def parts(self, stage: Stage[T]) -> Parts:
        """Return the stored parts of an input, for a stage that copies some of them."""
        return self.entry(stage).parts()

    def entry(self, stage: Stage[T]) -> StoredResult:
        """Return the stored result of an input. Raises DamagedEntryError if it was deleted after it was computed."""
        entry = self._store.find(stage.kind, stage.key)
        if entry is None:
            raise DamagedEntryError(
                f"{stage.kind} {stage.key[:12]}: was deleted while the sweep ran. Run the same command again: "
                "finished work is cached."
            )
        return entry

    def stored_results(self, kind: str) -> Iterator[Parts]:
        """Yield the parts of all stored results of a kind, for a stage that can continue from any of them."""
        return (entry.parts() for entry in self._store.entries(kind))

    def is_cached(self, stage: AnyStage) -> bool:
        """Return True if the result of an input is cached. This always holds while a stage runs, but not while it is
        planned.
        """
        return self._store.find(stage.kind, stage.key) is not None

    def ask(self, llm: LLM, purpose: str) -> AskFunction:
        """Return a function that sends requests to a model and stores the replies. `purpose` is "answers" or a judge's
        metric.
        """
        record_code(llm, purpose, self._store)
        asker = build_asker(llm, purpose, self._store, self.report)
        self._askers.append(asker)
        return asker

    @property
    def has_failed_requests(self) -> bool:
        """True if some request failed. The result is then partial, and a later run tries again."""
        return any(asker.n_failed for asker in self._askers)

    @property
    def hidden(self) -> Counter[str]:
        """Answers in which the value of a secret variable was hidden, by variable."""
        return sum((asker.hidden for asker in self._askers), Counter())

    @property
    def has_paid(self) -> bool:
        """True if the stage sent requests to a language model, so that its result may have cost money."""
        return any(asker.asks_a_language_model for asker in self._askers)

    @property
    def workspace(self) -> Path:
        """A folder that survives a kill. It is deleted once the result is stored."""
        return self._store.workspace(self._key)

    @property
    def received(self) -> ReceivedReplies:
        """Numbers received from a server. They are stored as they arrive until the result of a stage contains them.

        That stage is this one, or the stage that `shared_received` names.
        """
        if self._received is None:
            shared = self._shared_received
            workspace = self._store.workspace_path(self._key)
            self._received = self._store.open_received(*shared) if shared else ReceivedNumbers(workspace)
        return self._received

    def pair_scores(self, key: str) -> PairScores:
        """Return the scores stored by query and chunk, for stages that score pairs."""
        return self._store.pair_scores(key)

    @contextmanager
    def scoring(self, key: str) -> Iterator[None]:
        """Hold the lock for scores stored under `key` while a server computes some. Other stages wait, and then find
        them.

        Scores received before a failure or a kill are stored for the next stage that holds the lock. A stage drops only
        the scores that it received itself: it may not need those of an interrupted one.
        """
        received = self._store.open_received(key, self._key)
        with (
            self._store.lock("scores of pairs", key, from_stopped=False) as lock,
            use_limiter(LimiterUnderLock(current_limiter(), lock)),
            use_received(received),
        ):
            yield
            received.drop()
