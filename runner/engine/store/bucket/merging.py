"""Merges the objects that hold replies: each process puts its own, and months of sweeps leave thousands of small ones.

What somebody adds at the same time is not lost: an object is emptied only if it is still the one that was read, and
goes only once it is empty; whoever put it (`mirrors.SentReplies`) finds another in its place, and goes on in a further
one. Killed at any moment this leaves replies twice, which are one for all who read them.
"""

import uuid
from collections.abc import Sequence

from runner.engine.store.bucket.objects import Listed, Objects
from runner.engine.store.replies import merged_lines

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
        for each, found in zip(group, objects.at_once(lambda each: objects.get(each.path), group), strict=True)
        if found is not None  # else another has merged it
    ]
    lines = (line for _, found in read for line in found.contents.splitlines(keepends=True))
    if merged := b"".join(merged_lines(lines)):
        objects.put(f"{folder}/merged-{uuid.uuid4().hex}/{0:06}", merged)
    objects.delete([path for path, found in read if objects.replace(path, b"", found.tag) is not None])
