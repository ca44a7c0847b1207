"""Tasks that a driver hands out and that workers on other hosts take, with a folder that they share as the only link.

    waiting.json               what nobody has taken yet, in order, and which workers are to take nothing more;
                               written anew by the driver
    tasks/<number>             an empty file per task: who renames it to the next has the task
    taken/<number>.<worker>
    journals/<worker>.runs     what a worker began and how that ended

Files are looked for by name and opened anew at each look: a network file system promises that who opens a file sees
what was there when its writer closed it, whereas the list of a folder may be half a minute old (NFS).
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
"""So long a free worker leaves a task to a busy one that has its models in memory: loading them takes about as long."""


@dataclass(frozen=True)
class SlurmTask:
    """A stage to be run, by its key. `n_holders` workers have its models in memory."""

    number: int
    key: str
    n_holders: int = 0


class Wait:
    """Pauses between looks that find nothing: a twentieth of the time waited so far, from a millisecond to a second. So
    looking costs little, and what happens is known soon: a hundred idle workers look a hundred times a second in all.
    """

    def __init__(self) -> None:
        self._since = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the wait began."""
        return time.monotonic() - self._since

    def pause(self) -> None:
        """Sleeps until the next look."""
        time.sleep(min(max(self.seconds / 20, 0.001), 1.0))


class Journal:
    """Lines of JSON in a file to which one process appends, and which others read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.n_read = 0
        """Bytes that were read so far: they become more with every sign of life."""

    def append(self, line: Mapping[str, Json]) -> None:
        """Writes a line. Raises OSError."""
        # It first ends what a killed process may have left of a line.
        with self._path.open("ab", buffering=0) as file:
            file.write(b"\n" + json.dumps(line).encode() + b"\n")

    def beat(self) -> None:
        """A sign of life: readers see that the file grew. Raises OSError."""
        with self._path.open("ab", buffering=0) as file:
            file.write(b"\n")

    def new_lines(self) -> list[dict[str, Json]]:
        """What was appended since the last look; a line that was cut off is passed over. Raises OSError."""
        with self._path.open("rb") as file:
            file.seek(self.n_read)
            read = file.read()
        whole = read[: read.rfind(b"\n") + 1]
        self.n_read += len(whole)
        return [line for line in map(_parsed, whole.splitlines()) if line is not None]


def _parsed(line: bytes) -> dict[str, Json] | None:
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def make_folders(folder: Path) -> None:
    """Those of a queue. Raises OSError."""
    for name in ("tasks", "taken", "journals"):
        (folder / name).mkdir(parents=True)


def journal_path(folder: Path, worker: str, ending: str) -> Path:
    """Where a worker writes."""
    return folder / "journals" / f"{worker}.{ending}"


class Offers:
    """The driver's side: what waits to be taken."""

    def __init__(self, folder: Path) -> None:
        """The folders are there: see `make_folders`."""
        self._folder = folder
        self._n_put = 0
        self._waiting: dict[int, SlurmTask] = {}
        self._dismissed: list[str] = []
        self._is_written = False

    def __iter__(self) -> Iterator[SlurmTask]:
        """What nobody is known to have taken."""
        return iter(list(self._waiting.values()))

    def put(self, key: str, n_holders: int = 0) -> SlurmTask:
        """Adds a task, which workers see once all are written. Raises OSError."""
        self._n_put += 1
        task = SlurmTask(self._n_put, key, n_holders)
        _file_of(self._folder, task.number).touch()
        self._change(task)
        return task

    def set_holders(self, task: SlurmTask, n_holders: int) -> None:
        """Says how many workers have by now the models of a task that waits."""
        if n_holders != task.n_holders:
            self._change(SlurmTask(task.number, task.key, n_holders))

    def _change(self, task: SlurmTask) -> None:
        self._waiting[task.number] = task
        self._is_written = False

    def withdraw(self, number: int) -> None:
        """Offers a task no more: a worker said that it has it."""
        self._waiting.pop(number, None)

    def dismiss(self, worker: str) -> None:
        """A worker counts as gone. It may live on, and even take one more task before it reads this."""
        self._dismissed.append(worker)
        self._is_written = False

    @property
    def taken_by_dismissed(self) -> list[SlurmTask]:
        """What waits as far as is known, but was taken by a worker that was dismissed."""
        return [task for task in self if any(self.is_taken_by(task.number, worker) for worker in self._dismissed)]

    def is_taken_by(self, number: int, worker: str) -> bool:
        """Whether a worker has taken a task, whether or not it lived to say so."""
        return _taken(self._folder, number, worker).exists()

    def write(self) -> None:
        """Shows the workers what waits. Raises OSError."""
        if not self._is_written:
            temporary = self._folder / f".{uuid.uuid4().hex}"
            tasks = [list(vars(task).values()) for task in self._waiting.values()]
            temporary.write_text(json.dumps({"tasks": tasks, "dismissed": self._dismissed}))
            temporary.replace(self._folder / _WAITING)
            self._is_written = True


class Taker:
    """A worker's side: takes what waits, and writes down what became of it."""

    def __init__(self, folder: Path, worker: str, models: Mapping[str, Models]) -> None:
        """`models` are those that stages need, by key. The journal is there. Raises OSError."""
        self._folder = folder
        self._worker = worker
        self._models = models
        self._loaded: Models = frozenset()
        self.is_dismissed = False
        """The driver wants nothing more of this worker."""
        self._journal = Journal(journal_path(folder, worker, "runs"))
        # What this worker, or the one before it in its place, took already; later also what others took.
        self._gone = {line["began"] for line in self._journal.new_lines() if "began" in line}

    def take(self, waited_s: float) -> SlurmTask | None:
        """The first task that nobody else took of those whose models are here, or that need none; else of those whose
        models no worker has in memory; and only after a while one whose models others have. Raises OSError.
        """
        offered = self._offered()
        for task in sorted(offered, key=self._n_elsewhere):  # which keeps their order otherwise
            if self._n_elsewhere(task) > 0 and waited_s < _PATIENCE_S:
                return None
            is_new = task.number not in self._gone
            self._gone.add(task.number)
            if is_new and self._claim(task.number):
                self._loaded = self._models[task.key] or self._loaded
                self._journal.append({"began": task.number, "process": os.getpid()})
                return task
        return None

    def ended(self, task: SlurmTask, how: Mapping[str, Json]) -> None:
        """Writes down how a task ended. Raises OSError."""
        self._journal.append({"ended": task.number, "process": os.getpid(), "how": dict(how)})

    def _offered(self) -> list[SlurmTask]:
        try:
            waiting = json.loads((self._folder / _WAITING).read_bytes())
        except OSError as error:
            # Nothing was offered yet, or a network file system lost the file that was replaced while it was read.
            if error.errno not in (errno.ENOENT, errno.ESTALE):
                raise
            return []
        self.is_dismissed = self._worker in waiting["dismissed"]
        return [] if self.is_dismissed else [SlurmTask(*task) for task in waiting["tasks"]]

    def _n_elsewhere(self, task: SlurmTask) -> int:
        """-1 if its models are here; else how many others have them."""
        return -1 if self._models[task.key] <= self._loaded else task.n_holders

    def _claim(self, number: int) -> bool:
        taken = _taken(self._folder, number, self._worker)
        try:
            _file_of(self._folder, number).rename(taken)
        except FileNotFoundError:
            # Also the answer to a rename that a network file system sent twice, as the first answer was lost.
            return taken.exists()
        return True


_WAITING = "waiting.json"


def _file_of(folder: Path, number: int) -> Path:
    return folder / "tasks" / str(number)


def _taken(folder: Path, number: int, worker: str) -> Path:
    return folder / "taken" / f"{number}.{worker}"
