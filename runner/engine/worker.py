"""Computation of one stage's result: found in the store or computed under the lock of its key, with damage repaired."""

import logging
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from components.errors import BudgetReached, ComponentError, DamagedEntryError, RagGridError, StoreError
from components.loading import loading_seconds
from components.openai_server.limiter import Limiter, use_limiter
from components.openai_server.received_replies import use_received
from components.pretrained.load_once import declare_needed
from components.secrets.known import mark_variables
from components.secrets.mask import mask_text
from components.text.normalize import whole_characters
from runner.engine import environment
from runner.engine.ask import ReportProgress
from runner.engine.cache import Cache
from runner.engine.codecs import Parts
from runner.engine.hidden_answers import hidden_lines
from runner.engine.identity import hash_description
from runner.engine.outcome import StageRun, user_code_note
from runner.engine.plugins.plugin_loading import code_class, take_uncovered_reads
from runner.engine.source_code import require_equal_files
from runner.engine.spending import SharedLimiter
from runner.engine.stage import AnyStage, Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store, StoredResult
from runner.engine.store.held_locks import HeldLock, LimiterUnderLock, LockLost
from runner.engine.store.part_files import read_only
from runner.engine.uncovered_files import record_uncovered_files

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

_N_TRIES = 3
"""Number of attempts for a stage if its inputs disappear while it reads them."""

_MAX_REASON_CHARACTERS = 10_000
"""Maximum characters of an error message in a stored result."""

_SYNC_ABOVE_S = 5.0
"""Results that took longer are synced to disk immediately, and so are results from language models."""


def no_report(done: int, total: int) -> None:
    """Ignore the progress of a stage."""


class StageFailed(Exception):
    """Error that carries the outcome of a failed stage."""

    def __init__(self, run: StageRun) -> None:
        super().__init__(run.error)
        self.run = run


class Worker:
    """Computes results in one process. Caches the last decoded inputs and loaded models."""

    def __init__(self, store: Store, limiter: Limiter | None = None, cache: Cache | None = None) -> None:
        """Every request to a model passes `limiter`. None means a limiter that only observes rate limits.

        `cache` is for callers that know which results their stages read. None means a cache of the default size.
        """
        self._store = store
        self._limiter = limiter or SharedLimiter(store.limits)
        self._cache = cache or Cache()
        self._damaged: list[str] = []
        self._hidden: dict[str, Counter[str]] = {}

    def run(self, stage: AnyStage, report: ReportProgress = no_report) -> StageRun:
        """Find or compute the result. Returns failures and reached budgets as outcomes. Raises StoreError if the result
        cannot be stored.
        """
        self._damaged, self._hidden = [], {}
        try:
            outcome = self._ensure_planned(stage, report)
        except StageFailed as failure:  # the stage failed, or an input that had to be computed again
            return replace(failure.run, key=stage.key, kind=stage.kind, hidden=self._n_hidden())
        except BudgetReached as reached:
            self._warn_of_hidden_values()  # the scheduler reports no outcome for a stage that a budget stopped
            return StageRun(stage.key, stage.kind, over_budget=str(reached))
        damaged, hidden = tuple(self._damaged), self._n_hidden() + Counter(outcome.hidden)
        return StageRun(stage.key, stage.kind, outcome.seconds, outcome.reused, damaged=damaged, hidden=hidden)

    def run_or_raise(self, stage: AnyStage, *, contents: bool = False) -> None:
        """Find or compute the result. If the stage fails, raise the exception that it raised.

        With `contents`, a result is computed again if its files do not match their checksums.
        """
        try:
            self._ensure(stage, no_report, contents=contents)
        except StageFailed as failure:
            raise failure.__cause__ or failure from None
        for damage in self._damaged:
            log.warning("%s; the result is computed again", damage)
        self._warn_of_hidden_values()

    def _n_hidden(self) -> Counter[str]:
        """Count the answers with a hidden value in the stages computed since `run` began, by variable."""
        return sum(self._hidden.values(), Counter())

    def _warn_of_hidden_values(self) -> None:
        for line in hidden_lines(self._n_hidden()):
            log.warning("%s", line)

    def _ensure(self, stage: AnyStage, report: ReportProgress, *, contents: bool = False) -> StageRun:
        if entry := self._reject_damaged(stage, self._find(stage), contents=contents):
            return _report_reuse(stage, entry)
        return self._ensure_locked(stage, report, contents=contents)

    def _ensure_planned(self, stage: AnyStage, report: ReportProgress) -> StageRun:
        """Find or compute a result as `_ensure` does, if the plan did not find it before the run."""
        # A lock in a bucket costs more than a lookup, and a failed lookup is remembered for the one under the lock.
        if self._store.is_cache and (entry := self._reject_damaged(stage, self._find_whole(stage), contents=False)):
            return _report_reuse(stage, entry)
        return self._ensure_locked(stage, report, was_absent=True)

    def _ensure_locked(
        self, stage: AnyStage, report: ReportProgress, *, contents: bool = False, was_absent: bool = False
    ) -> StageRun:
        """Find or compute a result under its lock, if it is missing or damaged."""
        for input_stage in stage.inputs:
            self._ensure(input_stage, no_report)
        while True:
            # A stopped process that continues would send the rest of its requests a second time.
            with self._store.lock(stage.kind, stage.key, from_stopped=not stage.asks_a_server) as lock:
                # Only an earlier holder of the lock can have written a partial result since then.
                stored = self._find_whole(stage) if was_absent and not lock.had_holder else self._find(stage)
                if entry := self._reject_damaged(stage, stored, contents=contents, discard=True):
                    return _report_reuse(stage, entry)
                try:
                    return self._compute_and_store(stage, report, lock)
                except LockLost as lost:
                    log.warning(
                        "%s: %s; replies so far are cached, and the stage takes its lock again", stage.title, lost
                    )
            was_absent = False

    def _find(self, stage: AnyStage) -> StoredResult | None:
        return self._store.find(stage.kind, stage.key)

    def _find_whole(self, stage: AnyStage) -> StoredResult | None:
        return self._store.find_complete(stage.kind, stage.key)

    def _reject_damaged(
        self, stage: AnyStage, entry: StoredResult | None, *, contents: bool, discard: bool = False
    ) -> StoredResult | None:
        """Return the result of a stage if it is undamaged, otherwise None. Compares sizes, or with `contents`
        checksums.

        With `discard`, a damaged result is removed. Only the holder of the lock may do that, because another process
        may have replaced the result.
        """
        if entry is None:
            if discard and self._store.has_damaged_manifest(stage.kind, stage.key):
                self._damaged.append(
                    f"{stage.kind} {stage.key[:12]}: its manifest cannot be read, or belongs to another result"
                )
            return None
        damages = _find_damage(stage, entry, contents=contents)
        rewritten = self._store.find_again(stage.kind, stage.key) if damages else None
        if rewritten and rewritten.manifest == entry.manifest:
            rewritten.unreadable.update(entry.unreadable)
        if rewritten:  # another process may have written this result since the first look
            entry, damages = rewritten, _find_damage(stage, rewritten, contents=contents)
        if damages and discard:
            self._damaged.append(f"{stage.kind} {stage.key[:12]}: {'; '.join(damages)}")
            self._store.discard(entry)
        return None if damages else entry

    def _compute_and_store(
        self, stage: AnyStage, report: ReportProgress, lock: HeldLock, n_tries: int = _N_TRIES
    ) -> StageRun:
        run = Run(stage, self._store, self._cache, report)
        declare_needed(stage.models)
        started, loaded = time.perf_counter(), loading_seconds()
        try:
            with use_limiter(LimiterUnderLock(self._limiter, lock)), use_received(run.received):
                try:
                    result = _compute(stage, run)
                finally:
                    self._hidden[stage.key] = run.hidden
                    self._end_users_code(stage)
            elapsed = time.perf_counter() - started
            seconds = elapsed - (loading_seconds() - loaded)
            parts = stage.codec.encode(result)
            for part in parts.values():
                read_only(part)
            partial = run.has_failed_requests or any(
                run.entry(input_stage).manifest.partial for input_stage in stage.inputs
            )
        except DamagedEntryError as error:
            if n_tries == 1:
                raise StageFailed(_failure(stage, error)) from error
            self._recompute_inputs(stage)
            return self._compute_and_store(stage, report, lock, n_tries - 1)
        except BudgetReached:
            raise
        except StoreError:
            if outcome := self._find_foreign_result(stage):
                return outcome
            raise
        except Exception as error:
            if outcome := self._find_foreign_result(stage):
                return outcome
            raise StageFailed(_failure(stage, error)) from error
        entry = self._write(
            stage, parts, seconds, partial=partial, synced=run.has_paid or elapsed > _SYNC_ABOVE_S, hidden=run.hidden
        )
        if not entry.is_new:  # another process was first: its result is kept, and ours is dropped
            return _report_reuse(stage, entry)
        self._cache_unchangeable(stage, result, entry)
        return StageRun(stage.key, stage.kind, elapsed)

    def _cache_unchangeable(self, stage: Stage[T], result: T, entry: StoredResult) -> None:
        """Cache a result unless it is of a user's class, which may change the returned object later."""
        if not user_code_note(stage):
            self._cache.put(stage, result, entry.n_bytes)

    def _end_users_code(self, stage: AnyStage) -> None:
        """Warn of files that a user's class read and no key covers, and record them. Forget its inputs: it may have
        changed their lists, and compiled code such as FAISS can even change read-only arrays.
        """
        if user_code_note(stage):
            for line in take_uncovered_reads():
                log.warning("%s", line)
            record_uncovered_files(stage, self._store)
            for input_stage in stage.inputs:
                self._cache.forget(input_stage.key)

    def _find_foreign_result(self, stage: AnyStage) -> StageRun | None:
        """Return the outcome if another process, which presumed this one dead, has stored the result. Otherwise None.

        That process also removed the workspace, on which this one may have failed.
        """
        entry = self._store.find_again(stage.kind, stage.key)
        return _report_reuse(stage, entry) if entry else None

    def _write(
        self, stage: AnyStage, parts: Parts, seconds: float, *, partial: bool, synced: bool, hidden: Mapping[str, int]
    ) -> StoredResult:
        try:
            entry = self._store.write(
                stage.kind,
                stage.key,
                parts,
                seconds=seconds,
                made_from=stage.description,
                made_with=environment.imported_versions(),
                partial=partial,
                synced=synced,
                hidden=hidden,
            )
        except (TypeError, ValueError, RuntimeError) as error:
            raise StageFailed(_failure(stage, error)) from error
        self._store.discard_workspace(stage.key)
        return entry

    def _recompute_inputs(self, stage: AnyStage) -> None:
        """Compute damaged or deleted inputs again. Inputs that this process read before stay valid."""
        for input_stage in stage.inputs:
            self._cache.forget(input_stage.key)
            self._ensure(input_stage, no_report, contents=True)


def _report_reuse(stage: AnyStage, entry: StoredResult) -> StageRun:
    return StageRun(stage.key, stage.kind, entry.manifest.seconds, reused=True, hidden=entry.manifest.hidden)


def _compute(stage: Stage[T], run: Run) -> T:
    """Compute the result of a stage.

    If a component forks, the forked copy of this process ends here. Raises ComponentError in place of a SystemExit or
    another BaseException, which would end the sweep, and if a file in the key has changed.
    """
    for part in stage.components():
        mark_variables(part)
    process, exit_code = os.getpid(), 1
    try:
        result = stage.make(run)
        exit_code = 0
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as ended:
        how = f"called sys.exit({ended.code!r})" if isinstance(ended, SystemExit) else f"raised {type(ended).__name__}"
        raise ComponentError(
            f"a component {how} instead of raising an exception that says why{user_code_note(stage)}"
        ) from ended
    finally:
        if os.getpid() != process:
            if exit_code:
                sys.stderr.write(mask_text(traceback.format_exc()))
            os._exit(exit_code)
    for cls in {code_class(part) for part in stage.components()}:
        require_equal_files(cls)
    if (
        any(hasattr(part, "content_hash") for part in stage.components())
        and hash_description(stage.description) != stage.key
    ):
        raise ComponentError(
            "a file that one of its components reads changed while the sweep ran, so the result fits neither "
            "version. Run the same command again: finished work is cached."
        )
    return result


def _find_damage(stage: AnyStage, entry: StoredResult, *, contents: bool) -> Sequence[str]:
    """Describe the damage of a stored result. With `contents`, also compares checksums and checks places outside the
    store.
    """
    damages = entry.damages(contents=contents)
    if damages or not contents:
        return damages
    try:
        return stage.lost(entry.parts())
    except DamagedEntryError as error:  # another process has just deleted the result
        return [str(error)]


def read_cached(stage: Stage[T], store: Store, read: Callable[[StoredResult], R], limiter: Limiter | None = None) -> R:
    """Return the value that `read` takes from the stored result of a stage.

    Computes the result first if it is missing, and again if it is deleted before it is read, because another process
    may be pruning the store. Its requests then pass `limiter`, as in a Worker.

    Raises the exception of the stage, and StoreError if the result is deleted again and again.
    """
    for _ in range(_N_TRIES - 1):
        try:
            return _read_entry(find_or_make(stage, store, limiter), read)
        except DamagedEntryError:
            Worker(store, limiter).run_or_raise(stage, contents=True)
    return _read_entry(find_or_make(stage, store, limiter), read)


def _read_entry(entry: StoredResult, read: Callable[[StoredResult], R]) -> R:
    with entry.decoding_errors():
        return read(entry)


def find_or_make(stage: Stage[T], store: Store, limiter: Limiter | None = None) -> StoredResult:
    """Return the stored result of a stage after comparing its checksums. Computes it first if it is missing or damaged.

    Raises the exception of the stage, and StoreError if the result is deleted while it is looked up.
    """
    entry = store.find(stage.kind, stage.key)
    if entry is None or entry.damages(set(entry.manifest.files) - entry.compared):
        Worker(store, limiter).run_or_raise(stage, contents=True)
        entry = store.find(stage.kind, stage.key)
    if entry is None:
        raise StoreError(
            f"{store.root}: the result of stage {stage.kind} was deleted while it was read. Another process may be "
            "pruning the store. Run the same command again: finished work is cached."
        )
    entry.compared.update(entry.manifest.files)
    return entry


def _failure(stage: AnyStage, error: Exception) -> StageRun:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a bug in a user's exception class must not end the sweep
        text = "(its message cannot be shown)"
    is_complete = isinstance(error, RagGridError) and text  # messages of this project need no addition
    message = (
        text if is_complete else f"{type(error).__name__}: {text}{_hidden_cause(error, text)}{user_code_note(stage)}"
    )
    trace = "".join(traceback.format_exception(error))
    # The message may contain half of a character, as names of files that are not UTF-8 do; results are UTF-8.
    reason, trace = (whole_characters(mask_text(text)) for text in (f"{stage.title}: {message}", trace))
    if n_left := len(reason[_MAX_REASON_CHARACTERS:]):
        reason = f"{reason[:_MAX_REASON_CHARACTERS]} ... ({n_left:,} more characters are in error.txt)"
    return StageRun(stage.key, stage.kind, error=reason, trace=trace)


def _hidden_cause(error: BaseException, text: str) -> str:
    """Return this project's error message that a library's error hides, such as the message of a refused import."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is None:
        return ""
    is_shown = isinstance(cause, RagGridError) and str(cause) and str(cause) not in text
    return f" (caused by {cause})" if is_shown else _hidden_cause(cause, text)
