"""Manifests of results: `manifest.json`, which is written last into a result's folder. A result without one does not
exist.
"""

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.json_value import Json
from components.secrets.mask import current_mask, masked_values

MANIFEST = "manifest.json"

NOT_A_MANIFEST = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What comes of reading something as a manifest that is none."""

Files = Mapping[str, tuple[str, int]]
"""What a manifest says of a result's files: names, and their [SHA-256, bytes]."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MOST_BYTES = 1 << 62


@dataclass(frozen=True)
class Manifest:
    """What is known of a result without reading it.

    `partial` marks a result with failed requests (or built on one): only the run that made it, `run_id`, may use it.
    `made_with` are the versions of packages and of this project. What the result was made from is in its file for those
    who look there: a sweep of many cells holds thousands of manifests.
    """

    kind: str
    key: str
    seconds: float
    created: float
    run_id: str
    partial: bool
    files: Files
    made_with: Mapping[str, str]


class Manifests:
    """Those that one process has read."""

    def __init__(self) -> None:
        self._unreadable: set[Path] = set()
        self._made_with: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def read(self, folder: Path, place: Path) -> Manifest | None:
        """That of a folder; None without one that can be read and belongs in a place of the store."""
        self._unreadable.discard(place)
        try:
            with open(folder / MANIFEST, encoding="utf-8", opener=_without_waiting) as file:
                raw = json.loads(file.read())
            del raw["made_from"]
            files = named_files(raw)
            del raw["files"]
            versions = raw.pop("made_with")  # nearly always those of other results, which hold them already
            made_with = self._made_with.setdefault(tuple(versions.items()), versions)
            manifest = Manifest(**raw, files=files, made_with=made_with)
            is_of_place = (place.parents[1].name, place.name.partition("-")[0]) == (manifest.kind, manifest.key)
            if is_of_place and type(manifest.partial) is bool and math.isfinite(manifest.seconds + manifest.created):
                return manifest
        except FileNotFoundError:
            return None
        except (OSError, *NOT_A_MANIFEST):
            pass
        self._unreadable.add(place)
        return None

    def is_damaged(self, place: Path) -> bool:
        """True if there was one that could not be read when it was looked for last."""
        return place in self._unreadable


def _without_waiting(path: str, flags: int) -> int:
    """Opens a FIFO that nobody writes to as an empty file."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write_manifest(folder: Path, manifest: Manifest, made_from: Json) -> Path:
    """Writes it, and returns where it lies. Raises OSError."""
    path = folder / MANIFEST
    text = json.dumps({**vars(manifest), "made_from": made_from}, ensure_ascii=False)
    mask = current_mask()
    if mask.holds_known(text):
        text = json.dumps({**vars(manifest), "made_from": masked_values(made_from, mask)}, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path


def named_files(manifest: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """The [SHA-256, bytes] of the files that a manifest names. Raises one of `NOT_A_MANIFEST`, also for a name that is
    not that of a result's file: whoever reads it must not be led elsewhere.
    """
    files = {}
    for name, (digest, n_bytes) in manifest["files"].items():
        is_plain = Path(name).name == name == os.fsdecode(name.encode()) and "\0" not in name
        if not is_plain or name.startswith(".") or name in ("", MANIFEST):
            raise ValueError(f"{name!r} is not the name of a file of a result")
        if not _DIGEST.fullmatch(digest) or type(n_bytes) is not int or not 0 <= n_bytes < _MOST_BYTES:
            raise ValueError(f"{name}: {digest!r}, {n_bytes!r} are no checksum and size")
        files[name] = (digest, n_bytes)
    return files
