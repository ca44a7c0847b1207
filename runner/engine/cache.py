"""The last decoded results of a process, so that a corpus is not decoded anew for each stage that reads it."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

from runner.engine.stage import Stage
from runner.engine.store import StoredResult

T = TypeVar("T")

_DECODED_PER_STORED = 3
"""A decoded result takes about this many times the bytes of its (compressed) files."""


class Cache:
    """Bounded by bytes: the results used longest ago go first, but the last two always stay."""

    def __init__(self, max_bytes: int = 256 << 20, always: Sequence[StoredResult] = ()) -> None:
        """There is room for the decoded results of `always` besides."""
        self._max_bytes = max_bytes + sum(entry.n_bytes for entry in always) * _DECODED_PER_STORED
        self._kept: OrderedDict[str, tuple[object, int]] = OrderedDict()
        self._n_bytes = 0

    def get(self, stage: Stage[T], entry: StoredResult) -> T:
        """The result of a stage, decoded from its entry unless it is here."""
        if stage.key in self._kept:
            self._kept.move_to_end(stage.key)
        else:
            self.put(stage, stage.codec.decode(entry.parts()), entry.n_bytes)
        return self._kept[stage.key][0]  # type: ignore[return-value]  # kept under the key of a Stage[T]

    def put(self, stage: Stage[T], result: T, n_stored_bytes: int) -> None:
        """Keeps a result that was just decoded or made."""
        n_bytes = n_stored_bytes * _DECODED_PER_STORED
        self.forget(stage.key)
        self._kept[stage.key] = (result, n_bytes)
        self._n_bytes += n_bytes
        while self._n_bytes > self._max_bytes and len(self._kept) > 2:
            self.forget(next(iter(self._kept)))

    def forget(self, key: str) -> None:
        """Drops a result, if it is here."""
        if key in self._kept:
            self._n_bytes -= self._kept.pop(key)[1]
