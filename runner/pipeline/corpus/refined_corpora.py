"""Stages that refine the corpus: they produce the texts that are searched and read instead.

A refined corpus has the documents of the original one in the same order, so that positions of documents remain valid.
Results refer to places of the original texts: see `original_places`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from components.fields import runtime_only
from components.json_value import Json
from components.protocols import AskingRefinement, Refinement, Refiner
from components.records import (
    Documents,
    Origins,
    RefinedDocuments,
)
from components.text.origins import join_origins
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns, Parts
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.checked_spans import check_origins
from runner.pipeline.corpus.loaded_data import CorpusCodec, DatasetStages, Samples, SampleSet
from runner.pipeline.corpus.partition import prefix_range
from runner.pipeline.corpus.reply_counts import ReplyCounts, model_problems, reply_counts, step_counts
from runner.pipeline.corpus.step_reports import LINE, StepReport

PURPOSE = "refining"
REFINER = "refiner"
"""Name of the counts of a refiner with a language model. They are listed with the counts of judges."""


class RefinedCorpusCodec:
    """Stores documents as a table, their origins as arrays, and counts as JSON."""

    def encode(self, result: RefinedDocuments) -> Parts:
        origins = Columns(Origins).encode(result.origins)
        return {**CorpusCodec().encode(result), **origins, "counts": dict(result.counts)}

    def decode(self, parts: Parts) -> RefinedDocuments:
        documents = CorpusCodec().decode(parts)
        return RefinedDocuments(**vars(documents), origins=Columns(Origins).decode(parts), counts=parts["counts"])


class RefinedCorpus(Stage[RefinedDocuments], kind="refined_corpus", version=1):
    """One refinement of the documents. Corpora side by side are refined separately, by the prefixes of their ids."""

    codec = RefinedCorpusCodec()

    refinement: Refinement
    corpus: Stage[Documents]
    prefixes: tuple[str, ...]

    def make(self, run: Run) -> RefinedDocuments:
        documents = run.read(self.corpus)
        refined = []
        for rows in _corpora(documents, self.prefixes):
            part = _part(documents, rows)
            refined.append(_validate_refinement(self.refinement.refine(part), part, self.refinement))
            run.report(rows.stop, len(documents))
        texts = [text for part in refined for text in part.texts]
        counts: Counter[str] = Counter()
        for part in refined:
            counts.update(part.counts)
        origins = join_origins([part.origins for part in refined], [len(part) for part in refined])
        return _build_refined(documents, texts, origins, counts)


def _corpora(documents: Documents, prefixes: Sequence[str]) -> Iterator[slice]:
    """Yield the range of each corpus, and the ranges between them that no sample searches; one range for a single
    corpus.
    """
    ends = (end for prefix in prefixes for end in prefix_range(documents.ids, prefix))
    places = sorted({0, len(documents), *ends})
    yield from (slice(first, last) for first, last in pairwise(places))


def _part(documents: Documents, rows: slice) -> Documents:
    return Documents(documents.ids[rows], documents.titles[rows], documents.texts[rows], documents.metadata[rows])


def _validate_refinement(refined: RefinedDocuments, documents: Documents, refinement: object) -> RefinedDocuments:
    if not isinstance(refined, RefinedDocuments):
        raise contract_error(refinement, f"returned {type(refined).__name__}, expected RefinedDocuments")
    if list(refined.ids) != list(documents.ids) or len(refined.texts) != len(documents.texts):
        raise contract_error(
            refinement,
            f"got {len(refined.texts)} refined texts for {len(documents)} documents, expected one for each in their "
            'order, "" for a document that is left out',
        )
    for document_id, text in zip(documents.ids, refined.texts, strict=True):
        if not isinstance(text, str):
            raise contract_error(
                refinement, f"the text of document {document_id!r} is {type(text).__name__}, expected a string"
            )
    check_origins(refined.origins, refined.texts, documents.texts, refinement)
    return _build_refined(documents, refined.texts, refined.origins, refined.counts)


def _build_refined(
    documents: Documents, texts: Sequence[str], origins: Origins, counts: Mapping[str, int]
) -> RefinedDocuments:
    return RefinedDocuments(
        documents.ids, documents.titles, texts, documents.metadata, origins=origins, counts=dict(counts)
    )


@dataclass(frozen=True)
class LLMDocuments(RefinedDocuments):
    """Documents by a language model, with the counts of replies by document (see `reply_counts`) and their usage."""

    replies: Mapping[str, Json] = field(kw_only=True)
    usage: Mapping[str, int | None] = field(kw_only=True)


class LLMCorpusCodec:
    """Stores a refined corpus as `RefinedCorpusCodec` does, with replies and usage as JSON."""

    def encode(self, result: LLMDocuments) -> Parts:
        counts = {"replies": dict(result.replies), "usage": dict(result.usage)}
        return {**RefinedCorpusCodec().encode(result), **counts}

    def decode(self, parts: Parts) -> LLMDocuments:
        refined = RefinedCorpusCodec().decode(parts)
        return LLMDocuments(**vars(refined), replies=parts["replies"], usage=parts["usage"])


class LLMCorpus(
    Stage[LLMDocuments],
    kind="asked_corpus",
    display_name="documents by a language model",
    version=1,
    repeats_unreadable=True,
    has_quick_inputs=True,
):
    """One refinement of the documents by a language model."""

    codec = LLMCorpusCodec()

    refinement: AskingRefinement
    corpus: Stage[Documents]
    n_documents: int = runtime_only(0, "the documents are part of the corpus' key")

    @property
    def n_requests(self) -> int:
        """Number of requests: at most one per document."""
        return self.n_documents

    def make(self, run: Run) -> LLMDocuments:
        documents = run.read(self.corpus)
        ask = run.ask(self.refinement.llm, PURPOSE)
        refined, outcomes = self.refinement.refine_by_asking(documents, ask)
        refined = _validate_refinement(refined, documents, self.refinement)
        return LLMDocuments(**vars(refined), replies=reply_counts(outcomes, len(outcomes)), usage=dict(ask.usage))


Refined = RefinedCorpus | LLMCorpus


def build_refined_corpora(refiner: Refiner, data: DatasetStages) -> tuple[Refined, ...]:
    """Return the stage of each step of the refiner, or () if it has no steps."""
    prefixes = data.corpus_prefixes if any(data.corpus_prefixes) else ()
    corpus: Stage[Documents] = data.corpus
    stages: list[Refined] = []
    for step in refiner.steps:
        if isinstance(step, AskingRefinement):
            stages.append(LLMCorpus(step, corpus, data.n_documents))
        else:
            stages.append(RefinedCorpus(step, corpus, prefixes))
        corpus = stages[-1]
    return tuple(stages)


@dataclass(frozen=True)
class RefinerReport(StepReport):
    """Report about the effects of refinements on the corpus and on the samples' gold."""

    step: ClassVar[str] = "refiner"

    refined: tuple[Refined, ...]
    samples: Samples
    gold: Stage[SampleSet]
    """The samples with their gold as spans of the refined texts."""

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return the counts of all refinements, and `n_samples_without_gold`.

        `n_samples_without_gold` counts samples whose gold was in the corpus before refinement removed all its text.
        Copies of the gold may remain.
        """
        counts: Counter[str] = Counter()
        for stage in self.refined:
            counts.update(run.read(stage).counts)
        items = [f"{name.removeprefix('n_').replace('_', ' ')}: {n:,}" for name, n in sorted(counts.items())]
        n_samples, n_without = len(run.read(self.samples).samples), self._n_without_gold(run)
        if n_without:
            items.append(f"samples that lose all of their gold: {n_without:,} of {n_samples:,}")
        facts = {**counts, "n_samples_without_gold": n_without}
        return facts | ({LINE: f"refiner: {', '.join(items)}"} if items else {})

    def _n_without_gold(self, run: Run) -> int:
        documents = run.read(self.refined[-1])
        has_text = {
            document_id: bool(text.strip()) for document_id, text in zip(documents.ids, documents.texts, strict=True)
        }
        pairs = zip(run.read(self.samples).samples, run.read(self.gold).samples, strict=True)
        return sum(
            any(unit.document_id in has_text for unit in before.gold)
            and not any(has_text.get(unit.document_id) for unit in after.gold)
            for before, after in pairs
        )


def refiner_reports(
    refined: tuple[Refined, ...], samples: Samples, gold: Stage[SampleSet]
) -> tuple[RefinerReport, ...]:
    """Return the report of the refiner, if it has steps. `gold` are the samples with gold in the refined texts."""
    return (RefinerReport(refined, samples, gold),) if refined else ()


def find_llm_refined_corpora(refined: Sequence[Refined]) -> tuple[LLMCorpus, ...]:
    """Return the refinements that send requests to a language model."""
    return tuple(stage for stage in refined if isinstance(stage, LLMCorpus))


def refiner_counts(run: Run, asking: Sequence[LLMCorpus]) -> dict[str, ReplyCounts]:
    """Return the counts of refinements by a language model under REFINER, or {} if no model refined texts."""
    return step_counts(REFINER, map(run.read, asking))


def refiner_problems(refiner: Refiner) -> list[str]:
    """Return error messages for steps with another kind of model than a language model."""
    models = [step.llm for step in refiner.steps if isinstance(step, AskingRefinement)]
    return model_problems(REFINER, "documents", models)
