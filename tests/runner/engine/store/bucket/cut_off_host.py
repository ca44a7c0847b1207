"""A process on its own host: holds a lock, and writes on command. Arguments: address, cache, lease."""

import sys
from pathlib import Path

import numpy as np

from runner.engine.store import Store
from runner.engine.store.bucket.bucket_results import BucketRemote

KIND, KEY = "vectors", "ab" * 32


def opened(address: str, cache: Path, lease_s: float) -> Store:
    """Open the store as a host that shares nothing else."""
    return Store(cache, "a run", BucketRemote(address, cache, lease_s=lease_s))


def written(store: Store, value: float) -> tuple[float, bool]:
    """Return the result that stays, and True if this host wrote it."""
    entry = store.write(KIND, KEY, {"vectors": np.full(8, value)}, seconds=1.0, made_from={})
    return float(entry.part("vectors")[0]), entry.is_new


if __name__ == "__main__":
    store = opened(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
    with store.lock(KIND, KEY):
        print("held", flush=True)  # noqa: T201
        sys.stdin.readline()
        print(*written(store, 1.0), flush=True)  # noqa: T201
