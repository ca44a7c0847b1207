"""The upper bound of any retriever: the gold itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import chain, islice
from typing import ClassVar

from components.records import Documents, Evidence, Hits, Sample, Spans
from components.retrievers.arms import depth_problems
from components.text.ranking import hits_in_order

Piece = tuple[int, int]
"""A range of characters [start, end) of a document."""


@dataclass(frozen=True)
class Oracle:
    """A retriever without a search, which returns exactly the chunks with a sample's gold evidence.

    No retriever can be expected to do better than a cell with it. The remaining errors come from chunking, context,
    prompt or model.

    The gold units take turns, higher grades first. In each turn a unit adds the chunk with most of its uncovered
    characters, until it is covered. Among alternatives, the shortest with the highest grade takes part, and the others
    come last. Samples without gold in the corpus have no hits.
    """

    depth: int = 100

    version: ClassVar[int] = 1
    fusion: ClassVar[None] = None
    chunker: ClassVar[None] = None
    picks_for_prompt: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Return an error message for a depth below 1."""
        return depth_problems(self.depth)

    @property
    def arms(self) -> tuple["Oracle"]:
        """The retriever itself, its only arm."""
        return (self,)

    def pick(self, samples: Sequence[Sample], documents: Documents, chunks: Spans, n: int) -> Hits:
        """Return the chunks of the gold."""
        positions = {document_id: position for position, document_id in enumerate(documents.ids)}
        pieces_of: dict[int, list[tuple[int, Piece]]] = {}
        rows = zip(chunks.document.tolist(), chunks.start.tolist(), chunks.end.tolist(), strict=True)
        for chunk, (document, start, end) in enumerate(rows):
            pieces_of.setdefault(document, []).append((chunk, (start, end)))
        chosen = []
        for sample in samples:
            turns = (
                _take_turns([_order_by_gain(unit, pieces_of.get(positions[unit.document_id], [])) for unit in units])
                for units in _split_alternatives(
                    [unit for unit in sample.gold if unit.document_id in positions], documents, positions
                )
            )
            chunks_in_order = dict.fromkeys(chain.from_iterable(turns))
            chosen.append(list(islice(chunks_in_order, n)))
        return hits_in_order(chosen)


def _split_alternatives(
    units: Sequence[Evidence], documents: Documents, positions: Mapping[str, int]
) -> tuple[Sequence[Evidence], Sequence[Evidence]]:
    """Return the required units together with one unit per set of alternatives, and the other alternatives.

    Both are sorted by decreasing grade.
    """

    def length(unit: Evidence) -> int:
        end = len(documents.texts[positions[unit.document_id]]) if unit.end is None else unit.end
        return end - (unit.start or 0)

    chosen: dict[int, Evidence] = {}
    for unit in sorted((unit for unit in units if unit.one_of), key=lambda unit: (-unit.grade, length(unit))):
        chosen.setdefault(unit.one_of, unit)
    by_grade = sorted(units, key=lambda unit: -unit.grade)
    needed = [unit for unit in by_grade if not unit.one_of or chosen[unit.one_of] is unit]
    return needed, [unit for unit in by_grade if unit.one_of and chosen[unit.one_of] is not unit]


def _take_turns(queues: Sequence[Iterator[int]]) -> Iterator[int]:
    """Yield the first item of each queue, then the second of each, and so on."""
    waiting = list(queues)
    while waiting:
        still = []
        for queue in waiting:
            if (chunk := next(queue, None)) is not None:
                yield chunk
                still.append(queue)
        waiting = still


def _order_by_gain(unit: Evidence, pieces: Sequence[tuple[int, Piece]]) -> Iterator[int]:
    """Yield chunks of a unit's document by the characters of the unit that they add, largest first. Chunks that add
    none are left out.
    """
    whole = (0, max((end for _, (_, end) in pieces), default=0))
    start, end = whole if unit.start is None or unit.end is None else (unit.start, unit.end)
    held: list[Piece] = []
    heap = [
        (-_n_uncovered((max(s, start), min(e, end)), held), chunk, (max(s, start), min(e, end)))
        for chunk, (s, e) in pieces
    ]
    heapify(heap)
    while heap:
        _, chunk, piece = heappop(heap)
        n_new = _n_uncovered(piece, held)  # chunks added since can only have reduced it
        if n_new and heap and -n_new > heap[0][0]:
            heappush(heap, (-n_new, chunk, piece))
        elif n_new:
            held.append(piece)
            yield chunk


def _n_uncovered(piece: Piece, held: Sequence[Piece]) -> int:
    """Return the number of characters of a piece outside all held pieces."""
    position, end = piece
    n_new = 0
    for other_start, other_end in sorted(held):
        n_new += max(0, min(other_start, end) - position)
        position = max(position, other_end)
    return n_new + max(0, end - position)
