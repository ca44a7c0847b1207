"""From what people marked in documents to the gold of a sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.records import Evidence, Sample
from runner.testset.annotating.spans import places_of

_SHOWN_CHARACTERS = 40


@dataclass(frozen=True)
class Mark:
    """A marked part of a document, with its text where that was recorded."""

    document: str
    start: int
    end: int
    text: str | None


def gold_of(sample: Sample, marks: Sequence[Mark], texts: Mapping[str, str]) -> tuple[tuple[Evidence, ...], list[str]]:
    """The gold that the marks make of a sample, and what is wrong with them, in words.

    Units that are marked as they were stay as they are and where they are; so do whole documents, which nobody can
    mark. New ones follow, ordered by document and place.
    """
    known = {(unit.document_id, unit.start, unit.end): unit for unit in sample.gold}
    found: set[tuple[str, int, int]] = set()
    problems = []
    for mark in marks:
        places = [(mark.document, *place) for place in places_of(texts[mark.document], mark.start, mark.end, mark.text)]
        meant = [place for place in places if place in known] or places
        if len(meant) == 1:
            found.add(meant[0])
        else:
            where = f"[{mark.start}, {mark.end}) of document '{mark.document}'"
            text = "without its text" if mark.text is None else repr(mark.text[:_SHOWN_CHARACTERS])
            problems.append(f"marked {where} {text}, which {'may lie in two places' if meant else 'is not there'}")
    stays = [unit for place, unit in known.items() if unit.start is None or place in found]
    new = [Evidence(*place) for place in sorted(found - known.keys())]
    return (*stays, *new), problems
