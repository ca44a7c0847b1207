"""Stages of iterative searches: a language model reads the hits, and writes the next query.

    hits ── new_hits ── next_searches ── (search) ── search_hits ── new_hits ── next_searches ── ... ── merged_hits

Each search is made of the same stages as the first one, and each decision is a separate stage, so that a kill between
two searches loses no reply. Cells that differ only in the number of searches share all earlier ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from components.asking.prompt_parts import questions_by_line
from components.fields import runtime_only
from components.forensics.stages import THETA
from components.gold_copies import GoldCopies
from components.gold_places import GoldLocator, SampleSpans
from components.json_value import Json
from components.protocols import AnyIteration, IterativeSearch, Retriever
from components.records import Documents, Hits, NextSearch, Passage, Queries, Sample, SearchTrail, Spans, SpanTexts
from components.text.ranking import drop_hits, empty_hits, hits_in_order
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.cell_texts import CorpusStages
from runner.pipeline.corpus.listed_documents import ListedDocuments
from runner.pipeline.corpus.loaded_data import Samples
from runner.pipeline.corpus.original_places import map_ranking_to_original
from runner.pipeline.corpus.reply_counts import ReplyCounts, model_problems, reply_counts, step_counts
from runner.pipeline.corpus.step_reports import LINE, StepReport
from runner.pipeline.search.existing_index_search import find_existing_index_arm
from runner.pipeline.search.hit_columns import build_spans, hit_table

PURPOSE = "next search"

ITERATIVE = "iterative"
"""Name of the counts of an iterative search. They are listed with the counts of judges."""

_SEARCHES_TYPE = pa.list_(pa.struct([("query", pa.string()), ("thought", pa.string()), ("gold", pa.list_(pa.int32()))]))


@dataclass(frozen=True)
class DecidedSearches(Queries):
    """The next queries, at most one per sample.

    If no sample needs a further search, the only query is the first question, because a search needs a query. `next`
    has the query of every sample, "" if it needs no further search. `thoughts` has the rest of the model's reply.
    `replies` and `usage` count the requests (see `reply_counts`).
    """

    next: Sequence[str]
    thoughts: Sequence[str]
    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


class NextSearches(
    Stage[DecidedSearches],
    kind="next_searches",
    display_name="next searches",
    version=2,
    work=Work.PER_QUERY,
    repeats_unreadable=True,
):
    """The queries that a language model writes after it has read the hits of the searches so far."""

    codec = Columns(DecidedSearches)

    iteration: IterativeSearch
    samples: Samples
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    found: tuple["NewHits", ...]
    earlier: tuple["NextSearches", ...]
    n_samples: int = runtime_only(0, "the samples are part of the key")

    @property
    def n_requests(self) -> int:
        """Number of requests: at most one per sample."""
        return self.n_samples

    def make(self, run: Run) -> DecidedSearches:
        """Ask about the samples of the last search.

        Raises ComponentError if the component returns something other than searches.
        """
        samples = run.read(self.samples).samples
        decisions = [run.read(stage) for stage in self.earlier]
        rows = [
            row
            for row, sample in enumerate(samples)
            if sample.question.strip() and (not decisions or decisions[-1].next[row])
        ]
        searches, passages = [run.read(stage).chunk for stage in self.found], self._passages(run)
        trails = [
            SearchTrail(
                _question(samples[row]),
                tuple(tuple(passages(chunk) for chunk in chunks[row].tolist() if chunk >= 0) for chunks in searches),
                tuple(NextSearch(earlier.next[row], earlier.thoughts[row]) for earlier in decisions),
            )
            for row in rows
        ]
        ask = run.ask(self.iteration.llm, PURPOSE)
        decided = self.iteration.decide(trails, ask) if trails else []
        if not isinstance(decided, list) or not all(map(_is_valid, decided)):
            what = "returned something other than a list of NextSearch with texts, one per trail"
            raise contract_error(self.iteration, what)
        if len(decided) != len(trails):
            raise contract_error(
                self.iteration, f"returned {len(decided)} searches for {len(trails)} samples, expected one per sample"
            )
        decision_by_row = dict(zip(rows, decided, strict=True))
        none = NextSearch("", is_asked=False)
        every = [decision_by_row.get(row, none) for row in range(len(samples))]
        asked_for = [search.query if search.query.strip() else "" for search in every]
        searched = [row for row, query in enumerate(asked_for) if query]
        # Later stages need at least one query. `SearchHits` drops the hits of this placeholder.
        texts = [asked_for[row] for row in searched] or [samples[0].question]
        replies = reply_counts(decided, sum(search.is_asked for search in decided))
        queries = texts, np.array(searched or [0], dtype=np.int32)
        return DecidedSearches(*queries, asked_for, [search.thought for search in every], replies, dict(ask.usage))

    def _passages(self, run: Run) -> Callable[[int], Passage]:
        """Return a function from a chunk to its text and the title of its document."""
        if not self.found:
            return lambda chunk: Passage("")
        documents, spans = run.read(self.corpus), run.read(self.chunks)
        texts = SpanTexts(documents.texts, spans)
        return lambda chunk: Passage(texts[chunk], documents.titles[spans.document[chunk]])


def _is_valid(decision: object) -> bool:
    """Return True for a decision with fields of their types, which a custom class may violate."""
    if not isinstance(decision, NextSearch):
        return False
    texts: tuple[object, ...] = (decision.query, decision.thought, decision.unread, decision.failed)
    return all(isinstance(text, str) for text in texts) and isinstance(decision.is_asked, bool)


def _question(sample: Sample) -> str:
    """Return the question after the earlier questions of its conversation, one per line."""
    return questions_by_line([*(turn.question for turn in sample.history), sample.question])


class SearchHits(Stage[Hits], kind="search_hits", version=1, work=Work.PER_QUERY):
    """The hits of one search by sample. A sample without a query in this search has none."""

    codec = Columns(Hits)

    hits: Stage[Hits]
    decided: NextSearches

    def make(self, run: Run) -> Hits:
        """Take the hits of the samples that had a query."""
        all_hits, is_searched = run.read(self.hits), np.array([bool(query) for query in run.read(self.decided).next])
        hits = empty_hits(len(is_searched), all_hits.chunk.shape[1])
        rows = np.flatnonzero(is_searched[: len(all_hits)])
        hits.chunk[rows], hits.score[rows] = all_hits.chunk[rows], all_hits.score[rows]
        return hits


class NewHits(Stage[Hits], kind="new_hits", version=1, work=Work.PER_QUERY):
    """The first `n` hits of a search that the model has not read yet."""

    codec = Columns(Hits)

    hits: Stage[Hits]
    before: tuple["NewHits", ...]
    n: int

    def make(self, run: Run) -> Hits:
        """Leave out hits that were read."""
        hits = run.read(self.hits)
        is_read = np.zeros(hits.chunk.shape, dtype=bool)
        for stage in self.before:
            for column in run.read(stage).chunk.T:
                is_read |= (hits.chunk == column[:, None]) & (hits.chunk >= 0)
        new = drop_hits(hits, is_read)
        return Hits(new.chunk[:, : self.n], new.score[:, : self.n])


class MergedHits(Stage[Hits], kind="merged_hits", version=1, work=Work.PER_QUERY):
    """One ranking of all searches: the best hit of each, in the order of the searches, then the second of each, and so
    on. Each chunk occurs once. Scores are reciprocal ranks.
    """

    codec = Columns(Hits)

    searches: tuple[Stage[Hits], ...]
    depth: int

    def make(self, run: Run) -> Hits:
        """Merge the rankings round-robin, dropping repeated chunks."""
        rankings = [run.read(stage).chunk.tolist() for stage in self.searches]
        merged = []
        for sample_rankings in zip(*rankings, strict=True):
            in_turn = chain.from_iterable(zip_longest(*sample_rankings, fillvalue=-1))
            merged.append(list(dict.fromkeys(chunk for chunk in in_turn if chunk >= 0))[: self.depth])
        return hits_in_order(merged)


@dataclass(frozen=True)
class SearchRanking(StageGroup, name_in_keys="HitsOfSearch"):
    """The hits of one search as a ranking by sample: see `Ranking`."""

    hits: Stage[Hits]

    def by_sample(self, run: Run) -> list[Hits]:
        """Return the hits, with a row per sample."""
        return [run.read(self.hits)]


@dataclass(frozen=True)
class IteratedSearch:
    """All searches of a cell: their merged `hits`, the decisions between them, and the hits of each, as chunks that are
    searched.
    """

    hits: Stage[Hits]
    decided: tuple[NextSearches, ...]
    searches: tuple[SearchRanking, ...]
    report: "IterationReport"


def build_iterated_search(
    iteration: IterativeSearch,
    texts: CorpusStages,
    depth: int,
    first_hits: Stage[Hits],
    search: Callable[[Stage[Queries]], Stage[Hits]],
    copies: Stage[GoldCopies],
) -> IteratedSearch:
    """Repeat the search until the iteration ends it. `first_hits` are the hits of the first search, and `search`
    searches for other queries; both are chunks that are searched, by sample.
    """
    data = texts.data

    def decide(hits: Sequence[NewHits], earlier: Sequence[NextSearches]) -> NextSearches:
        inputs = texts.corpus, texts.chunks, tuple(hits), tuple(earlier)
        return NextSearches(iteration, data.samples, *inputs, data.n_samples)

    decided = [decide((), ())] if iteration.decides_first else []
    searches: list[Stage[Hits]] = [SearchHits(first_hits, decided[0]) if decided else first_hits]
    read_hits = [texts.chunked.hits_to_read(searches[0])]
    new = [NewHits(read_hits[0], (), iteration.n_passages)]
    while len(searches) < iteration.max_searches:
        decided.append(decide(new, decided))
        searches.append(SearchHits(search(decided[-1]), decided[-1]))
        read_hits.append(texts.chunked.hits_to_read(searches[-1]))
        new.append(NewHits(read_hits[-1], tuple(new), iteration.n_passages))
    places = tuple(NewHitSpans(*map_ranking_to_original(texts.refined, texts.chunks, hits)) for hits in new)
    report = IterationReport(data.samples, ListedDocuments(texts.original), copies, places, tuple(decided))
    return IteratedSearch(
        MergedHits(tuple(read_hits), depth), tuple(decided), tuple(map(SearchRanking, searches)), report
    )


@dataclass(frozen=True)
class NewHitSpans(StageGroup, name_in_keys="PlacesOfSearch"):
    """The new hits of a search as spans of the original texts."""

    chunks: Stage[Spans]
    hits: Stage[Hits]

    def spans(self, run: Run) -> SampleSpans:
        """Return the hits as spans of the samples."""
        chunks = run.read(self.chunks)
        table = hit_table(run.read(self.hits), chunks)
        return build_spans(table.row, table.place, chunks)


@dataclass(frozen=True)
class IterationReport(StepReport):
    """The searches for each sample, and the gold that each of them found."""

    step: ClassVar[str] = ITERATIVE

    samples: Samples
    listing: ListedDocuments
    copies: Stage[GoldCopies]
    searches: tuple[NewHitSpans, ...]
    decided: tuple[NextSearches, ...]

    def count_replies(self, run: Run) -> dict[str, ReplyCounts]:
        """Return the counts of all decisions."""
        return step_counts(ITERATIVE, (run.read(stage) for stage in self.decided))

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return the number of searches over all samples, and of gold units, with one entry per search.

        `n_samples_by_search` are the samples that were searched for, `n_gold_by_search` the units of gold in the
        passages read up to that search.
        """
        samples, queries_by_search = run.read(self.samples).samples, self._queries_by_search(run)
        n_gold = sum(len(sample.gold) for sample in samples)
        n_found = np.cumsum([is_new.sum() for is_new in self._newly_found(run, samples)]).tolist()
        n_searched = [sum(map(bool, queries)) for queries in queries_by_search]
        facts = {
            "n_searches": sum(n_searched),
            "n_samples_by_search": n_searched,
            "n_gold": n_gold,
            "n_gold_by_search": n_found,
        }
        mean = sum(n_searched) / max(len(samples), 1)
        by_search = ", ".join(f"{n:,} after search {number}" for number, n in enumerate(n_found, start=1))
        return facts | {LINE: f"iterative: {mean:.1f} searches per question; of {n_gold:,} units of gold, {by_search}"}

    def columns(self, run: Run) -> Mapping[str, pa.Array]:
        """Return `searches`: one entry per search for a sample, with its query, the thought before it, and the units of
        gold that were complete with its passages, as positions in `gold`.
        """
        samples = run.read(self.samples).samples
        first_unit = np.cumsum([0, *(len(sample.gold) for sample in samples)])
        thoughts = [run.read(stage).thoughts for stage in self.decided]
        thoughts = [[""] * len(samples)] * (len(self.searches) - len(thoughts)) + thoughts
        rows: list[list[dict[str, Json]]] = [[] for _ in samples]
        for queries, texts, new in zip(
            self._queries_by_search(run), thoughts, self._newly_found(run, samples), strict=True
        ):
            for row, query in enumerate(queries):
                if query:
                    gold = np.flatnonzero(new[first_unit[row] : first_unit[row + 1]]).tolist()
                    rows[row].append({"query": query, "thought": texts[row], "gold": gold})
        return {"searches": pa.array(rows, _SEARCHES_TYPE)}

    def _queries_by_search(self, run: Run) -> list[Sequence[str]]:
        """Return the queries of all samples per search, "" for a sample that was not searched for."""
        decided = [run.read(stage).next for stage in self.decided]
        if len(decided) == len(self.searches):
            return decided
        return [[sample.question for sample in run.read(self.samples).samples], *decided]

    def _newly_found(self, run: Run, samples: Sequence[Sample]) -> list[NDArray[np.bool_]]:
        """Return per search which units of gold the passages up to that search contain, and those before do not."""
        listed = run.read(self.listing)
        lengths = listed.documents["n_characters"].to_numpy()
        places = GoldLocator(samples, listed.positions(samples), lengths, run.read(self.copies))
        needed = np.array([np.inf if n is None else THETA * n for n in places.lengths])
        spans, before, new = list[SampleSpans](), np.zeros(len(needed), dtype=bool), []
        for search in self.searches:
            spans.append(search.spans(run))
            joined = SampleSpans(*(np.concatenate([getattr(part, name) for part in spans]) for name in _COLUMNS))
            is_complete = places.find_pieces(joined).n_characters(len(needed)) >= needed
            new.append(is_complete & ~before)
            before = is_complete
        return new


_COLUMNS = ("sample", "document", "start", "end")


def iteration_problems(iteration: AnyIteration, retriever: Retriever) -> list[str]:
    """Return error messages for an iteration without a language model, or one that searches an index with its own
    texts.
    """
    if not isinstance(iteration, IterativeSearch):
        return []
    problems = model_problems(ITERATIVE, "the next search", [iteration.llm])
    if find_existing_index_arm(retriever):
        problems.append(
            f"iterative: got {type(iteration).__name__} with a retriever of an existing index, which is searched "
            "once, expected iterative=none, or a retriever that searches the corpus, such as retriever=hybrid"
        )
    return problems
