"""Computes stages for one question in memory. Stages that do not depend on the question are read from the folder."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import StoreError
from components.openai_server.received_replies import ReceivedReplies, UnsavedReplies
from components.protocols import LLM
from components.records import Answer
from runner.engine.ask import Asker, AskFunction
from runner.engine.codecs import Parts
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import StoredResult
from runner.engine.store.pair_scores import PairScores
from runner.engine.store.replies import as_stored
from runner.engine.worker import no_report
from runner.serving.cached_stages import CachedStages

T = TypeVar("T")


class QuestionRun(Run):
    """The computation of all stages for some samples. A stage is computed when it is first read."""

    def __init__(self, stages: CachedStages, results: Mapping[str, object]) -> None:
        """`results` are results by the keys of their stages: the samples."""
        self.report = no_report
        self._stages = stages
        self._made = dict(results)
        self._workspace: TemporaryDirectory[str] | None = None

    def read(self, stage: Stage[T]) -> T:
        """Return the result of a stage. Raises whatever the stage raises."""
        if stage in self._stages:
            return self._stages.read(stage)
        if stage.key not in self._made:
            self._made[stage.key] = stage.make(self)
        result: T = self._made[stage.key]  # type: ignore[assignment]  # made by a Stage[T]
        return result

    def parts(self, stage: Stage[T]) -> Parts:
        return stage.codec.encode(self.read(stage))

    def entry(self, stage: Stage[T]) -> StoredResult:
        raise StoreError(f"{stage.kind}: computed in memory for one question, so it is not stored")

    def is_cached(self, stage: Stage[object]) -> bool:
        return stage in self._stages or stage.key in self._made

    def ask(self, llm: LLM, purpose: str) -> AskFunction:
        """Return a function that sends requests directly to the model. No reply is stored."""
        return Asker(llm, _NoReplies(), self.report)

    @property
    def workspace(self) -> Path:
        """A temporary folder that is deleted with the run."""
        if self._workspace is None:
            self._workspace = TemporaryDirectory()
        return Path(self._workspace.name)

    @property
    def received(self) -> ReceivedReplies:
        """A record that stores nothing."""
        return UnsavedReplies()

    def pair_scores(self, key: str) -> PairScores:
        """Return a store of scores that stores nothing."""
        return _NoPairScores(Path())

    @contextmanager
    def scoring(self, key: str) -> Iterator[None]:
        """Do nothing, because no other process can find the scores."""
        yield


class _NoClaims:
    def take(self, keys: Collection[str]) -> AbstractContextManager[Collection[str]]:
        return nullcontext(keys)


class _NoReplies:
    claims = _NoClaims()

    def get_all(self, keys: Iterable[str]) -> dict[str, Answer]:
        return {}

    def hidden_variables(self, replies: Collection[str]) -> dict[str, Sequence[str]]:
        return {}

    def add_all(self, answers: Sequence[Answer], hidden: Mapping[str, Sequence[str]]) -> list[Answer]:
        """Return the answers as they would be read from a store."""
        return list(map(as_stored, answers))


class _NoPairScores(PairScores):
    def look_up(self, queries: Sequence[str], pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return NaN for every pair."""
        return np.full(len(pairs), np.nan, dtype=np.float32)

    def add(self, queries: Sequence[str], pairs: NDArray[np.int32], scores: NDArray[np.float32]) -> None:
        """Store nothing, because no later question can use the scores."""
