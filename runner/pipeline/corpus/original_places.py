"""Stages that map results in refined texts to spans of the original texts.

A chunk may come from several places of the original text. A hit then becomes several consecutive hits, and a chunk of a
prompt becomes several chunks. Gold, coverage, copies of gold and all results thus refer to the original texts, as they
do without a refiner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from components.records import ChunkOrigins, Context, Evidence, Hits, RefinedDocuments, Sample, Spans
from components.text.origins import find_refined_spans, identity_origins, trace_origins
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples, SamplesCodec, SampleSet
from runner.pipeline.corpus.refined_corpora import Refined


class OriginalSpans(Stage[ChunkOrigins], kind="original_places", version=1, work=Work.BENCHMARK):
    """Origins of the chunks of a refined corpus in the original texts, one row per span."""

    codec = Columns(ChunkOrigins)

    chunks: Stage[Spans]
    refined: tuple[Refined, ...]

    def make(self, run: Run) -> ChunkOrigins:
        """Trace the spans back from the last refinement to the first."""
        places = identity_origins(run.read(self.chunks))
        for stage in reversed(self.refined):
            places = trace_origins(places, run.read(stage).origins)
        return places


class OriginalHits(Stage[Hits], kind="original_hits", version=1, work=Work.BENCHMARK):
    """The hits as spans of the original texts. Spans of one chunk are consecutive and have its score."""

    codec = Columns(Hits)

    hits: Stage[Hits]
    places: OriginalSpans

    def make(self, run: Run) -> Hits:
        """Replace each hit with its original spans."""
        hits = run.read(self.hits)
        place, column = _expand(hits.chunk, run.read(self.places))
        score = np.take_along_axis(hits.score, column, axis=1) if hits.score.shape[1] else hits.score
        return Hits(place, np.where(place >= 0, score, -np.inf).astype(np.float32))


class OriginalContext(Stage[Context], kind="original_context", version=1, work=Work.BENCHMARK):
    """The contexts as spans of the original texts, with the token counts of the prompts."""

    codec = Columns(Context)

    context: Stage[Context]
    places: OriginalSpans

    def make(self, run: Run) -> Context:
        """Replace each chunk with its original spans."""
        context = run.read(self.context)
        return replace(context, chunk=_expand(context.chunk, run.read(self.places))[0])


def _expand(chunks: NDArray[np.int32], places: ChunkOrigins) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the places of chunks int32[n, depth], padded with -1, as int32[n, width], also padded with -1.

    The second array has the column of each place's chunk.
    """
    n_chunks = int(places.chunk.max(initial=-1)) + 1
    first = np.searchsorted(places.chunk, np.arange(n_chunks + 1))
    n_places = np.append(np.diff(first), 0)[chunks]  # -1 indexes the last entry, which is 0
    width = int(n_places.sum(axis=1).max(initial=0))
    place = np.full((len(chunks), width), -1, dtype=np.int32)
    column = np.zeros((len(chunks), width), dtype=np.int64)
    for row, (row_chunks, n_row_places) in enumerate(zip(chunks, n_places, strict=True)):
        ranges = [np.arange(first[chunk], first[chunk + 1]) for chunk in row_chunks[row_chunks >= 0]]
        filled = int(n_row_places.sum())
        place[row, :filled] = np.concatenate(ranges) if ranges else 0
        column[row, :filled] = np.repeat(np.arange(len(row_chunks)), n_row_places)
    return place, column


class RefinedGold(Stage[SampleSet], kind="refined_gold", version=1, work=Work.BENCHMARK):
    """The samples with their gold as spans of the refined texts, for arms that pick the gold itself.

    Gold is left out if its text was removed.
    """

    codec = SamplesCodec()

    samples: Stage[SampleSet]
    refined: Refined

    def make(self, run: Run) -> SampleSet:
        """Map every gold unit to the refined texts."""
        sample_set, documents = run.read(self.samples), run.read(self.refined)
        position = {document_id: row for row, document_id in enumerate(documents.ids)}
        return replace(
            sample_set,
            samples=tuple(
                replace(sample, gold=tuple(_refined_units(sample, position, documents)))
                for sample in sample_set.samples
            ),
        )


def _refined_units(sample: Sample, position: Mapping[str, int], documents: RefinedDocuments) -> Iterator[Evidence]:
    for unit in sample.gold:
        if unit.start is None or unit.end is None or unit.document_id not in position:
            yield unit
        else:
            ranges = find_refined_spans(position[unit.document_id], unit.start, unit.end, documents.origins)
            yield from (replace(unit, start=start, end=end) for start, end in ranges)


def refine_gold(refined: Sequence[Refined], samples: Samples) -> Stage[SampleSet]:
    """Return the samples for arms that pick the gold itself, unchanged without refinements."""
    gold: Stage[SampleSet] = samples
    for stage in refined:
        gold = RefinedGold(gold, stage)
    return gold


@dataclass(frozen=True)
class OriginalView:
    """Chunks, hits and contexts as spans of the original texts, for results and metrics.

    `context` has the chunks chosen for the prompts. `read` are the texts in the prompts, which a compressor may have
    shortened.
    """

    chunks: Stage[Spans]
    hits: Stage[Hits]
    context: Stage[Context]
    read: "PromptSpans"


@dataclass(frozen=True)
class PromptSpans(StageGroup, name_in_keys="ReadPlaces"):
    """The texts in the prompts as spans of the original texts, and the spans in each prompt."""

    spans: Stage[Spans]
    context: Stage[Context]


def map_ranking_to_original(
    refined: tuple[Refined, ...], chunks: Stage[Spans], hits: Stage[Hits]
) -> tuple[Stage[Spans], Stage[Hits]]:
    """Return chunks and hits for metrics, unchanged without refinements."""
    if not refined:
        return chunks, hits
    places = OriginalSpans(chunks, refined)
    return places, OriginalHits(hits, places)


def map_to_original(
    refined: tuple[Refined, ...], chunks: Stage[Spans], hits: Stage[Hits], context: Stage[Context], read: PromptSpans
) -> OriginalView:
    """Return chunks, hits, contexts and read texts for results and metrics, unchanged without refinements."""
    context_places, read_places = (_read_in_original(refined, each) for each in (PromptSpans(chunks, context), read))
    return OriginalView(*map_ranking_to_original(refined, chunks, hits), context_places.context, read_places)


def _read_in_original(refined: tuple[Refined, ...], read_places: PromptSpans) -> PromptSpans:
    if not refined:
        return read_places
    places = OriginalSpans(read_places.spans, refined)
    return PromptSpans(places, OriginalContext(read_places.context, places))
