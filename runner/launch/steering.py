"""The interface of a running sweep to users who watch and steer it: see `runner.results.live_sweep`."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from components.json_value import Json
from runner.engine.spending import Budget
from runner.engine.stage import AnyStage
from runner.engine.steering_requests import Steering
from runner.engine.store.heartbeat import heartbeat
from runner.engine.store.writers import Writers
from runner.output.progress import StageProgress
from runner.pipeline.planned_cells import PlannedCell
from runner.results.live_sweep import (
    HEARTBEATS,
    PAUSE,
    PROGRESS,
    RESUME,
    STEERING,
    STOP,
    Progress,
    read_requests,
    write_progress,
)

_MIN_S_BETWEEN_WRITES = 1.0


@dataclass
class SweepSteering(Steering):
    """Writes the progress of a sweep, and carries out the requests of users. Does nothing before `begin`.

    `announce` receives a line per request, and `on_requests` is called after new requests are carried out.
    """

    sweep_dir: Path
    ledger: Path
    budget: Budget
    currency: str
    announce: Callable[[str], None]
    on_requests: Callable[[], None]
    requests: list[dict[str, Json]] = field(default_factory=list)
    """All requests so far, for the record."""
    stopped: set[str] = field(default_factory=set)
    """Ids of the cells that users stopped."""
    is_paused: bool = False
    progress: StageProgress | None = None
    note: str = ""
    _file: "_ProgressFile | None" = None
    _seen: tuple[int, int, int] = (0, 0, 0)
    """Inode, size and modification time (ns) of the file of requests when it was read."""
    _n_read: int = 0
    _cells_of: dict[str, set[str]] = field(default_factory=dict)
    _idle_since: float | None = None

    def begin(self, cells: Sequence[PlannedCell]) -> None:
        """Take the cells of the sweep, or of a search's next round. Requests for an earlier sweep are forgotten."""
        if self._file is None:
            (self.sweep_dir / STEERING).unlink(missing_ok=True)
            self._file = _ProgressFile(self.sweep_dir)
        self._cells_of = {}
        for cell in cells:
            for stage in cell.graph.result.upstream():
                self._cells_of.setdefault(stage.key, set()).add(cell.cell_id)
        self.note_running(())

    def end(self) -> None:
        """Delete the progress of a sweep that has ended, and forget the sweep."""
        if self._file:
            self._file.end()
        # A cycle of references would keep heartbeat files open until the next garbage collection.
        self._file = self.progress = None
        self.announce = self.on_requests = _ignore

    def look(self) -> Collection[str]:
        if self._file is None or not (requests := self._new_requests()):
            return ()
        before = len(self.stopped)
        for request in requests:
            self._apply(request)
        self.requests += requests
        self.on_requests()
        if len(self.stopped) == before:
            return ()
        return {key for key, cells in self._cells_of.items() if cells <= self.stopped}

    def _new_requests(self) -> list[dict[str, Json]]:
        try:
            status = (self.sweep_dir / STEERING).stat()
        except OSError:  # there are no requests yet, or the file was deleted
            self._seen, self._n_read = (0, 0, 0), 0
            return []
        seen = status.st_ino, status.st_size, status.st_mtime_ns
        if seen == self._seen:
            return []
        if seen[0] != self._seen[0] or seen[1] < self._seen[1]:  # the file was replaced or emptied
            self._n_read = 0
        self._seen = seen
        requests = read_requests(self.sweep_dir)
        new, self._n_read = requests[self._n_read :], len(requests)
        return new

    def _apply(self, request: Mapping[str, Json]) -> None:
        if request["action"] == PAUSE:
            self.is_paused = True
            self.announce("paused by the user: running stages finish, and no other stage starts")
        elif request["action"] == RESUME:
            self.is_paused = False
            self.announce("resumed by the user")
        elif request["action"] == STOP:
            self.stopped.add(str(request.get("cell_id")))
            self.announce(
                f"cell {request.get('cell_id')} stopped by the user: stages that only it needs will not start"
            )

    def note_running(self, stages: Iterable[AnyStage]) -> None:
        if self._file is None:
            return
        stages = list(stages)
        now = time.monotonic()
        if self.progress and self._idle_since is not None:
            self.progress.idle(now - self._idle_since)
        is_idle = self.is_paused and not stages
        self._file.put(self._describe(stages), at_once=is_idle and self._idle_since is None)
        self._idle_since = now if is_idle else None

    def _describe(self, stages: Sequence[AnyStage]) -> Progress:
        assert self._file is not None, "the caller has checked"
        cells_of = {title: set[str]() for title in sorted({stage.title for stage in stages})}
        for stage in stages:
            cells_of[stage.title] |= self._cells_of.get(stage.key, set()) - self.stopped
        n_of = Counter(stage.title for stage in stages)
        n_done, n_all, left_s = self.progress.summarize() if self.progress else (0, 0, None)
        return Progress(
            process=self._file.process,
            ledger=self.ledger.name,
            currency=self.currency,
            budget={f"run.{name}": limit for name, limit in vars(self.budget).items() if limit is not None},
            written=time.time(),
            n_stages=n_all,
            n_stages_done=n_done,
            n_cells_running=len(set[str]().union(*cells_of.values())),
            running=tuple({"title": title, "n": n_of[title], "n_cells": len(ids)} for title, ids in cells_of.items()),
            left_s=left_s,
            is_paused=self.is_paused,
            note=self.note,
        )


def _ignore(*_: object) -> None:
    """Do nothing."""


class _ProgressFile:
    """`progress.json`, written at most about once a second.

    The heartbeat thread writes progress that arrived within a second of the last write, because no later call may
    follow.
    """

    def __init__(self, sweep_dir: Path) -> None:
        """Begin the heartbeat in the folder. Raises OSError if the folder cannot be written."""
        self._sweep_dir = sweep_dir
        self._writers = Writers(sweep_dir / HEARTBEATS)
        self.process = self._writers.own_name
        self._writers.remove_dead_heartbeats()
        self._waiting: Progress | None = None
        self._written_at = float("-inf")
        self._lock = threading.Lock()
        heartbeat.call(self)

    def put(self, progress: Progress, *, at_once: bool = False) -> None:
        """Write the progress now or soon."""
        with self._lock:
            self._waiting = progress
            if at_once or time.monotonic() - self._written_at >= _MIN_S_BETWEEN_WRITES:
                self._write()

    def beat(self) -> None:
        with self._lock:
            self._write()

    def _write(self) -> None:
        if self._waiting:
            with suppress(OSError):  # on a full disk, watchers see an older state
                write_progress(self._sweep_dir, self._waiting)
            self._waiting, self._written_at = None, time.monotonic()

    def end(self) -> None:
        """Delete the file."""
        with self._lock, suppress(OSError):
            self._waiting = None
            (self._sweep_dir / PROGRESS).unlink(missing_ok=True)
