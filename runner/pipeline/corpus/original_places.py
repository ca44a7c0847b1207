"""Telling what was found in refined texts in places of the original ones.

A hit whose chunk was put together of several places of the original text is several hits in a row, and a chunk of a
prompt several chunks. So gold, coverage, copies of gold and everything in the results hold as without a refiner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.records import ChunkOrigins, Context, Evidence, Hits, RefinedDocuments, Sample, Spans
from components.text.origins import carried, own_places, traced
from runner.engine.codecs import Codec, Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples, SamplesCodec, SampleSet
from runner.pipeline.corpus.refined_corpora import Refined


@dataclass(frozen=True, eq=False)
class OriginalPlaces(Stage[ChunkOrigins]):
    """Where the chunks of a refined corpus come from in the original texts, a row per place."""

    kind: ClassVar[str] = "original_places"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[ChunkOrigins]] = Columns(ChunkOrigins)

    chunks: Stage[Spans]
    refined: tuple[Refined, ...]

    def make(self, run: Run) -> ChunkOrigins:
        """Goes back from the last refinement to the first."""
        places = own_places(run.read(self.chunks))
        for stage in reversed(self.refined):
            places = traced(places, run.read(stage).origins)
        return places


@dataclass(frozen=True, eq=False)
class OriginalHits(Stage[Hits]):
    """The hits by places in the original texts: those of one chunk stand in a row, with its score."""

    kind: ClassVar[str] = "original_hits"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Hits]] = Columns(Hits)

    hits: Stage[Hits]
    places: OriginalPlaces

    def make(self, run: Run) -> Hits:
        """Puts the places of each hit in its place."""
        hits = run.read(self.hits)
        place, column = _spread(hits.chunk, run.read(self.places))
        score = np.take_along_axis(hits.score, column, axis=1) if hits.score.shape[1] else hits.score
        return Hits(place, np.where(place >= 0, score, -np.inf).astype(np.float32))


@dataclass(frozen=True, eq=False)
class OriginalContext(Stage[Context]):
    """The contexts by places in the original texts, with the tokens of what the prompts hold."""

    kind: ClassVar[str] = "original_context"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Context]] = Columns(Context)

    context: Stage[Context]
    places: OriginalPlaces

    def make(self, run: Run) -> Context:
        """Puts the places of each chunk in its place."""
        context = run.read(self.context)
        return replace(context, chunk=_spread(context.chunk, run.read(self.places))[0])


def _spread(chunks: NDArray[np.int32], places: ChunkOrigins) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """For int32[n, depth] of chunks padded with -1: their places int32[n, width], padded likewise, and the column of
    the chunk that each of them is of.
    """
    n_chunks = int(places.chunk.max(initial=-1)) + 1
    first = np.searchsorted(places.chunk, np.arange(n_chunks + 1))
    n_places = np.append(np.diff(first), 0)[chunks]  # -1 takes the last: none
    width = int(n_places.sum(axis=1).max(initial=0))
    place = np.full((len(chunks), width), -1, dtype=np.int32)
    column = np.zeros((len(chunks), width), dtype=np.int64)
    for row, (own, n_own) in enumerate(zip(chunks, n_places, strict=True)):
        found = [np.arange(first[chunk], first[chunk + 1]) for chunk in own[own >= 0]]
        filled = int(n_own.sum())
        place[row, :filled] = np.concatenate(found) if found else 0
        column[row, :filled] = np.repeat(np.arange(len(own)), n_own)
    return place, column


@dataclass(frozen=True, eq=False)
class RefinedGold(Stage[SampleSet]):
    """The samples with their gold in places of the refined texts, for arms that pick the gold itself. Gold of which
    nothing is left is left out.
    """

    kind: ClassVar[str] = "refined_gold"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[SampleSet]] = SamplesCodec()

    samples: Stage[SampleSet]
    refined: Refined

    def make(self, run: Run) -> SampleSet:
        """Carries every unit over."""
        sample_set, documents = run.read(self.samples), run.read(self.refined)
        position = {document_id: place for place, document_id in enumerate(documents.ids)}
        return replace(
            sample_set,
            samples=tuple(
                replace(sample, gold=tuple(_carried(sample, position, documents))) for sample in sample_set.samples
            ),
        )


def _carried(sample: Sample, position: Mapping[str, int], documents: RefinedDocuments) -> Iterator[Evidence]:
    for unit in sample.gold:
        if unit.start is None or unit.end is None or unit.document_id not in position:
            yield unit
        else:
            ranges = carried(position[unit.document_id], unit.start, unit.end, documents.origins)
            yield from (replace(unit, start=start, end=end) for start, end in ranges)


def gold_in(refined: Sequence[Refined], samples: Samples) -> Stage[SampleSet]:
    """The samples for arms that pick the gold itself; as they are where nothing was refined."""
    gold: Stage[SampleSet] = samples
    for stage in refined:
        gold = RefinedGold(gold, stage)
    return gold


@dataclass(frozen=True)
class InOriginal:
    """Chunks, hits and contexts as results and metrics have them: in places of the original texts."""

    chunks: Stage[Spans]
    hits: Stage[Hits]
    context: Stage[Context]


def ranking_in_original(
    refined: tuple[Refined, ...], chunks: Stage[Spans], hits: Stage[Hits]
) -> tuple[Stage[Spans], Stage[Hits]]:
    """Chunks and hits as metrics have them; as they are where nothing was refined."""
    if not refined:
        return chunks, hits
    places = OriginalPlaces(chunks, refined)
    return places, OriginalHits(hits, places)


def told_in_original(
    refined: tuple[Refined, ...], chunks: Stage[Spans], hits: Stage[Hits], context: Stage[Context]
) -> InOriginal:
    """What was found, and what of it is read; as it is where nothing was refined."""
    ranking = ranking_in_original(refined, chunks, hits)
    return InOriginal(*ranking, OriginalContext(context, OriginalPlaces(chunks, refined)) if refined else context)
