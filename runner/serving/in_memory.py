"""Stages made for one question: read from what is kept where they do not depend on it, else made and soon forgotten."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import StoreError
from components.openai_server.received import NotKept, Received
from components.protocols import LLM
from components.records import Answer
from runner.engine.ask import Asker, Asking
from runner.engine.codecs import Parts
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import StoredResult
from runner.engine.store.pair_scores import PairScores
from runner.engine.store.replies import as_read
from runner.engine.worker import no_report
from runner.serving.kept_in_folder import KeptStages

T = TypeVar("T")


class QuestionRun(Run):
    """The making of all stages for some samples. What a stage reads is made when it is read."""

    def __init__(self, kept: KeptStages, given: Mapping[str, object]) -> None:
        """`given` are results by the keys of their stages: those of the samples."""
        self.report = no_report
        self._kept = kept
        self._made = dict(given)
        self._workspace: TemporaryDirectory[str] | None = None

    def read(self, stage: Stage[T]) -> T:
        """The result of a stage. Raises what the stage raises."""
        if stage in self._kept:
            return self._kept.read(stage)
        if stage.key not in self._made:
            self._made[stage.key] = stage.make(self)
        result: T = self._made[stage.key]  # type: ignore[assignment]  # made by a Stage[T]
        return result

    def parts(self, stage: Stage[T]) -> Parts:
        return stage.codec.encode(self.read(stage))

    def entry(self, stage: Stage[T]) -> StoredResult:
        raise StoreError(f"{stage.kind}: is made for one question, and in no store")

    def is_kept(self, stage: Stage[object]) -> bool:
        return stage in self._kept or stage.key in self._made

    def ask(self, llm: LLM, purpose: str) -> Asking:
        """Puts requests to the model itself: no reply is kept."""
        return Asker(llm, _NoReplies(), self.report)

    @property
    def workspace(self) -> Path:
        """One that goes with the run."""
        if self._workspace is None:
            self._workspace = TemporaryDirectory()
        return Path(self._workspace.name)

    @property
    def received(self) -> Received:
        """Nothing is kept."""
        return NotKept()

    def pair_scores(self, key: str) -> PairScores:
        """None are kept."""
        return _NoPairScores(Path())

    @contextmanager
    def scoring(self, key: str) -> Iterator[None]:
        """Nothing is kept that another could find."""
        yield


class _NoClaims:
    def take(self, keys: Collection[str]) -> AbstractContextManager[Collection[str]]:
        """All of them."""
        return nullcontext(keys)


class _NoReplies:
    claims = _NoClaims()

    def get_all(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Nothing."""
        return {}

    def add_all(self, answers: Sequence[Answer]) -> list[Answer]:
        """The answers as they would be read if they were kept."""
        return list(map(as_read, answers))


class _NoPairScores(PairScores):
    def look_up(self, queries: Sequence[str], pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """No pair has a score."""
        return np.full(len(pairs), np.nan, dtype=np.float32)

    def add(self, queries: Sequence[str], pairs: NDArray[np.int32], scores: NDArray[np.float32]) -> None:
        """Keeps nothing."""
