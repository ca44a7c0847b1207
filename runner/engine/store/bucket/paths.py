"""Where things are in a bucket, below the prefix of its address.

store.json                         the format's version, and the name of the store's cache on each host
entries/<kind>/<ke>/<key>          one result: its manifest and its small files, in one object
parts/<kind>/<ke>/<key>/<digest>   a large file of a result, by its checksum
partial/<run>/<kind>/<ke>/<name>   a result with failed requests, for the run that made it
replies/, pair_scores/             see `mirrors`
writers/, locks/, runs/            who writes, who computes a result, and which results runs need that are under way
"""

ENTRIES, PARTS, PARTIAL = "entries", "parts", "partial"
REPLIES, PAIR_SCORES = "replies", "pair_scores"
WRITERS, LOCKS, RUNS = "writers", "locks", "runs"


def entry_path(kind: str, name: str) -> str:
    """Of the object of a result; `name` is its key, or for a partial one its key and its run."""
    _, is_partial, run_id = name.partition("-")
    return f"{PARTIAL}/{run_id}/{kind}/{name[:2]}/{name}" if is_partial else f"{ENTRIES}/{kind}/{name[:2]}/{name}"


def part_path(kind: str, name: str, digest: str) -> str:
    """Of a large file of a result."""
    return f"{PARTS}/{kind}/{name[:2]}/{name}/{digest}"


def result_at(path: str) -> tuple[str, str] | None:
    """The kind and the name of the result whose object this is; None for what others put there, such as folders."""
    first, *rest = path.split("/")
    if first == PARTIAL:
        rest = rest[1:]
    return (rest[0], rest[2]) if len(rest) == 3 and first in (ENTRIES, PARTIAL) and all(rest) else None


def result_of_part(path: str) -> str | None:
    """The name of the result that a large file belongs to; None for what others put there."""
    parts = path.split("/")
    return parts[3] if len(parts) == 5 and parts[0] == PARTS else None
