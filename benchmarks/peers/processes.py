"""Commands with all their processes: seconds, peak memory, what their embedder read, and a kill in between."""

import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_MARK = "BENCHMARK_PEERS_RUN"
_COUNTS = "BENCHMARK_PEERS_COUNTS"
_COUNTED = Path(__file__).parent / "counted"
_PAUSE_S = 0.5
_KIB_PER_GIB = 1 << 20
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Ran:
    """The costs of a command. `n_texts` went through the embedding model in `n_calls`, with `n_tokens`.

    Memory is the sum over all processes at one moment, with shared pages divided among them (PSS). Processes that
    live for less than half a second may be missing in `peak_gib` and `core_seconds`.
    """

    seconds: float
    core_seconds: float
    peak_gib: float
    n_texts: int
    n_calls: int
    n_tokens: int
    was_killed: bool


@dataclass
class _Watch:
    """The processes that carry a mark in their environment, however they were started."""

    mark: str
    counts: Path
    peak_kib: int = 0
    ticks: dict[int, int] = field(default_factory=dict)

    def processes(self) -> Iterator[int]:
        """Yield the ids of the processes that are alive."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (folder / "environ").read_bytes():
                    yield int(folder.name)
            except OSError:  # the process ended, or is not ours
                continue

    def sample(self) -> None:
        """Note the memory and the time of all processes."""
        total = 0
        for process in self.processes():
            folder = Path("/proc") / str(process)
            try:
                lines = (folder / "smaps_rollup").read_text().splitlines()
                times = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # the process ended
                continue
            total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
            self.ticks[process] = int(times[11]) + int(times[12])
        self.peak_kib = max(self.peak_kib, total)

    def read(self) -> tuple[int, int, int]:
        """Return the numbers of texts, calls and tokens so far."""
        lines = [line.split() for file in self.counts.iterdir() for line in file.read_text().splitlines()]
        return sum(int(texts) for texts, _ in lines), len(lines), sum(int(tokens) for _, tokens in lines)

    def kill(self) -> None:
        """Send SIGKILL until no process is left."""
        while alive := list(self.processes()):
            for process in alive:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    *,
    kill_after: int | None = None,
    timeout_s: float = 900,
) -> Ran:
    """Run a command in `folder`, and end what it leaves behind.

    With `kill_after`, all its processes get SIGKILL when the model has read that number of texts. Raises RuntimeError
    if the command fails, and TimeoutError if it takes too long.
    """
    mark = uuid.uuid4().hex
    counts = folder / "counts" / mark
    counts.mkdir(parents=True)
    path = os.pathsep.join(filter(None, [str(_COUNTED), environment.get("PYTHONPATH", "")]))
    variables = {**os.environ, **environment, "PYTHONPATH": path, _MARK: mark, _COUNTS: str(counts)}
    watch, ended = _Watch(f"{_MARK}={mark}", counts), threading.Event()
    killed, late = threading.Event(), threading.Event()

    def look() -> None:
        limit = time.monotonic() + timeout_s
        while not ended.wait(_PAUSE_S):
            watch.sample()
            if kill_after is not None and watch.read()[0] >= kill_after:
                killed.set()
                watch.kill()
            elif time.monotonic() > limit:
                late.set()
                watch.kill()

    with log.open("ab") as output:
        looking = threading.Thread(target=look)
        looking.start()
        started = time.perf_counter()
        try:
            code = subprocess.call(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=variables)
            seconds = time.perf_counter() - started
        finally:
            ended.set()
            looking.join()
            watch.kill()
    if late.is_set():
        raise TimeoutError(f"{' '.join(command)}: took more than {timeout_s:.0f} s. See {log}")
    if code and not killed.is_set():
        raise RuntimeError(f"{' '.join(command)}: ended with exit code {code}. See {log}")
    cores = sum(watch.ticks.values()) / _TICKS_PER_S
    return Ran(seconds, cores, watch.peak_kib / _KIB_PER_GIB, *watch.read(), killed.is_set())
