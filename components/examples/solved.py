"""What an example shows besides its question and its answer."""

from collections.abc import Mapping

from components.records import Documents, Passage, Sample


def gold_passages(sample: Sample, documents: Documents, position: Mapping[str, int]) -> tuple[Passage, ...]:
    """The gold evidence of a sample that is in the corpus, as the passages of its prompt, each document or range of
    characters once; `position` is that of each document by its id.
    """
    units = [(position[unit.document_id], unit.start, unit.end) for unit in sample.gold if unit.document_id in position]
    return tuple(
        Passage(
            documents.texts[place][start:end],
            documents.titles[place],
            documents.metadata[place] if documents.metadata else {},
        )
        for place, start, end in dict.fromkeys(units)
    )
