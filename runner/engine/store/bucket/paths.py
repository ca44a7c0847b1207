"""Paths in a bucket, below the prefix of its address.

store.json                         version of the format, and the name of the store's cache on each host
entries/<kind>/<ke>/<key>          one result: its manifest and its small files, in one object
parts/<kind>/<ke>/<key>/<digest>   a large file of a result, by its checksum
partial/<run>/<kind>/<ke>/<name>   a result with failed requests, for the run that computed it
replies/, pair_scores/             see `mirrors`
writers/, locks/, runs/            heartbeats, holders of locks, and results that running sweeps need
"""

ENTRIES, PARTS, PARTIAL = "entries", "parts", "partial"
REPLIES, PAIR_SCORES = "replies", "pair_scores"
WRITERS, LOCKS, RUNS = "writers", "locks", "runs"


def entry_path(kind: str, name: str) -> str:
    """Return the path of a result's object. `name` is its key, or for a partial result its key and its run."""
    _, is_partial, run_id = name.partition("-")
    return f"{PARTIAL}/{run_id}/{kind}/{name[:2]}/{name}" if is_partial else f"{ENTRIES}/{kind}/{name[:2]}/{name}"


def part_path(kind: str, name: str, digest: str) -> str:
    """Return the path of a large file of a result."""
    return f"{PARTS}/{kind}/{name[:2]}/{name}/{digest}"


def parse_path(path: str) -> tuple[str, str] | None:
    """Return the kind and name of the result at a path. None for other objects, such as folders."""
    first, *rest = path.split("/")
    if first == PARTIAL:
        rest = rest[1:]
    return (rest[0], rest[2]) if len(rest) == 3 and first in (ENTRIES, PARTIAL) and all(rest) else None


def result_of_part(path: str) -> str | None:
    """Return the name of the result that a large file belongs to. None for other objects."""
    parts = path.split("/")
    return parts[3] if len(parts) == 5 and parts[0] == PARTS else None
