"""A cache of the last decoded results of a process: a corpus is not decoded again for each stage that reads it."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

from runner.engine.stage import Stage
from runner.engine.store import StoredResult

T = TypeVar("T")

_DECODED_PER_STORED = 3
"""A decoded result takes about this many times the bytes of its (compressed) files."""


class Cache:
    """Decoded results, bounded by bytes. The least recently used are dropped first, but the last two always stay."""

    def __init__(self, max_bytes: int = 256 << 20, always: Sequence[StoredResult] = ()) -> None:
        """Raise the limit by the decoded size of the results in `always`, which all stages of the run read."""
        self._max_bytes = max_bytes + sum(entry.n_bytes for entry in always) * _DECODED_PER_STORED
        self._results: OrderedDict[str, tuple[object, int]] = OrderedDict()
        self._n_bytes = 0

    def get(self, stage: Stage[T], entry: StoredResult) -> T:
        """Return the result of a stage. Decodes it from its entry if it is not in the cache."""
        if stage.key in self._results:
            self._results.move_to_end(stage.key)
        else:
            with entry.decoding_errors():
                result = stage.codec.decode(entry.parts())
            self.put(stage, result, entry.n_bytes)
        return self._results[stage.key][0]  # type: ignore[return-value]  # the key of a Stage[T] has a result of type T

    def put(self, stage: Stage[T], result: T, n_stored_bytes: int) -> None:
        """Add a result that was just decoded or computed."""
        n_bytes = n_stored_bytes * _DECODED_PER_STORED
        self.forget(stage.key)
        self._results[stage.key] = (result, n_bytes)
        self._n_bytes += n_bytes
        while self._n_bytes > self._max_bytes and len(self._results) > 2:
            self.forget(next(iter(self._results)))

    def forget(self, key: str) -> None:
        """Drop a result if it is in the cache."""
        if key in self._results:
            self._n_bytes -= self._results.pop(key)[1]
