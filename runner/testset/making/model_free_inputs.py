"""Inputs of gates without a model: samples as drafts, a corpus without a search, and an `Ask` that raises."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.errors import ComponentError
from components.json_value import Json
from components.records import Answer, Request, Sample
from components.testset.records import Draft, EvidenceSet, Extract, Topic
from runner.results.released_set import Testset


def make_draft(sample: Sample, testset: Testset) -> Draft:
    """Return the sample as a draft with its current texts and gold, and with its evidence that is still in the corpus.

    If people corrected the answer, the writer's computation is dropped, because it no longer applies.
    """
    provenance = testset.provenance.get(sample.id, {})
    was_corrected = any(edit.field == "references" for edit in testset.edits if edit.sample == sample.id)
    units = [unit for unit in provenance.get("evidence", []) if unit["document"] in testset.texts]
    extracts = tuple(_extract(unit, testset) for unit in units)
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
    """The texts of a corpus, for gates that neither search nor use a model: see
    `components.testset.protocols.SourceCorpus`.
    """

    texts: Mapping[str, str]
    titles: Mapping[str, str]
    topics: Sequence[Topic] = ()

    def nearest(self, queries: Sequence[str], n: int, *, staying: bool = False) -> list[list[Extract]]:
        """Raise ComponentError, because there is no index."""
        raise ComponentError(f"got a search for {len(queries)} texts, but gates without a model cannot search")


def refuse_requests(requests: Sequence[Request]) -> list[Answer]:
    """Raise ComponentError. Components whose `llm` is None get this function to send requests with."""
    raise ComponentError(
        f"got {len(requests)} requests from a component without a model, expected a component that declares its `llm`"
    )
