"""Format of a result as one object: its manifest, followed by its small files.

    8 bytes    the number of bytes of the manifest, big-endian
    manifest   manifest.json unchanged
    files      the files of `packed_files`, in that order, each as long as the manifest says

A request costs the same for a byte and for a MiB, so small files share one object. Each large file has a separate
object, which is downloaded when the file is read.
"""

import hashlib
import json
from pathlib import Path

from runner.engine.store.manifests import MANIFEST_ERRORS, Files, named_files

_MAX_FILE_BYTES = 4 << 20
_MAX_TOTAL_BYTES = 16 << 20
_N_HEAD = 8


def packed_files(files: Files) -> list[str]:
    """Return the files inside the object: the smallest ones, up to 4 MiB each and 16 MiB together.

    The manifest alone determines them.
    """
    chosen, n_bytes = [], 0
    for name in sorted(files, key=lambda name: (files[name][1], name)):
        n_bytes += files[name][1]
        if files[name][1] > _MAX_FILE_BYTES or n_bytes > _MAX_TOTAL_BYTES:
            break
        chosen.append(name)
    return chosen


def large_files(files: Files) -> list[str]:
    """Return the files that are too large for `packed_files`. Each is a separate object."""
    packed = set(packed_files(files))
    return [name for name in files if name not in packed]


def pack(manifest: bytes, files: Files, folder: Path) -> bytes:
    """Return the contents of a result's object, from the files in its folder. Raises OSError if one cannot be read."""
    contents = [(folder / name).read_bytes() for name in packed_files(files)]
    return b"".join([len(manifest).to_bytes(_N_HEAD, "big"), manifest, *contents])


def unpack(packed: bytes) -> tuple[bytes, dict[str, bytes]] | None:
    """Return the manifest and the files by name. None unless everything is complete and matches its checksum."""
    n_manifest = int.from_bytes(packed[:_N_HEAD], "big")
    manifest = packed[_N_HEAD : _N_HEAD + n_manifest]
    files = read_file_names(manifest)
    if files is None:
        return None
    start, contents = _N_HEAD + n_manifest, {}
    for name in packed_files(files):
        digest, n_bytes = files[name]
        contents[name] = packed[start : start + n_bytes]
        start += n_bytes
        if hashlib.sha256(contents[name]).hexdigest() != digest:
            return None
    return (manifest, contents) if start == len(packed) else None


def read_file_names(manifest: bytes) -> dict[str, tuple[str, int]] | None:
    """Return the files that a manifest names. None if it is not a manifest."""
    try:
        return named_files(json.loads(manifest))
    except MANIFEST_ERRORS:
        return None
