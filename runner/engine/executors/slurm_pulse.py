"""Whether the driver lives, for workers that cannot reach it: a file that it goes on changing."""

import threading
import time
from contextlib import suppress
from pathlib import Path

BEATS_PER_SILENCE = 10
"""So many signs of life are missing when somebody counts as gone."""

_ENDED = b"ended"


def _path(folder: Path) -> Path:
    return folder / "driver"


class DriverPulse:
    """The driver's side: beats until it is stopped."""

    def __init__(self, folder: Path, silence_s: float) -> None:
        """Begins at once. `silence_s` without a beat are an end. Raises OSError."""
        self._path = _path(folder)
        self._every_s = silence_s / BEATS_PER_SILENCE
        self._is_stopped = threading.Event()
        self._path.write_bytes(b"0")
        self._thread = threading.Thread(target=self._beat, daemon=True)  # it dies with the driver, however that ends
        self._thread.start()

    def _beat(self) -> None:
        n_beats = 0
        while not self._is_stopped.wait(self._every_s):
            n_beats += 1
            with suppress(OSError):  # a disk that is full now may not be at the next beat
                self._path.write_text(str(n_beats))

    def stop(self) -> None:
        """Says that no workers are needed any more. May be called again."""
        self._is_stopped.set()
        self._thread.join()
        with suppress(FileNotFoundError):
            self._path.write_bytes(_ENDED)


class DriverWatch:
    """A worker's side: sees whether the file changes, by the clock of its own host alone."""

    def __init__(self, folder: Path, silence_s: float) -> None:
        self._path = _path(folder)
        self._silence_s = silence_s
        self._seen = b""
        self._changed = time.monotonic()

    @property
    def every_s(self) -> float:
        """So often is a look worth while."""
        return self._silence_s / BEATS_PER_SILENCE

    def is_over(self) -> bool:
        """The driver said so, or was silent for too long. What cannot be read has not changed."""
        with suppress(OSError):
            found = self._path.read_bytes()
            if found != self._seen:
                self._seen, self._changed = found, time.monotonic()
        return self._seen == _ENDED or time.monotonic() - self._changed > self._silence_s
