"""One cell of a sweep: its components, and the graph of stages that joins them.

    data ─┬─ corpus ─┬─ segments ── chunks ─┬─ vectors ── vector_index ── dense_hits ──┐
          │          └─ block_terms ────────┴─ sparse_index ───────────── sparse_hits ─┴─ fused_hits ── reranked_hits
          └─ samples ── queries ── query_words, query_vectors ────────────────┘                             │
                                              ┌─────────────────────────────────────────────────────────────┤
                                       ranking_scores                            context_scores ── context ─┘
                                              │                                         │             │
                                              └──────────── result ─────────────────────┴─── answers ─┴─ prompts
                                                      answer_scores, judged_scores ─────────────┘

What a refiner makes of the corpus stands in its place for all that searches and reads, what headers and parents make of
the chunks in the place of those that are searched; results and scores are told in the original texts.

From `segments` to `sparse_index` and `vectors` a stage is of a block of documents: see `runner.pipeline.corpus.partition`.

`top_k` first appears at the context, the prompt at the prompts, the model at the answers: all before them is shared by
the cells of a sweep that differ in nothing else. A new step is one file beside this one, a field of `Cell`, and the
line below that joins it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from components.clusters import Groups, groups_of
from components.prices import NO_PRICES, Prices
from components.protocols import (
    LLM,
    AnswersFrom,
    AnyChunker,
    AnyReranker,
    ContextBuilder,
    Dataset,
    DenseArm,
    Diversity,
    Embedder,
    EncodedArm,
    Examples,
    Expander,
    Filter,
    Generator,
    Header,
    History,
    Metric,
    PickingArm,
    PlainReranker,
    Prompt,
    Refiner,
    Retriever,
    SparseArm,
    VectorIndex,
    WordTokenizer,
)
from components.records import Answer, Documents, Hits, Queries, Spans
from runner.engine.executors.processes import Processes
from runner.engine.executors.protocol import Executor
from runner.engine.identity import parts_of
from runner.engine.stage import Stage
from runner.pipeline.answers.answer_stages import Answers, BaselineAnswers, NoAnswers, Prompts
from runner.pipeline.answers.context_stages import ChosenContext, EmptyContext
from runner.pipeline.answers.generating import GeneratedAnswers, GeneratedInSteps, generations
from runner.pipeline.answers.own_history import answered_in_turns
from runner.pipeline.answers.prompt_examples import ChosenExamples, chosen_examples
from runner.pipeline.answers.prompt_passages import NoPassages, PromptPassages, RetrievedPassages
from runner.pipeline.corpus.chunk_headers import Searched, asked_headers, with_headers
from runner.pipeline.corpus.chunk_stages import chunk_facts
from runner.pipeline.corpus.cutting import CutCorpus, cut_corpus
from runner.pipeline.corpus.gold_copies import FoundCopies, NoCopies
from runner.pipeline.corpus.listed_documents import ListedDocuments
from runner.pipeline.corpus.loaded_data import Data, SampleSet
from runner.pipeline.corpus.original_places import InOriginal, gold_in, ranking_in_original, told_in_original
from runner.pipeline.corpus.refined_corpora import Refined, asking_corpora, refined_corpora, refiner_reports
from runner.pipeline.corpus.step_reports import StepReport
from runner.pipeline.corpus.text_passages import ChunkPassages
from runner.pipeline.ranking.list_reranking import asked_orders
from runner.pipeline.ranking.rerank_stages import reranked_hits
from runner.pipeline.ranking.selecting import CellReranking, RankedCell, cell_reranking
from runner.pipeline.ranking.unread_texts import CutTexts, cut_pairs, cut_texts
from runner.pipeline.result import Result
from runner.pipeline.retrieved import NothingRetrieved, Retrieved
from runner.pipeline.scoring.answer_scores import answer_scores
from runner.pipeline.scoring.citation_scores import CitationScores, UncitedAnswers
from runner.pipeline.scoring.given_answerable import GivenAnswerable, gives_passages
from runner.pipeline.scoring.judging import Judging, judged_scores
from runner.pipeline.scoring.retrieval_scores import ContextScores, RankingScores
from runner.pipeline.scoring.score_stages import NotApplicableScores, Scoring
from runner.pipeline.search.dense_search import dense_hits
from runner.pipeline.search.diversifying import diverse_hits, diversity_reports
from runner.pipeline.search.encoded_search import encoded_hits
from runner.pipeline.search.expanding import gives_one_query, reranking_queries, searched_queries, unasked_queries
from runner.pipeline.search.filtering import FilteredDocuments, filter_reports, filtered_documents, filtered_hits
from runner.pipeline.search.fusing import Ranking, joined_hits
from runner.pipeline.search.hit_ranks import HitRanks, RankingOfArm, names_of_arms
from runner.pipeline.search.picked_hits import PickedHits
from runner.pipeline.search.searching import Search
from runner.pipeline.search.sparse_search import sparse_hits
from runner.pipeline.settings import (
    ExperimentSettings,
    JudgeSettings,
    LanguageSettings,
    MetricSettings,
    RunSettings,
    TrackingSettings,
)


@dataclass(frozen=True)
class Cell:
    """The components of one cell. Field names are the names of the configuration groups.

    `tokenizer`, `embedder` and `vector_index` are there to be chosen: components that use them hold them themselves.
    `repeat` and `judge_repeat` number draws: a language model answers, or judges, the same once more.
    """

    dataset: Dataset
    refiner: Refiner
    chunk: AnyChunker
    header: Header
    tokenizer: WordTokenizer
    embedder: Embedder
    vector_index: VectorIndex
    expander: Expander
    filter: Filter
    retriever: Retriever
    diversity: Diversity
    reranker: AnyReranker
    context: ContextBuilder
    prompt: Prompt
    examples: Examples
    llm: LLM
    generator: Generator
    history: History
    metrics: MetricSettings
    judge: JudgeSettings
    top_k: int
    tracking: TrackingSettings
    language: LanguageSettings
    run: RunSettings
    experiment: ExperimentSettings
    executor: Executor = Processes()
    prices: Prices = NO_PRICES
    repeat: int = 0
    judge_repeat: int = 0

    @property
    def computed_metrics(self) -> dict[str, Metric]:
        """Every metric of the cell, judged ones included, under each name that it computes."""
        components = (*self.metrics.scores.values(), *self.judge.scores.values())
        return {name: metric for metric in components for name in metric.names}


@dataclass(frozen=True)
class Graph:
    """The stages of one cell: all others are upstream of `result`. `passages` are what the prompts hold, `used` the
    fields of the cell that count.
    """

    data: Data
    result: Result
    passages: PromptPassages
    used: frozenset[str]


def graph_of(cell: Cell, data: Data, pool: Data | None = None) -> Graph:
    """All stages of a cell; `pool` is the loaded data set of its examples, None if it shows none."""
    recorder = _Recorder(_with_groups(cell))
    read: Cell = recorder  # type: ignore[assignment]  # it reads as the cell does
    found = _retrieved(read, data) if read.retriever.arms else _closed_book(read, data)
    result = _result(read, data, found, pool)
    return Graph(data, result, found.passages, frozenset(recorder.used()))


def _with_groups(cell: Cell) -> Cell:
    """The cell with the data set's groups of samples in its intervals."""
    groups = groups_of(cell.dataset)
    if groups is Groups.DOCUMENT:
        return cell
    return replace(cell, metrics=replace(cell.metrics, interval=replace(cell.metrics.interval, groups=groups)))


@dataclass(frozen=True)
class _Found:
    """What retrieval hands on: what the prompts hold (`n_passages` each, at most), what the results show of it, and how
    it scores.
    """

    passages: PromptPassages
    n_passages: int
    shown: Retrieved | NothingRetrieved
    scorings: tuple[Stage[Scoring], ...]
    reported: Stage[SampleSet]
    """The samples as the cell answers them, with a mark on those that count in no aggregate."""


def _result(cell: Cell, data: Data, found: _Found, pool: Data | None) -> Result:
    prompts, answers = _answered(cell, data, found, pool)
    interval = cell.metrics.interval
    # A metric that needs a model is a stage of its own, so that adding one leaves the scores of the others as they are.
    metrics = cell.metrics.of_answers
    quick = {name: metric for name, metric in metrics.items() if not hasattr(metric, "model")}
    groups = [quick, *({name: metric} for name, metric in metrics.items() if name not in quick)]
    texts = UncitedAnswers(answers) if cell.metrics.without_citations else answers
    scored = [answer_scores(group, interval, data.samples, found.reported, texts) for group in groups if group]
    cited = _citation_scores(cell, data, found, answers)
    judging = Judging(interval, data.samples, found.reported, found.passages, answers, data.n_samples, found.n_passages)
    judged = [judged_scores(name, metric, judging, cell.judge_repeat) for name, metric in cell.judge.scores.items()]
    scorings = (*found.scorings, *scored, *cited, *judged)
    shown = found.reported if isinstance(found.reported, GivenAnswerable) else data.samples
    return Result(shown, found.shown, prompts, answers, scorings, generations(answers), interval.groups)


def _citation_scores(
    cell: Cell, data: Data, found: _Found, answers: Stage[Sequence[Answer]]
) -> tuple[CitationScores, ...]:
    """If metrics want them. In a closed book there is nothing to cite."""
    metrics, passages, shown = cell.metrics.of_citations, found.passages, found.shown
    if not metrics or isinstance(passages, NoPassages) or isinstance(shown, NothingRetrieved):
        return ()
    places = shown.corpus, shown.chunks, passages
    return (CitationScores(metrics, cell.metrics.interval, found.reported, *places, answers, shown.copies),)


def _answered(
    cell: Cell, data: Data, found: _Found, pool: Data | None
) -> tuple[tuple[Prompts, ...], Stage[Sequence[Answer]]]:
    """What the model is shown, and its answers. Without a language model nobody reads a prompt, nor a history."""
    if cell.llm.answers_from is AnswersFrom.NOTHING:
        return (), NoAnswers(data.samples)
    if cell.llm.answers_from is AnswersFrom.SAMPLE:
        return (), BaselineAnswers(cell.llm, data.samples, found.passages)
    examples = chosen_examples(cell.examples, data, pool)
    if len(data.n_by_turn) == 1 or not cell.history.has_rounds:
        return _asked_for(cell, data.samples, data.n_samples, found, examples)
    conversations = answered_in_turns(
        cell.history,
        data,
        found.passages,
        lambda samples, n_samples, passages: _asked_for(
            cell, samples, n_samples, replace(found, passages=passages), examples
        ),
    )
    return (), GeneratedAnswers(conversations)


def _asked_for(
    cell: Cell, samples: Stage[SampleSet], n_samples: int, found: _Found, examples: tuple[ChosenExamples, ...]
) -> tuple[tuple[Prompts, ...], Stage[Sequence[Answer]]]:
    """Prompts for samples, and the language model's answers."""
    passages = found.passages
    n_most = _most_passage_tokens(cell, passages)
    n_about = _n_context_tokens(cell, passages) + cell.examples.n * cell.examples.max_tokens
    if cell.generator.n_requests(found.n_passages, n_most) == 1:  # the same as a single prompt, whatever it would do
        prompts = Prompts(cell.prompt, samples, passages, examples)
        return (prompts,), Answers(cell.llm, prompts, cell.repeat, n_samples, n_about)
    sizes = n_samples, found.n_passages, n_most, n_about
    return (), GeneratedAnswers(
        GeneratedInSteps(cell.generator, cell.llm, cell.prompt, samples, passages, cell.repeat, examples, *sizes)
    )


def _most_passage_tokens(cell: Cell, passages: PromptPassages) -> int | None:
    """In a prompt, if the builder of contexts has a limit and counts as the generator does."""
    if isinstance(passages, NoPassages):
        return 0
    counted_by = getattr(cell.context, "tokenizer", None)
    counts_alike = getattr(cell.generator, "tokenizer", counted_by) == counted_by
    return getattr(cell.context, "max_tokens", None) if counts_alike else None


def _n_context_tokens(cell: Cell, passages: PromptPassages) -> int:
    """In a prompt, at most, if the builder of contexts or the chunker has a limit."""
    if isinstance(passages, NoPassages):
        return 0
    n_chunks = cell.top_k * getattr(cell.context, "n_chunks_per_hit", 1)
    limits = [getattr(cell.context, "max_tokens", None), n_chunks * getattr(cell.chunk, "size", 0) or None]
    return min((limit for limit in limits if limit), default=0)


@dataclass(frozen=True)
class _Texts:
    """The documents of a cell and their chunks. `data` has what the refiner made of the `original` corpus, one after
    the other in `refined`; `searched` are the chunks that are searched, below their headers.
    """

    original: Stage[Documents]
    refined: tuple[Refined, ...]
    data: Data
    cut_up: CutCorpus
    searched: Searched

    @property
    def corpus(self) -> Stage[Documents]:
        """That which is searched and read."""
        return self.data.corpus

    @property
    def chunks(self) -> Stage[Spans]:
        """Those that are read."""
        return self.cut_up.read

    @property
    def family(self) -> tuple[Stage[Spans], ...]:
        """Small chunks and the larger ones that are read in their place, if there are such."""
        return () if self.cut_up.searched is self.chunks else (self.cut_up.searched, self.chunks)

    @property
    def ranked(self) -> Searched:
        """What is compared with a query, or with each other, once it is found."""
        return Searched(self.data, self.chunks) if self.family else self.searched


@dataclass(frozen=True)
class _Search:
    """The `hits` of `queries`, by the chunks that are read, and how they were found; a reranker reads `judged_by`."""

    hits: Stage[Hits]
    queries: tuple[Stage[Queries], ...]
    judged_by: Stage[Queries]
    rankings: tuple[RankingOfArm, ...] = ()
    reports: tuple[StepReport, ...] = ()
    cut: tuple[CutTexts, ...] = ()


def _retrieved(cell: Cell, data: Data) -> _Found:
    """From the documents to what the prompts hold, a step at a time."""
    picking = next((arm for arm in cell.retriever.arms if isinstance(arm, PickingArm)), None)
    texts = _texts_of(cell, data, picking)
    gold = gold_in(texts.refined, data.samples)
    search = _picked(cell, texts, picking, gold) if picking else _searched(cell, texts)
    found = diverse_hits(cell.diversity, *texts.ranked, search.hits)
    copies = FoundCopies(data.samples, texts.original) if cell.metrics.credit_copies else NoCopies()
    reranked = _reranked(cell, texts, search, found, copies)
    context = ChosenContext(cell.context, cell.top_k, reranked.hits, ChunkPassages(texts.corpus, texts.chunks))
    told = told_in_original(texts.refined, texts.chunks, reranked.hits, context)
    reports = (
        *refiner_reports(texts.refined, data.samples, gold),
        *search.reports,
        *diversity_reports(found),
        *reranked.reports,
    )
    shown = Retrieved(
        search.queries,
        texts.original,
        ListedDocuments(texts.original),
        told.chunks,
        told.hits,
        told.context,
        copies,
        (*search.cut, *cut_pairs(reranked.steps.values())),
        asked_orders(reranked.steps),
        reports,
        asking_corpora(texts.refined),
        asked_headers(texts.searched),
        HitRanks(search.rankings, texts.family, () if reranked.hits is found else (found,)),
    )
    merges = getattr(cell.context, "merges", False)
    answered: Stage[SampleSet] = reranked.reported
    if gives_passages(picking):
        answered = GivenAnswerable(reranked.reported, texts.original, told.chunks, told.context)
    return _Found(
        RetrievedPassages(texts.corpus, texts.chunks, context, merges, chunk_facts(texts.chunks)),
        cell.top_k,
        shown,
        _retrieval_scores(cell, texts.original, told, reranked.reported, copies),
        answered,
    )


def _texts_of(cell: Cell, data: Data, picking: PickingArm | None) -> _Texts:
    """The documents, refined, cut up, and below their headers. An arm that picks may have a chunker of its own."""
    refined = refined_corpora(cell.refiner, data)
    own = replace(data, corpus=refined[-1] if refined else data.corpus)
    cut_up = cut_corpus((picking and picking.chunker) or cell.chunk, own)
    searched = Searched(own, cut_up.read) if picking else with_headers(cell.header, own, cut_up.searched)
    return _Texts(data.corpus, refined, own, cut_up, searched)


def _picked(cell: Cell, texts: _Texts, picking: PickingArm, gold: Stage[SampleSet]) -> _Search:
    """Hits that are taken whatever the query."""
    n = cell.top_k if picking.picks_for_prompt else cell.retriever.depth
    query = unasked_queries(cell.expander, texts.data)
    return _Search(PickedHits(picking, n, gold, texts.corpus, texts.chunks), (query,), query)


def _searched(cell: Cell, texts: _Texts) -> _Search:
    """The hits of all arms for all variants of the query, in one ranking."""
    retriever, data = cell.retriever, texts.data
    queries = searched_queries(cell.expander, data)
    allowed = filtered_documents(cell.filter, data, texts.cut_up.searched)
    rankings = _rankings(cell, *texts.searched, queries, allowed)
    joined = joined_hits(
        retriever.fusion,
        retriever.depth,
        [arm.ranking for arm in rankings],
        is_one_query_each=gives_one_query(cell.expander),
    )
    return _Search(
        texts.cut_up.hits_to_read(joined),
        queries,
        reranking_queries(cell.expander, data),
        rankings,
        filter_reports(data, allowed, joined),
        cut_texts(retriever, *texts.searched, queries),
    )


def _reranked(
    cell: Cell, texts: _Texts, search: _Search, found: Stage[Hits], copies: FoundCopies | NoCopies
) -> CellReranking:
    samples, metrics = texts.data.samples, cell.metrics.of_rankings

    def rerank(reranker: PlainReranker, hits: Stage[Hits]) -> Stage[Hits]:
        return reranked_hits(reranker, *texts.ranked, search.judged_by, hits, cell.retriever.depth)

    def scores_of(hits: Stage[Hits]) -> Stage[Scoring]:
        ranking = ranking_in_original(texts.refined, texts.chunks, hits)
        return RankingScores(metrics, cell.metrics.interval, samples, texts.original, *ranking, copies)

    ranked = RankedCell(rerank, scores_of, metrics, samples, texts.original, texts.corpus, texts.chunks)
    return cell_reranking(cell.reranker, found, ranked)


def _retrieval_scores(
    cell: Cell,
    original: Stage[Documents],
    told: InOriginal,
    reported: Stage[SampleSet],
    copies: FoundCopies | NoCopies,
) -> tuple[Stage[Scoring], ...]:
    """Of the ranking and of what is in the prompts, if metrics want them."""
    metrics, scorings = cell.metrics, list[Stage[Scoring]]()
    if of_rankings := metrics.of_rankings:
        scorings.append(
            RankingScores(of_rankings, metrics.interval, reported, original, told.chunks, told.hits, copies)
        )
    if of_contexts := metrics.of_contexts:
        places = told.chunks, told.context
        scorings.append(ContextScores(of_contexts, metrics.interval, reported, original, *places, copies))
    return tuple(scorings)


def _rankings(
    cell: Cell,
    data: Data,
    chunks: Stage[Spans],
    queries: Iterable[Stage[Queries]],
    allowed: FilteredDocuments | None,
) -> tuple[RankingOfArm, ...]:
    """Every arm searches for every variant of the query among the allowed documents."""
    retriever, rankings = cell.retriever, []
    for arm, names in zip(retriever.arms, names_of_arms(retriever), strict=True):
        for variant in queries:
            if isinstance(arm, DenseArm):
                search: Search = dense_hits(arm, data, chunks, variant, retriever.depth)
            elif isinstance(arm, SparseArm):
                search = sparse_hits(arm, data, chunks, variant, retriever.depth)
            else:
                assert isinstance(arm, EncodedArm), "an arm that picks is the only one, and was asked for its hits"
                search = encoded_hits(arm, data, chunks, variant, retriever.depth)
            ranking = Ranking(filtered_hits(search, variant, allowed, chunks), variant)
            rankings.append(RankingOfArm(names, ranking))
    return tuple(rankings)


def _closed_book(cell: Cell, data: Data) -> _Found:
    """The model answers from its own knowledge; metrics of retrieval and of citations are not applicable."""
    context = EmptyContext(data.samples)
    of_retrieval = cell.metrics.of_rankings | cell.metrics.of_contexts | cell.metrics.of_citations
    scorings = (NotApplicableScores(of_retrieval, cell.metrics.interval, data.samples),) if of_retrieval else ()
    return _Found(NoPassages(context), 0, NothingRetrieved(), scorings, data.samples)


class _Recorder:
    """A cell that remembers which of its fields were read: an axis that nobody reads is not used by the experiment."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._read: set[str] = set()

    def __getattr__(self, name: str) -> object:
        self._read.add(name)
        return getattr(self._cell, name)

    def used(self) -> set[str]:
        """The fields that were read, and those whose component is inside one that was read: a tokenizer that the index
        of the retriever holds, say.
        """
        # `retriever.arms` are made of its fields, so the component itself is looked through, not what was made of it.
        inside = [part for name in self._read for part in parts_of(getattr(self._cell, name))]
        names = {field.name for field in fields(Cell)} - self._read
        return {"dataset", *self._read} | {name for name in names if getattr(self._cell, name) in inside}
