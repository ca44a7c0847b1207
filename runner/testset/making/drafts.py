"""Samples of a released set as the drafts that gates look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.errors import ComponentError
from components.json_value import Json
from components.records import Sample
from components.testset.records import Draft, EvidenceSet, Extract, Topic
from runner.results.released_set import Testset


def draft_of(sample: Sample, testset: Testset) -> Draft:
    """As it was when it was written, with the texts and the gold that it has now; of its evidence, what is still in the
    corpus. Where the answer was corrected, the way in which the writer computed it says nothing any more.
    """
    provenance = testset.provenance.get(sample.id, {})
    was_corrected = any(edit.field == "references" for edit in testset.edits if edit.sample == sample.id)
    places = [unit for unit in provenance.get("evidence", []) if unit["document"] in testset.texts]
    extracts = tuple(_extract(unit, testset) for unit in places)
    return Draft(
        id=sample.id,
        task=sample.task or "",
        topic=sample.topic or "",
        kind=sample.kind,
        evidence=EvidenceSet(sample.id, sample.task or "", sample.topic or "", extracts),
        question=sample.question,
        references=sample.references,
        gold=sample.gold,
        history=sample.history,
        conversation=provenance.get("conversation") or "",
        turn=provenance.get("turn") or 0,
        expression="" if was_corrected else provenance.get("expression") or "",
        notes=provenance.get("notes") or {},
    )


def _extract(unit: Mapping[str, Json], testset: Testset) -> Extract:
    document = testset.texts[unit["document"]]
    start, end = unit.get("start") or 0, unit.get("end") or len(document)
    return Extract(unit["document"], testset.titles[unit["document"]], start, end, document[start:end])


@dataclass(frozen=True)
class TextsAlone:
    """The corpus of a set for gates that neither search it nor ask anybody (`components.testset.protocols.Corpus`)."""

    texts: Mapping[str, str]
    titles: Mapping[str, str]
    topics: Sequence[Topic] = ()

    def nearest(self, queries: Sequence[str], n: int, *, staying: bool = False) -> list[list[Extract]]:
        """Raises ComponentError: there is no index."""
        raise ComponentError(f"a search for {len(queries)} texts came; gates that ask no model have none")
