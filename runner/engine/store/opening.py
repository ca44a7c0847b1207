"""Where a store is, as users name it."""

from pathlib import Path

from components.errors import StoreError
from runner.engine.store.entries import Store


def open_store(address: str, cache_dir: str = "", run_id: str = "") -> Store:
    """The store at an address: a folder. `cache_dir` is a local folder from which a store that is none is read.

    `run_id` is the run that writes; "" for a reader. Raises StoreError.
    """
    if "://" in address:
        raise StoreError(f"run.store_dir: got {address}, wanted a folder{f' ({cache_dir=})' if cache_dir else ''}")
    return Store(Path(address).absolute(), run_id)
