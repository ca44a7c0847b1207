"""Opens the store in a bucket."""

import json
import uuid
from pathlib import Path

from components.errors import ConfigError, StoreError
from runner.engine.store.bucket.address import address_mistakes
from runner.engine.store.bucket.bucket_results import BucketRemote
from runner.engine.store.bucket.objects import PATIENCE_S, Objects
from runner.engine.store.stored_results import FORMAT, Store, check_format

_DESCRIPTION = "store.json"
_FIRST_PATIENCE_S = 5.0
"""Who cannot reach the bucket at all is told so soon: nothing was done yet."""


def open_bucket(address: str, cache_dir: Path, run_id: str) -> Store:
    """The store in a bucket, which is made there if there is none. Its cache is a folder of its own in `cache_dir`, so
    that another bucket is never read from it. Raises ConfigError for an address that cannot be one, and StoreError.
    """
    if mistakes := address_mistakes(address):
        raise ConfigError([f"run.store_dir: {mistake}" for mistake in mistakes])
    name = _name_of(Objects(address, _FIRST_PATIENCE_S))
    root = cache_dir.absolute() / name
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"run.cache_dir: cannot write in {root}: {error.strerror or error}; choose another run.cache_dir"
        ) from error
    return Store(root, run_id, BucketRemote(address, root, patience_s=PATIENCE_S))


def _name_of(objects: Objects) -> str:
    """That of the store, which is given when it is made."""
    found = objects.get(_DESCRIPTION)
    if found is None:
        made = json.dumps({"format": FORMAT, "name": uuid.uuid4().hex[:16]}).encode()
        objects.create(_DESCRIPTION, made)
        found = objects.get(_DESCRIPTION)
        if found and objects.create(_DESCRIPTION, found.contents) is not None:
            raise StoreError(
                f"{objects.address}: this service puts an object where there is one (it ignores If-None-Match), so "
                "that writers would undo each other's work; choose another, or a newer version of it"
            )
    try:
        described = json.loads(found.contents) if found else {}
        found_format, name = int(described["format"]), str(described["name"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{objects.address}/{_DESCRIPTION}: not a store's description; choose another run.store_dir"
        ) from error
    check_format(found_format, objects.address)
    return name
