"""A queue of tasks in a shared folder, through which a driver hands stages to workers on other hosts.

    waiting.json               waiting tasks in order, and dismissed workers; rewritten by the driver
    tasks/<number>             an empty file per task: a worker takes the task by renaming it to the next path
    taken/<number>.<worker>
    journals/<worker>.runs     tasks that a worker began, and their outcomes

Files are looked up by name and reopened for each check. A network file system guarantees that an opened file shows what
its writer had closed, but the listing of a folder may be half a minute old (NFS).
"""

import errno
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.json_value import Json
from runner.engine.identity import Models

_PATIENCE_S = 5.0
"""Seconds that a free worker leaves a task to busy workers that hold its models: about the time of loading models."""


@dataclass(frozen=True)
class SlurmTask:
    """A stage to run, by its key. `n_holders` workers hold its models in memory."""

    number: int
    key: str
    n_holders: int = 0


class Wait:
    """Pauses between checks: a twentieth of the time waited so far, from a millisecond to a second.

    Checks then cost little and still notice changes quickly. A hundred idle workers make a hundred checks per second.
    """

    def __init__(self) -> None:
        self._began_at = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the wait began."""
        return time.monotonic() - self._began_at

    def pause(self) -> None:
        """Sleep until the next check."""
        time.sleep(min(max(self.seconds / 20, 0.001), 1.0))


class Journal:
    """A file of JSON lines that one process appends and others read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.n_bytes_read = 0
        """Bytes read so far. They grow with every heartbeat."""

    def append(self, line: Mapping[str, Json]) -> None:
        """Append a line. Raises OSError if the file cannot be written."""
        # The first newline ends a line that a killed process left incomplete.
        with self._path.open("ab", buffering=0) as file:
            file.write(b"\n" + json.dumps(line).encode() + b"\n")

    def beat(self) -> None:
        """Append a heartbeat, which readers see as growth of the file. Raises OSError if it cannot be written."""
        with self._path.open("ab", buffering=0) as file:
            file.write(b"\n")

    def new_lines(self) -> list[dict[str, Json]]:
        """Return the lines appended since the last call, without incomplete ones.

        Raises OSError if the file cannot be read.
        """
        with self._path.open("rb") as file:
            file.seek(self.n_bytes_read)
            contents = file.read()
        complete = contents[: contents.rfind(b"\n") + 1]
        self.n_bytes_read += len(complete)
        return [line for line in map(_parse, complete.splitlines()) if line is not None]


def _parse(line: bytes) -> dict[str, Json] | None:
    try:
        parsed = json.loads(line)
    except (RecursionError, ValueError):
        return None
    return parsed if isinstance(parsed, dict) else None


def make_folders(folder: Path) -> None:
    """Create the folders of a queue. Raises OSError if they exist or cannot be created."""
    for name in ("tasks", "taken", "journals"):
        (folder / name).mkdir(parents=True)


def journal_path(folder: Path, worker: str, ending: str) -> Path:
    """Return the path of a worker's journal."""
    return folder / "journals" / f"{worker}.{ending}"


class TaskQueue:
    """The driver's side of the queue: the waiting tasks."""

    def __init__(self, folder: Path) -> None:
        """The folders must exist: see `make_folders`."""
        self._folder = folder
        self._n_put = 0
        self._waiting: dict[int, SlurmTask] = {}
        self._dismissed: list[str] = []
        self._is_written = False

    def __iter__(self) -> Iterator[SlurmTask]:
        """Yield the tasks that no worker has reported as taken."""
        return iter(list(self._waiting.values()))

    def put(self, key: str, n_holders: int = 0) -> SlurmTask:
        """Add a task, which workers see after the next `write`. Raises OSError if the folder cannot be written."""
        self._n_put += 1
        task = SlurmTask(self._n_put, key, n_holders)
        _waiting_path(self._folder, task.number).touch()
        self._change(task)
        return task

    def set_holders(self, task: SlurmTask, n_holders: int) -> None:
        """Update the number of workers that hold the models of a waiting task."""
        if n_holders != task.n_holders:
            self._change(SlurmTask(task.number, task.key, n_holders))

    def _change(self, task: SlurmTask) -> None:
        self._waiting[task.number] = task
        self._is_written = False

    def withdraw(self, number: int) -> None:
        """Remove a task that a worker has reported as taken."""
        self._waiting.pop(number, None)

    def dismiss(self, worker: str) -> None:
        """Dismiss a worker that is presumed dead. It may be alive, and even take one more task before it reads this."""
        self._dismissed.append(worker)
        self._is_written = False

    @property
    def tasks_of_dismissed_workers(self) -> list[SlurmTask]:
        """Tasks that seem to be waiting but were taken by dismissed workers."""
        return [task for task in self if any(self.is_taken_by(task.number, worker) for worker in self._dismissed)]

    def is_taken_by(self, number: int, worker: str) -> bool:
        """Return True if a worker has taken a task, even if it died before reporting that."""
        return _taken_path(self._folder, number, worker).exists()

    def write(self) -> None:
        """Publish the waiting tasks to the workers. Raises OSError if the folder cannot be written."""
        if not self._is_written:
            temporary = self._folder / f".{uuid.uuid4().hex}"
            tasks = [list(vars(task).values()) for task in self._waiting.values()]
            temporary.write_text(json.dumps({"tasks": tasks, "dismissed": self._dismissed}))
            temporary.replace(self._folder / _WAITING)
            self._is_written = True


class TaskQueueReader:
    """A worker's side of the queue: takes tasks and records their outcomes."""

    def __init__(self, folder: Path, worker: str, models: Mapping[str, Models]) -> None:
        """`models` are the models of stages, by key. Raises OSError if the journal does not exist."""
        self._folder = folder
        self._worker = worker
        self._models = models
        self._loaded: Models = frozenset()
        self.is_dismissed = False
        """True if the driver has dismissed this worker."""
        self._journal = Journal(journal_path(folder, worker, "runs"))
        # Tasks that this worker or its predecessor has taken, and later also those that others have taken.
        self._known_as_taken = {line["began"] for line in self._journal.new_lines() if "began" in line}

    def take(self, waited_s: float) -> SlurmTask | None:
        """Take a waiting task. Returns None if no task is suitable. Raises OSError if the queue cannot be read or
        written.

        Tasks that need no model, or only models that this worker holds, come first. Then come tasks with models that no
        worker holds. Tasks with models that other workers hold are taken only after some time.
        """
        offered = self._read_offers()
        for task in sorted(offered, key=self._n_elsewhere):  # the sort is stable: the order of equal tasks remains
            if self._n_elsewhere(task) > 0 and waited_s < _PATIENCE_S:
                return None
            is_new = task.number not in self._known_as_taken
            self._known_as_taken.add(task.number)
            if is_new and self._claim(task.number):
                self._loaded = self._models[task.key] or self._loaded
                self._journal.append({"began": task.number, "process": os.getpid()})
                return task
        return None

    def record_outcome(self, task: SlurmTask, outcome: Mapping[str, Json]) -> None:
        """Record the outcome of a task. Raises OSError if the journal cannot be written."""
        self._journal.append({"ended": task.number, "process": os.getpid(), "how": dict(outcome)})

    def _read_offers(self) -> list[SlurmTask]:
        try:
            waiting = json.loads((self._folder / _WAITING).read_bytes())
        except OSError as error:
            # No task was offered yet, or the file was replaced while a network file system read it.
            if error.errno not in (errno.ENOENT, errno.ESTALE):
                raise
            return []
        self.is_dismissed = self._worker in waiting["dismissed"]
        return [] if self.is_dismissed else [SlurmTask(*task) for task in waiting["tasks"]]

    def _n_elsewhere(self, task: SlurmTask) -> int:
        """Return the number of other workers that hold the task's models. -1 if this worker holds them."""
        return -1 if self._models[task.key] <= self._loaded else task.n_holders

    def _claim(self, number: int) -> bool:
        taken = _taken_path(self._folder, number, self._worker)
        try:
            _waiting_path(self._folder, number).rename(taken)
        except FileNotFoundError:
            # A network file system may have repeated a successful rename whose reply was lost.
            return taken.exists()
        return True


_WAITING = "waiting.json"


def _waiting_path(folder: Path, number: int) -> Path:
    return folder / "tasks" / str(number)


def _taken_path(folder: Path, number: int, worker: str) -> Path:
    return folder / "taken" / f"{number}.{worker}"
