"""Adjacent chunks of a document, and the passages that they form."""

from collections.abc import Iterable, Sequence

from components.records import Spans


def add_neighbours(chunk: int, window: int, spans: Spans) -> range:
    """Return a chunk and up to `window` chunks before and after it, all of one document."""
    document, first, last = spans.document[chunk], chunk, chunk
    while first > max(chunk - window, 0) and spans.document[first - 1] == document:
        first -= 1
    while last < min(chunk + window, len(spans) - 1) and spans.document[last + 1] == document:
        last += 1
    return range(first, last + 1)


def merge_with_neighbours(hits: Sequence[int], window: int, spans: Spans) -> list[tuple[int, ...]]:
    """Return the passages formed by hits and the chunks around them, in the order of their best hits.

    `hits` are best first. The chunks of a passage are in document order.
    """
    around = {chunk for hit in hits for chunk in add_neighbours(hit, window, spans)}
    passage_of = {chunk: passage for passage in divide_into_passages(sorted(around), spans) for chunk in passage}
    return list(dict.fromkeys(passage_of[hit] for hit in hits))


def divide_into_passages(chunks: Iterable[int], spans: Spans) -> list[tuple[int, ...]]:
    """Return the chunks of a prompt, divided into passages.

    A passage ends where the next chunk does not continue it in the same document. A chunk continues another if
    they touch or overlap.
    """
    passages: list[list[int]] = []
    end = 0
    for chunk in chunks:
        if passages and _continues(passages[-1][-1], end, chunk, spans):
            passages[-1].append(chunk)
            end = max(end, int(spans.end[chunk]))
        else:
            passages.append([chunk])
            end = int(spans.end[chunk])
    return [tuple(passage) for passage in passages]


def _continues(last: int, end: int, chunk: int, spans: Spans) -> bool:
    """Return True if the chunk continues the passage. Consecutive chunks have only whitespace between them."""
    is_behind = chunk > last and spans.document[chunk] == spans.document[last]
    return bool(is_behind and (chunk == last + 1 or spans.start[chunk] <= end))
