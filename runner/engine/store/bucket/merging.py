"""Merges the objects that hold replies: each process puts its own, and months of sweeps leave thousands of small ones.

What somebody adds at the same time is not lost: an object is emptied only if it is still the one that was read, and
goes only once it is empty; whoever put it (`mirrors.SentReplies`) finds another in its place, and goes on in a further
one. Killed at any moment this leaves replies twice, which are one for all who read them. An object whose bytes were
damaged or cut off on their way here stays as it is.
"""

import uuid
from collections.abc import Sequence

from runner.engine.store.bucket.objects import Listed, Object, Objects
from runner.engine.store.replies import is_sound, merged_lines

_MERGED_FROM = 16
"""Fewer are not worth that each host reads them again."""

_SMALL = 8 << 20
_LARGEST = 16 << 20


def mergeable(listed: Sequence[Listed]) -> list[list[Listed]]:
    """Those of one model and purpose that are worth being merged, each list into one object. Large ones stay: what is
    merged, every host brings again.
    """
    small = [each for each in listed if each.n_bytes < _SMALL]
    if len(small) <= _MERGED_FROM:
        return []
    groups: list[list[Listed]] = []
    n_bytes = 0
    for each in sorted(small, key=lambda each: (each.modified, each.path)):
        if not groups or n_bytes + each.n_bytes > _LARGEST:
            groups.append([])
            n_bytes = 0
        groups[-1].append(each)
        n_bytes += each.n_bytes
    return [group for group in groups if len(group) > 1]


def merge(objects: Objects, folder: str, group: Sequence[Listed]) -> None:
    """Puts the replies of some objects into one, in a folder of the bucket. Raises StoreError."""
    read = [
        (each.path, found)
        for each, found in zip(group, objects.at_once(lambda each: _read(objects, each), group), strict=True)
        if found is not None
    ]
    lines = (line for _, found in read for line in found.contents.splitlines(keepends=True))
    if merged := b"".join(merged_lines(lines)):
        objects.put(f"{folder}/merged-{uuid.uuid4().hex}/{0:06}", merged)
    objects.delete([path for path, found in read if objects.replace(path, b"", found.tag) is not None])


def _read(objects: Objects, listed: Listed) -> Object | None:
    """None for an object that another process has merged, and for one that did not arrive as it is in the bucket. Lines
    that are damaged in the bucket itself are the same when they are read again.
    """
    found = objects.get(listed.path)
    if found is None or len(found.contents) < listed.n_bytes:
        return None
    if is_sound(found.contents.splitlines(keepends=True)):
        return found
    again = objects.get(listed.path)
    return found if again and (again.contents, again.tag) == (found.contents, found.tag) else None
