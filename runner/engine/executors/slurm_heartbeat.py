"""Heartbeat of the driver for workers that cannot reach it: a file that it keeps changing."""

import threading
import time
from contextlib import suppress
from pathlib import Path

BEATS_PER_SILENCE = 10
"""Number of missing heartbeats after which a process is presumed dead."""

_ENDED = b"ended"


def _path(folder: Path) -> Path:
    return folder / "driver"


class DriverHeartbeat:
    """The driver's side: writes heartbeats until it is stopped."""

    def __init__(self, folder: Path, silence_s: float) -> None:
        """Write the first heartbeat and start the thread that writes the others. Raises OSError if the first cannot be
        written.

        Workers presume the driver dead after `silence_s` without a heartbeat.
        """
        self._path = _path(folder)
        self._every_s = silence_s / BEATS_PER_SILENCE
        self._is_stopped = threading.Event()
        self._path.write_bytes(b"0")
        self._thread = threading.Thread(target=self._beat, daemon=True)  # a daemon thread ends with the driver
        self._thread.start()

    def _beat(self) -> None:
        n_beats = 0
        while not self._is_stopped.wait(self._every_s):
            n_beats += 1
            with suppress(OSError):  # a full disk may have space at the next beat
                self._path.write_text(str(n_beats))

    def stop(self) -> None:
        """Announce that no workers are needed any more. May be called again."""
        self._is_stopped.set()
        self._thread.join()
        with suppress(FileNotFoundError):
            self._path.write_bytes(_ENDED)


class DriverWatch:
    """A worker's side: checks whether the file changes, using only the clock of the worker's host."""

    def __init__(self, folder: Path, silence_s: float) -> None:
        self._path = _path(folder)
        self._silence_s = silence_s
        self._seen = b""
        self._changed = time.monotonic()

    @property
    def every_s(self) -> float:
        """Interval of the driver's heartbeats in seconds: checking more often is useless."""
        return self._silence_s / BEATS_PER_SILENCE

    def is_over(self) -> bool:
        """Return True if the driver announced its end or was silent for too long. An unreadable file counts as
        unchanged.
        """
        with suppress(OSError):
            contents = self._path.read_bytes()
            if contents != self._seen:
                self._seen, self._changed = contents, time.monotonic()
        return self._seen == _ENDED or time.monotonic() - self._changed > self._silence_s
