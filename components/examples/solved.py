"""The passages that an example shows."""

from collections.abc import Mapping

from components.records import Documents, Passage, Sample


def gold_passages(sample: Sample, documents: Documents, position: Mapping[str, int]) -> tuple[Passage, ...]:
    """Return a sample's gold evidence in the corpus as passages, each document or range of characters once.

    `position` maps document ids to positions.
    """
    units = [(position[unit.document_id], unit.start, unit.end) for unit in sample.gold if unit.document_id in position]
    return tuple(
        Passage(
            documents.texts[row][start:end],
            documents.titles[row],
            documents.metadata[row] if documents.metadata else {},
        )
        for row, start, end in dict.fromkeys(units)
    )
