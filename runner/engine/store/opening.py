"""Opening of a store by its address."""

from pathlib import Path

from runner.engine.store.bucket.address import is_bucket
from runner.engine.store.stored_results import Store


def open_store(address: str, cache_dir: str, run_id: str = "") -> Store:
    """Return the store at an address: a folder, or a bucket (`s3://bucket/prefix`).

    A store in a bucket is read through the local folder `cache_dir`. `run_id` is the run that writes; "" for a reader.
    Raises ConfigError for an invalid address, and StoreError if the store cannot be opened.
    """
    if is_bucket(address):
        from runner.engine.store.bucket.bucket_opening import open_bucket

        return open_bucket(address, Path(cache_dir), run_id)
    return Store(Path(address).absolute(), run_id)


def open_named_store(address: str, cache_dir: str, results_dir: Path) -> Store:
    """Return a store that results name, for reading. Raises as `open_store` does.

    The results may come from another user. So nothing is created in a bucket, and it is cached in `results_dir`, unless
    `cache_dir` caches it already.
    """
    if is_bucket(address):
        from runner.engine.store.bucket.bucket_opening import open_existing_bucket

        return open_existing_bucket(address, Path(cache_dir), results_dir / "cache")
    return Store(Path(address).absolute(), "")
