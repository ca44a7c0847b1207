"""What a stage sees while it is made: its inputs, the asking service, a place for half-done work, the progress bar."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from components.errors import DamagedEntryError
from components.loading import loading
from components.openai_server.received import Received, keeping_received
from components.protocols import LLM
from runner.engine.ask import Asker, Asking, Report, replies_key
from runner.engine.cache import Cache
from runner.engine.codecs import Parts
from runner.engine.edited_models import note_code
from runner.engine.stage import AnyStage, Stage
from runner.engine.store import Store, StoredResult
from runner.engine.store.pair_scores import PairScores
from runner.engine.store.received_numbers import ReceivedNumbers

T = TypeVar("T")


class Run:
    """The making of one stage."""

    def __init__(self, stage: AnyStage, store: Store, cache: Cache, report: Report) -> None:
        self._key = stage.key
        self._store = store
        self._cache = cache
        self.report = report
        """Call with (done, all) to move the progress bar within a long stage."""
        self._askers: list[Asker] = []
        self._shared_received = stage.shared_received
        self._received: Received | None = None

    def read(self, stage: Stage[T]) -> T:
        """The result of an input. Raises DamagedEntryError if it is damaged or went away: it is then made again."""
        with loading():
            return self._cache.get(stage, self.entry(stage))

    def parts(self, stage: Stage[T]) -> Parts:
        """The parts of an input as they are kept, for a stage that passes some of them on."""
        return self.entry(stage).parts()

    def entry(self, stage: Stage[T]) -> StoredResult:
        """The stored result of an input. Raises DamagedEntryError if it went away after it was made."""
        entry = self._store.find(stage.kind, stage.key)
        if entry is None:
            raise DamagedEntryError(f"{stage.kind} {stage.key[:12]}: it was there, and is not any more")
        return entry

    def kept(self, kind: str) -> Iterator[Parts]:
        """The parts of all kept results of a kind, for a stage that can go on from any of them."""
        return (entry.parts() for entry in self._store.entries(kind))

    def is_kept(self, stage: AnyStage) -> bool:
        """True if the result of an input is there: always while the stage is made, not always when it is planned."""
        return self._store.find(stage.kind, stage.key) is not None

    def ask(self, llm: LLM, purpose: str) -> Asking:
        """Puts requests to a model, and keeps the replies. `purpose` says what for: "answers", or a judge's metric."""
        note_code(llm, purpose, self._store)
        asker = Asker(llm, self._store.replies(replies_key(llm, purpose)), self.report)
        self._askers.append(asker)
        return asker

    @property
    def has_failed_requests(self) -> bool:
        """True if some request failed: the result is then partial, and a later run tries again."""
        return any(asker.n_failed for asker in self._askers)

    @property
    def has_paid(self) -> bool:
        """True if a language model was asked: the result may have cost money."""
        return any(asker.asks_a_language_model for asker in self._askers)

    @property
    def workspace(self) -> Path:
        """A folder that outlives a kill, and goes when the result is kept."""
        return self._store.workspace(self._key)

    @property
    def received(self) -> Received:
        """Results of a server, kept one by one until a stage has them in another form: this one, or the one that is
        named by its `shared_received`.
        """
        if self._received is None:
            shared = self._shared_received
            own = self._store.workspace_path(self._key)
            self._received = self._store.received(*shared) if shared else ReceivedNumbers(own)
        return self._received

    def pair_scores(self, key: str) -> PairScores:
        """Scores that are kept by query and chunk, for whoever scores pairs."""
        return self._store.pair_scores(key)

    @contextmanager
    def scoring(self, key: str) -> Iterator[None]:
        """Held while a server scores pairs whose scores are kept under `key`: other stages wait, and find them. Results
        that came before a failure or a kill are kept for whichever stage scores next.
        """
        with (
            self._store.lock("scores of pairs", key, from_stopped=False),
            keeping_received(ReceivedNumbers(self._store.workspace_path(key))),
        ):
            yield
            self._store.discard_workspace(key)
