"""Opening of a store in a bucket."""

import json
import re
import uuid
from pathlib import Path

from components.errors import ConfigError, StoreError
from runner.engine.store.bucket.address import address_problems
from runner.engine.store.bucket.bucket_results import BucketRemote
from runner.engine.store.bucket.objects import PATIENCE_S, Objects
from runner.engine.store.links import refuse_links
from runner.engine.store.stored_results import FORMAT, Store, check_format

_DESCRIPTION = "store.json"
_NAME = re.compile("[0-9a-f]{16}")
_FIRST_PATIENCE_S = 5.0
"""Seconds to wait for the bucket at first. Short, because no work would be lost."""


def open_bucket(address: str, cache_dir: Path, run_id: str) -> Store:
    """Return the store in a bucket. Creates it if it does not exist.

    Its cache is a separate folder in `cache_dir`, so that another bucket is never read from it. Raises ConfigError for
    an invalid address, and StoreError if the bucket or the cache cannot be used.
    """
    return _open_cached(address, cache_dir / _store_name(_connect(address), will_write=bool(run_id)), run_id)


def open_existing_bucket(address: str, known_cache: Path, other_cache: Path) -> Store:
    """Return the store in a bucket, for reading. Its cache is in `known_cache` if it is there already, else in
    `other_cache`.

    Raises ConfigError for an invalid address, and StoreError without a store in the bucket, or if the bucket or the
    cache cannot be used.
    """
    objects = _connect(address)
    if objects.get(_DESCRIPTION) is None:
        raise StoreError(f"{address}: contains no store")
    name = _store_name(objects, will_write=False)
    cache = (known_cache if (known_cache / name).is_dir() else other_cache) / name
    _refuse_links_of(cache)
    return _open_cached(address, cache, "")


def _refuse_links_of(cache: Path) -> None:
    """Raise StoreError for a link in a cache of unknown origin, because downloads would be written to its target."""
    for folder in (cache.parent, cache):
        if folder.is_symlink():
            raise StoreError(
                f"{folder}: is a symbolic link, expected a real folder, because downloads would be written where it "
                "leads. If you received this folder, delete the link. If it is yours, name the target as run.cache_dir."
            )
    try:
        refuse_links(cache)
    except OSError as error:
        raise StoreError(f"{cache}: cannot be read ({error.strerror or error})") from error


def _connect(address: str) -> Objects:
    if problems := address_problems(address):
        raise ConfigError([f"run.store_dir: {problem}" for problem in problems])
    return Objects(address, _FIRST_PATIENCE_S)


def _open_cached(address: str, cache: Path, run_id: str) -> Store:
    root = cache.absolute()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"run.cache_dir: cannot write in {root}: {error.strerror or error}. Choose another run.cache_dir."
        ) from error
    return Store(root, run_id, BucketRemote(address, root, patience_s=PATIENCE_S))


def _store_name(objects: Objects, *, will_write: bool) -> str:
    """Return the name of the store, which is assigned when it is created.

    A service that ignores conditions is refused to every writer, because the store may have been created before.
    """
    stored = objects.get(_DESCRIPTION)
    if stored is None:
        description = json.dumps({"format": FORMAT, "name": uuid.uuid4().hex[:16]}).encode()
        objects.create(_DESCRIPTION, description)
        stored, will_write = objects.get(_DESCRIPTION), True
    try:
        described = json.loads(stored.contents) if stored else {}
        store_format, name = int(described["format"]), str(described["name"])
        if not _NAME.fullmatch(name):  # it becomes a folder
            raise ValueError(name)
    except (RecursionError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{objects.address}/{_DESCRIPTION}: is not a store's description. Choose another run.store_dir."
        ) from error
    check_format(store_format, objects.address)
    if will_write and stored and objects.create(_DESCRIPTION, stored.contents) is not None:
        raise StoreError(
            f"{objects.address}: this service replaces existing objects (it ignores If-None-Match), so writers "
            "would overwrite each other's results. Choose another service, or a newer version of it."
        )
    return name
