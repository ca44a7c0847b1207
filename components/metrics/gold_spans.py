"""Gold of samples as spans of a corpus, and its overlap with other spans."""

from collections.abc import Iterable, Mapping, Sequence

from components.records import Documents, Evidence, Sample

Span = tuple[int, int, int]
"""(document position, start, end)."""


def gold_positions(samples: Sequence[Sample], documents: Documents) -> dict[str, int]:
    """Return the positions of gold documents in the corpus. Documents outside the corpus are left out."""
    gold_ids = {unit.document_id for sample in samples for unit in sample.gold}
    return {document_id: position for position, document_id in enumerate(documents.ids) if document_id in gold_ids}


def gold_spans(units: Sequence[Evidence], documents: Documents, positions: Mapping[str, int]) -> list[Span]:
    """Return the units in the corpus as spans. A unit without positions is its whole document."""
    spans = []
    for unit in units:
        position = positions.get(unit.document_id)
        if position is not None:
            start = 0 if unit.start is None else unit.start
            end = len(documents.texts[position]) if unit.end is None else unit.end
            spans.append((position, start, end))
    return spans


def needed_spans(
    units: Sequence[Evidence], documents: Documents, positions: Mapping[str, int], chunks: Sequence[Span]
) -> list[Span]:
    """Return the spans of the units that the chunks must cover.

    These are all units without alternatives, and from each set of alternatives the unit with the largest share of
    characters in the chunks (the first of equal ones). Units outside the corpus are left out.
    """
    needed: list[Span] = []
    best: dict[int, tuple[float, Span]] = {}
    for unit in units:
        for span in gold_spans([unit], documents, positions):
            if not unit.one_of:
                needed.append(span)
                continue
            share = count_common_characters([span], chunks) / max(n_characters([span]), 1)
            if unit.one_of not in best or share > best[unit.one_of][0]:
                best[unit.one_of] = share, span
    return [*needed, *(span for _, span in best.values())]


def count_common_characters(spans: Sequence[Span], others: Sequence[Span]) -> int:
    """Return the number of characters in both unions of spans: |A and B| = |A| + |B| - |A or B|."""
    return n_characters(spans) + n_characters(others) - n_characters([*spans, *others])


def n_characters(spans: Iterable[Span]) -> int:
    """Return the number of characters in the union of spans."""
    n_characters = 0
    current_document, covered_until = -1, 0
    for document, start, end in sorted(spans):
        if document != current_document:
            current_document, covered_until = document, 0
        n_characters += max(0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return n_characters
