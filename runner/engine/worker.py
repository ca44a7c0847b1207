"""Makes the result of one stage: finds it in the store or computes it, under the lock of its key, and mends damage."""

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from components.errors import DamagedEntryError, StoreError
from runner.engine import environment
from runner.engine.stage import Cache, Inputs, Stage
from runner.engine.store import Entry, Store
from runner.pipeline.answers import forget_journal

log = logging.getLogger(__name__)

Report = Callable[[int, int], None]


def no_report(done: int, total: int) -> None:
    """For stages whose progress nobody watches."""


@dataclass(frozen=True)
class StageRun:
    """How a stage ended. `error` is "" unless it failed; `damaged` names results that were found damaged on the way."""

    key: str
    kind: str
    seconds: float = 0.0
    reused: bool = False
    error: str = ""
    trace: str = ""
    damaged: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True if there is no result."""
        return bool(self.error)


class StageFailed(Exception):
    """A stage raised; carries how it ended."""

    def __init__(self, run: StageRun) -> None:
        super().__init__(run.error)
        self.run = run


class Worker:
    """Makes results in one process; keeps the last decoded inputs and loaded models."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache = Cache()
        self._damaged: list[str] = []

    def run(self, stage: Stage, report: Report = no_report) -> StageRun:
        """Finds or makes the result; a failure is returned, not raised. Raises StoreError if it cannot be kept."""
        self._damaged = []
        try:
            made = self._ensure(stage, report)
        except StageFailed as failure:  # of the stage, or of an input that had to be made again
            return replace(failure.run, key=stage.key, kind=stage.kind)
        return StageRun(stage.key, stage.kind, made.seconds, made.reused, damaged=tuple(self._damaged))

    def run_or_raise(self, stage: Stage, *, contents: bool = False) -> None:
        """Finds or makes the result, and lets the stage's own exception through. With `contents`, a result whose files
        do not match their checksums is made again.
        """
        try:
            self._ensure(stage, no_report, contents=contents)
        except StageFailed as failure:
            raise failure.__cause__ or failure from None
        for damage in self._damaged:
            log.warning("damaged in the store, computed again: %s", damage)

    def _ensure(self, stage: Stage, report: Report, *, contents: bool = False) -> StageRun:
        if entry := self._sound(stage, contents=contents):
            return StageRun(stage.key, stage.kind, entry.manifest.seconds, reused=True)
        for before in stage.inputs.values():
            self._ensure(before, no_report)
        with self._store.lock(stage.key):
            if entry := self._sound(stage, contents=contents, discard=True):
                return StageRun(stage.key, stage.kind, entry.manifest.seconds, reused=True)
            return self._make(stage, report)

    def _sound(self, stage: Stage, *, contents: bool, discard: bool = False) -> Entry | None:
        """The kept result, unless a look at its files (their sizes, or their contents) shows damage.

        Only the holder of the lock may discard: another process may have made the result anew in the meantime.
        """
        entry = self._store.find(stage.kind, stage.key)
        if entry is None:
            if discard and self._store.has_damaged_manifest(stage.kind, stage.key):
                self._damaged.append(f"{stage.kind} {stage.key[:12]}: its manifest cannot be read")
            return None
        found = entry.damages(contents=contents)
        if found and discard:
            self._damaged.append(f"{stage.kind} {stage.key[:12]}: {'; '.join(found)}")
            self._store.discard(entry)
        return None if found else entry

    def _make(self, stage: Stage, report: Report) -> StageRun:
        inputs = Inputs(stage, self._store, self._cache, report)
        started = time.perf_counter()
        try:
            output = stage.compute(stage, inputs)
        except DamagedEntryError as error:
            return self._remake(stage, report, error)
        except StoreError:
            raise
        except Exception as error:
            raise StageFailed(_failure(stage, error)) from error
        seconds = time.perf_counter() - started
        partial = output.partial or any(inputs.entry(name).manifest.partial for name in stage.inputs)
        try:
            self._store.write(
                stage.kind,
                stage.key,
                output.payload,
                seconds=seconds,
                made_from=stage.description,
                made_with=environment.versions(),
                partial=partial,
            )
        except (TypeError, ValueError) as error:
            raise StageFailed(_failure(stage, error)) from error
        if stage.kind == "answers" and not partial:
            forget_journal(stage, inputs)
        return StageRun(stage.key, stage.kind, seconds)

    def _remake(self, stage: Stage, report: Report, error: DamagedEntryError) -> StageRun:
        """Makes every damaged input again, then the stage. What was read in this process before stays valid."""
        reused = [self._ensure(before, no_report, contents=True).reused for before in stage.inputs.values()]
        if all(reused):
            raise StageFailed(_failure(stage, error)) from error
        return self._make(stage, report)


def read_or_make(stage: Stage, store: Store, *parts: str) -> dict[str, Any]:
    """Parts of a stage's result (all if none are named), which is made first if it is not there or damaged.

    Lets the stage's own exception through. Raises DamagedEntryError if what was made anew is damaged again.
    """
    entry = store.find(stage.kind, stage.key)
    if entry:
        try:
            return entry.read(*parts)
        except DamagedEntryError:
            pass  # found again, reported and mended under the lock
    Worker(store).run_or_raise(stage, contents=True)
    made = store.find(stage.kind, stage.key)
    if made is None:
        raise StoreError(
            f"{store.root}: the result of stage {stage.kind} went away while it was read; is it being pruned?"
        )
    return made.read(*parts)


def _failure(stage: Stage, error: Exception) -> StageRun:
    message = f"{stage.kind}: {type(error).__name__}: {error}"
    return StageRun(stage.key, stage.kind, error=message, trace="".join(traceback.format_exception(error)))
