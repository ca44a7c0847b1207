"""Makes the result of one stage: finds it in the store or computes it, under the lock of its key, and mends damage."""

import logging
import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from components.errors import BudgetReached, ComponentError, DamagedEntryError, RagGridError, StoreError
from components.loading import seconds_of_loading
from components.openai_server.gate import Gate, passing
from components.openai_server.received import keeping_received
from components.pretrained.load_once import say_needed
from components.secrets.mask import masked
from runner.engine import environment
from runner.engine.ask import Report
from runner.engine.cache import Cache
from runner.engine.codecs import Parts
from runner.engine.identity import key_of
from runner.engine.outcome import StageRun, users_code
from runner.engine.source_code import require_equal_files
from runner.engine.spending import SharedGate
from runner.engine.stage import AnyStage, Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store, StoredResult

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

_N_TRIES = 3
"""So often a stage whose inputs go away while it reads them is tried."""

_WORTH_SYNCING_S = 5.0
"""What took longer to make is written to the disk at once, as is what a model was asked for."""


def no_report(done: int, total: int) -> None:
    """For stages whose progress nobody watches."""


class StageFailed(Exception):
    """A stage raised; carries how it ended."""

    def __init__(self, run: StageRun) -> None:
        super().__init__(run.error)
        self.run = run


class Worker:
    """Makes results in one process; keeps the last decoded inputs and loaded models."""

    def __init__(self, store: Store, gate: Gate | None = None, cache: Cache | None = None) -> None:
        """`gate` is passed by all attempts to ask a model; None for one that keeps the servers' rate limits alone.
        `cache` is for those who know what their stages read; None for one of the usual size.
        """
        self._store = store
        self._gate = gate or SharedGate(store.limits)
        self._cache = cache or Cache()
        self._damaged: list[str] = []

    def run(self, stage: AnyStage, report: Report = no_report) -> StageRun:
        """Finds or makes the result; a failure is returned, not raised, and so is a budget that was reached on the way.
        Raises StoreError if the result cannot be kept.
        """
        self._damaged = []
        try:
            made = self._ensure_planned(stage, report)
        except StageFailed as failure:  # of the stage, or of an input that had to be made again
            return replace(failure.run, key=stage.key, kind=stage.kind)
        except BudgetReached as reached:
            return StageRun(stage.key, stage.kind, over_budget=str(reached))
        return StageRun(stage.key, stage.kind, made.seconds, made.reused, damaged=tuple(self._damaged))

    def run_or_raise(self, stage: AnyStage, *, contents: bool = False) -> None:
        """Finds or makes the result, and lets the stage's own exception through. With `contents`, a result whose files
        do not match their checksums is made again.
        """
        try:
            self._ensure(stage, no_report, contents=contents)
        except StageFailed as failure:
            raise failure.__cause__ or failure from None
        for damage in self._damaged:
            log.warning("damaged in the store, computed again: %s", damage)

    def _ensure(self, stage: AnyStage, report: Report, *, contents: bool = False) -> StageRun:
        if entry := self._sound(stage, self._kept(stage), contents=contents):
            return StageRun(stage.key, stage.kind, entry.manifest.seconds, reused=True)
        return self._ensure_locked(stage, report, contents=contents)

    def _ensure_planned(self, stage: AnyStage, report: Report) -> StageRun:
        """As `_ensure`, of what a plan did not find, which comes before all work of this run."""
        # A lock in a bucket costs more than a look, and that nothing was there is remembered for the look behind it.
        if self._store.is_cache and (entry := self._sound(stage, self._whole(stage), contents=False)):
            return StageRun(stage.key, stage.kind, entry.manifest.seconds, reused=True)
        return self._ensure_locked(stage, report, was_absent=True)

    def _ensure_locked(
        self, stage: AnyStage, report: Report, *, contents: bool = False, was_absent: bool = False
    ) -> StageRun:
        """As `_ensure`, of what is not there or damaged: looked for when nobody else can be making it."""
        for before in stage.inputs:
            self._ensure(before, no_report)
        # A stopped process that goes on would send the rest of its requests a second time.
        with self._store.lock(stage.kind, stage.key, from_stopped=not stage.asks_a_server) as had_holder:
            # Only who held the lock before can have made a partial one since then.
            kept = self._whole(stage) if was_absent and not had_holder else self._kept(stage)
            if entry := self._sound(stage, kept, contents=contents, discard=True):
                return StageRun(stage.key, stage.kind, entry.manifest.seconds, reused=True)
            return self._make(stage, report)

    def _kept(self, stage: AnyStage) -> StoredResult | None:
        return self._store.find(stage.kind, stage.key)

    def _whole(self, stage: AnyStage) -> StoredResult | None:
        return self._store.find_whole(stage.kind, stage.key)

    def _sound(
        self, stage: AnyStage, entry: StoredResult | None, *, contents: bool, discard: bool = False
    ) -> StoredResult | None:
        """What was found of a stage, unless a look at its files (their sizes, or their contents) shows damage.

        Only the holder of the lock may discard: another process may have made the result anew in the meantime.
        """
        if entry is None:
            if discard and self._store.has_damaged_manifest(stage.kind, stage.key):
                self._damaged.append(f"{stage.kind} {stage.key[:12]}: its manifest cannot be read")
            return None
        found = _damages(stage, entry, contents=contents)
        if found and (made_anew := self._store.find_again(stage.kind, stage.key)):  # since this process first looked
            entry, found = made_anew, _damages(stage, made_anew, contents=contents)
        if found and discard:
            self._damaged.append(f"{stage.kind} {stage.key[:12]}: {'; '.join(found)}")
            self._store.discard(entry)
        return None if found else entry

    def _make(self, stage: AnyStage, report: Report, n_tries: int = _N_TRIES) -> StageRun:
        run = Run(stage, self._store, self._cache, report)
        say_needed(stage.models)
        started, loaded = time.perf_counter(), seconds_of_loading()
        try:
            with passing(self._gate), keeping_received(run.received):
                result = _made(stage, run)
            elapsed = time.perf_counter() - started
            seconds = elapsed - (seconds_of_loading() - loaded)
            parts = stage.codec.encode(result)
            partial = run.has_failed_requests or any(run.entry(before).manifest.partial for before in stage.inputs)
        except DamagedEntryError as error:
            if n_tries == 1:
                raise StageFailed(_failure(stage, error)) from error
            self._make_inputs_again(stage)
            return self._make(stage, report, n_tries - 1)
        except BudgetReached:
            raise
        except StoreError:
            if made := self._made_by_another(stage):
                return made
            raise
        except Exception as error:
            if made := self._made_by_another(stage):
                return made
            raise StageFailed(_failure(stage, error)) from error
        entry = self._keep(stage, parts, seconds, partial=partial, synced=run.has_paid or elapsed > _WORTH_SYNCING_S)
        if not entry.is_new:  # another process was first, and its result stays: ours counts as never made
            return StageRun(stage.key, stage.kind, entry.manifest.seconds, reused=True)
        self._cache.put(stage, result, entry.n_bytes)
        return StageRun(stage.key, stage.kind, elapsed)

    def _made_by_another(self, stage: AnyStage) -> StageRun | None:
        """Who believed this process gone, has made the result in the meantime, and removed the half-done work."""
        entry = self._store.find_again(stage.kind, stage.key)
        return StageRun(stage.key, stage.kind, entry.manifest.seconds, reused=True) if entry else None

    def _keep(self, stage: AnyStage, parts: Parts, seconds: float, *, partial: bool, synced: bool) -> StoredResult:
        try:
            entry = self._store.write(
                stage.kind,
                stage.key,
                parts,
                seconds=seconds,
                made_from=stage.description,
                made_with=environment.versions_in_use(),
                partial=partial,
                synced=synced,
            )
        except (TypeError, ValueError) as error:
            raise StageFailed(_failure(stage, error)) from error
        self._store.discard_workspace(stage.key)
        return entry

    def _make_inputs_again(self, stage: AnyStage) -> None:
        """Those that are damaged or went away. What was read in this process before stays valid."""
        for before in stage.inputs:
            self._cache.forget(before.key)
            self._ensure(before, no_report, contents=True)


def _made(stage: Stage[T], run: Run) -> T:
    """The result of a stage. A process that its component forked, and that comes back from it, is a copy of this one:
    it ends here. Raises ComponentError for what is no Exception, which would end the sweep, and if a file whose content
    is part of the key has changed.
    """
    process, exit_code = os.getpid(), 1
    try:
        result = stage.make(run)
        exit_code = 0
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as ended:
        how = f"called sys.exit({ended.code!r})" if isinstance(ended, SystemExit) else f"raised {type(ended).__name__}"
        raise ComponentError(f"a component {how}, expected an exception that says why{users_code(stage)}") from ended
    finally:
        if os.getpid() != process:
            if exit_code:
                traceback.print_exc()
            os._exit(exit_code)
    for cls in {type(part) for part in stage.components()}:
        require_equal_files(cls)
    if any(hasattr(part, "content_hash") for part in stage.components()) and key_of(stage.description) != stage.key:
        raise ComponentError(
            "a file that one of its components reads changed while the sweep ran: the result belongs to neither "
            "content. Give the same command again; everything else that was computed is kept"
        )
    return result


def _damages(stage: AnyStage, entry: StoredResult, *, contents: bool) -> Sequence[str]:
    """What of a kept result is not as it was made; with `contents`, of what it keeps in other places too."""
    found = entry.damages(contents=contents)
    if found or not contents:
        return found
    try:
        return stage.lost(entry.parts())
    except DamagedEntryError as error:  # it goes at this moment
        return [str(error)]


def read_kept(stage: Stage[T], store: Store, read: Callable[[StoredResult], R], gate: Gate | None = None) -> R:
    """What `read` takes from the stored result of a stage. One that is not there is made first, and one that goes away
    before it is read (somebody may prune the store) is made again. Its requests then pass `gate`, as those of a Worker.

    Lets the stage's own exception through. Raises StoreError if it goes away again and again.
    """
    for _ in range(_N_TRIES - 1):
        try:
            return read(find_or_make(stage, store, gate))
        except DamagedEntryError:
            Worker(store, gate).run_or_raise(stage, contents=True)
    return read(find_or_make(stage, store, gate))


def find_or_make(stage: Stage[T], store: Store, gate: Gate | None = None) -> StoredResult:
    """The stored result of a stage, which is made first if it is not there or damaged. Its contents were compared.

    Lets the stage's own exception through. Raises StoreError if the result goes away while it is looked for.
    """
    entry = store.find(stage.kind, stage.key)
    if entry is None or entry.damages(set(entry.manifest.files) - entry.compared):
        Worker(store, gate).run_or_raise(stage, contents=True)
        entry = store.find(stage.kind, stage.key)
    if entry is None:
        raise StoreError(
            f"{store.root}: the result of stage {stage.kind} went away while it was read; is it being pruned?"
        )
    entry.compared.update(entry.manifest.files)
    return entry


def _failure(stage: AnyStage, error: Exception) -> StageRun:
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - of somebody's own class: its mistake does not end what runs beside it
        said = "(and what it says cannot be shown)"
    is_meant = isinstance(error, RagGridError) and said  # it says all that there is to say
    message = said if is_meant else f"{type(error).__name__}: {said}{users_code(stage)}"
    trace = "".join(traceback.format_exception(error))
    return StageRun(stage.key, stage.kind, error=masked(f"{stage.title}: {message}"), trace=masked(trace))
