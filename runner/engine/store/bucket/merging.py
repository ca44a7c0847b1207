"""Merging of objects with replies. Each process writes separate objects, and months of sweeps leave thousands of small
ones.

Replies added at the same time are not lost. An object is emptied only if it has not changed since it was read, and it
is deleted only when it is empty. Its writer (`mirrors.ReplyMirror`) then finds another object and continues in a new
one. A kill at any moment leaves some replies twice, which readers count once. An object that arrived damaged or
incomplete is left unchanged.
"""

import uuid
from collections.abc import Sequence

from runner.engine.store.bucket.objects import Object, ObjectInfo, Objects
from runner.engine.store.replies import count_damaged, merge_lines

_MERGE_ABOVE = 16
"""Number of objects above which merging is worthwhile, because every host reads merged ones again."""

_SMALL = 8 << 20
_MAX_BYTES = 16 << 20


def mergeable(listed: Sequence[ObjectInfo]) -> list[list[ObjectInfo]]:
    """Group the objects of one model and purpose that are worth merging. Each group becomes one object.

    Large objects are left alone, because every host downloads a merged object again.
    """
    small = [each for each in listed if each.n_bytes < _SMALL]
    if len(small) <= _MERGE_ABOVE:
        return []
    groups: list[list[ObjectInfo]] = []
    n_bytes = 0
    for each in sorted(small, key=lambda each: (each.modified, each.path)):
        if not groups or n_bytes + each.n_bytes > _MAX_BYTES:
            groups.append([])
            n_bytes = 0
        groups[-1].append(each)
        n_bytes += each.n_bytes
    return [group for group in groups if len(group) > 1]


def merge(objects: Objects, folder: str, group: Sequence[ObjectInfo]) -> None:
    """Merge the replies of some objects into one object in a folder of the bucket.

    Raises StoreError if the bucket does not answer.
    """
    replies_by_path = [
        (each.path, replies)
        for each, replies in zip(
            group, objects.read_concurrently(lambda each: _read(objects, each), group), strict=True
        )
        if replies is not None
    ]
    lines = (line for _, replies in replies_by_path for line in replies.contents.splitlines(keepends=True))
    if merged := b"".join(merge_lines(lines)):
        objects.put(f"{folder}/merged-{uuid.uuid4().hex}/{0:06}", merged)
    objects.delete([path for path, replies in replies_by_path if objects.replace(path, b"", replies.tag) is not None])


def _read(objects: Objects, listed: ObjectInfo) -> Object | None:
    """Return an object. None if another process has merged it, or if it did not arrive as it is in the bucket.

    Lines that are damaged in the bucket itself are equal when they are read again.
    """
    replies = objects.get(listed.path)
    if replies is None or len(replies.contents) < listed.n_bytes:
        return None
    if not count_damaged(replies.contents.splitlines(keepends=True)):
        return replies
    again = objects.get(listed.path)
    return replies if again and (again.contents, again.tag) == (replies.contents, replies.tag) else None
