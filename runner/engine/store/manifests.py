"""Manifests of results: `manifest.json`, the last file written into a result's folder. A result needs one to exist."""

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from components.errors import StoreError
from components.json_value import Json
from components.secrets.mask import current_mask, masked_values
from runner.engine.store.regular_files import read_small

MANIFEST = "manifest.json"

MANIFEST_ERRORS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""Errors raised by reading a file that is not a manifest."""

Files = Mapping[str, tuple[str, int]]
"""Files of a result: their SHA-256 and bytes by name."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES = 1 << 62
_MAX_MANIFEST_BYTES = 1 << 26
"""Bytes of a manifest."""


@dataclass(frozen=True)
class Manifest:
    """Facts about a result that are available without reading its parts.

    `partial` marks a result with failed requests, or one computed from such a result. Only the run that computed it,
    `run_id`, may use it. `made_with` holds the versions of packages and of this project. `hidden` counts the answers of
    a model in which the value of a secret variable was hidden, by variable. The description of the stage is only in the
    file, because a sweep of many cells holds thousands of manifests in memory.
    """

    kind: str
    key: str
    seconds: float
    created: float
    run_id: str
    partial: bool
    files: Files
    made_with: Mapping[str, str]
    hidden: Mapping[str, int] = field(default_factory=dict)


class Manifests:
    """Manifests that one process has read."""

    def __init__(self) -> None:
        self._unreadable: set[Path] = set()
        self._made_with: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def read(self, folder: Path, place: Path) -> Manifest | None:
        """Return the manifest in `folder`. None if it is missing, unreadable, or belongs to a folder other than
        `place`.
        """
        self._unreadable.discard(place)
        try:
            raw = json.loads(read_small(folder / MANIFEST, _MAX_MANIFEST_BYTES))
            del raw["made_from"]
            files = named_files(raw)
            del raw["files"]
            versions = raw.pop("made_with")  # results share one dictionary of versions, because most have the same
            if not all(isinstance(version, str) for version in versions.values()):
                raise TypeError("versions that are not strings")
            made_with = self._made_with.setdefault(tuple(versions.items()), versions)
            manifest = Manifest(**raw, files=files, made_with=made_with)
            if not all(type(n_answers) is int for n_answers in manifest.hidden.values()):
                raise TypeError("counts that are not integers")
            is_of_place = (place.parents[1].name, place.name.partition("-")[0]) == (manifest.kind, manifest.key)
            if is_of_place and type(manifest.partial) is bool and math.isfinite(manifest.seconds + manifest.created):
                return manifest
        except FileNotFoundError:
            return None
        except (OSError, StoreError, *MANIFEST_ERRORS):
            pass
        self._unreadable.add(place)
        return None

    def is_damaged(self, place: Path) -> bool:
        """Return True if the manifest of this folder was unreadable when it was last read."""
        return place in self._unreadable


def write_manifest(folder: Path, manifest: Manifest, made_from: Json) -> Path:
    """Write a manifest and return its path. Raises OSError if the folder cannot be written."""
    path = folder / MANIFEST
    facts = dict(vars(manifest))
    if not manifest.hidden:  # earlier versions do not know the field
        del facts["hidden"]
    text = json.dumps({**facts, "made_from": made_from}, ensure_ascii=False)
    mask = current_mask()
    if mask.holds_known(text):
        text = json.dumps({**facts, "made_from": masked_values(made_from, mask)}, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path


def named_files(manifest: Mapping[str, Json]) -> dict[str, tuple[str, int]]:
    """Return the [SHA-256, bytes] of the files in a manifest.

    Raises one of `MANIFEST_ERRORS` for other contents, and for file names that would lead readers outside the result's
    folder.
    """
    files = {}
    for name, (digest, n_bytes) in manifest["files"].items():
        is_plain = Path(name).name == name == os.fsdecode(name.encode()) and "\0" not in name
        if not is_plain or name.startswith(".") or name in ("", MANIFEST):
            raise ValueError(f"{name!r} is not a valid file name in a result")
        if not _DIGEST.fullmatch(digest) or type(n_bytes) is not int or not 0 <= n_bytes < _MAX_BYTES:
            raise ValueError(f"{name}: {digest!r}, {n_bytes!r} are not a checksum and a size")
        files[name] = (digest, n_bytes)
    return files
