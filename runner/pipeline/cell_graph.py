"""The graph of stages that connects the components of a cell.

    data ─┬─ corpus ─┬─ segments ── chunks ─┬─ vectors ── vector_index ── dense_hits ──┐
          │          └─ block_terms ────────┴─ sparse_index ───────────── sparse_hits ─┴─ fused_hits ── reranked_hits
          └─ samples ── queries ── query_words, query_vectors ────────────────┘                             │
                                              ┌─────────────────────────────────────────────────────────────┤
                                       ranking_scores                            context_scores ── context ─┘
                                              │                                         │             │
                                              └──────────── result ─────────────────────┴─── answers ─┴─ prompts
                                                      answer_scores, judged_scores ─────────────┘

Each subpackage of the pipeline has one function that this module calls, for texts, hits, ranking, answers and scores. A
new step is one file in its subpackage, a field there, and the line that connects it.

The refined corpus replaces the corpus for all steps that search and read. Headers and parents replace the chunks that
are searched. Results and scores refer to places in the original texts. From `segments` to `sparse_index` and `vectors`,
a stage covers a block of documents: see `runner.pipeline.corpus.partition`. `top_k` first appears at the context, the
prompt at the prompts, and the model at the answers. Cells that differ only in these share all earlier stages.

An existing index (`retriever=pgvector` and others) returns texts. Their places in the corpus replace the
chunks: see `_existing_index_retrieval`.

A custom pipeline (`pipeline=python` and others) replaces everything between samples and result: see `_pipeline_graph`.
"""

from dataclasses import dataclass, fields, replace

from components.clusters import Groups, choose_groups
from components.protocols import ExistingIndexArm
from runner.engine.identity import walk_components
from runner.engine.stage import Stage
from runner.pipeline.answers.cell_answers import AnswerStages, build_answers, build_empty_passages, build_passages
from runner.pipeline.answers.compressing import ContextTexts
from runner.pipeline.answers.context_stages import ChosenContext
from runner.pipeline.answers.generating import find_generation_stages
from runner.pipeline.answers.located_passages import LocatedPassages
from runner.pipeline.answers.pipeline_replies import PipelineAnswers, PipelineReplies
from runner.pipeline.answers.prompt_passages import AnyPassages, PipelinePassages, PromptPassages
from runner.pipeline.cell import Cell
from runner.pipeline.corpus.cell_texts import CorpusStages, choose_texts
from runner.pipeline.corpus.chunk_headers import find_llm_headers
from runner.pipeline.corpus.gold_copy_stages import FoundCopies, NoCopies
from runner.pipeline.corpus.listed_documents import ListedDocuments
from runner.pipeline.corpus.loaded_data import DatasetStages, SampleSet
from runner.pipeline.corpus.original_places import OriginalView, PromptSpans, map_to_original, refine_gold
from runner.pipeline.corpus.refined_corpora import find_llm_refined_corpora, refiner_reports
from runner.pipeline.corpus.text_passages import ChunkPassages
from runner.pipeline.ranking.cell_ranking import RankingStages, build_ranking
from runner.pipeline.ranking.list_reranking import llm_hit_orders
from runner.pipeline.ranking.truncated_texts import (
    TruncatedPairs,
    TruncatedTexts,
    build_truncation_stages,
    truncated_for_rerankers,
)
from runner.pipeline.result import Result
from runner.pipeline.retrieval_result import IndexRetrieved, NothingRetrieved, PipelineRetrieved, Retrieved
from runner.pipeline.scoring.answerable_questions import GivenAnswerable, gives_passages
from runner.pipeline.scoring.cell_scores import (
    MetricInputs,
    PipelineInputs,
    build_pipeline_scoring_stages,
    build_scoring_stages,
)
from runner.pipeline.search.cell_search import CellSearchStages, build_index_search, build_search, find_picking_arm
from runner.pipeline.search.existing_index_search import find_existing_index_arm
from runner.pipeline.search.hit_ranks import HitRanks


@dataclass(frozen=True)
class Graph:
    """The stages of one cell. All of them are upstream of `result`.

    `passages` are the passages in the prompts. `used` names the fields of the cell that affect the result.
    """

    data: DatasetStages
    result: Result
    passages: AnyPassages
    used: frozenset[str]


def build_graph(cell: Cell, data: DatasetStages, pool: DatasetStages | None = None) -> Graph:
    """Return all stages of a cell. `pool` is the loaded data set of its few-shot examples, or None if its prompts have
    no examples.
    """
    recorder = _Recorder(_with_groups(cell))
    recorded_cell: Cell = recorder  # type: ignore[assignment]  # a recorder has the attributes of the cell
    if not recorded_cell.pipeline.is_built_in:
        return _pipeline_graph(recorded_cell, data, recorder)
    retrieval = _build_retrieval(recorded_cell, data)
    cell_answers = build_answers(recorded_cell, data, retrieval.passages, pool)
    result = _result(recorded_cell, data, retrieval, cell_answers)
    return Graph(data, result, retrieval.passages, frozenset(recorder.list_used()))


def _pipeline_graph(cell: Cell, data: DatasetStages, recorder: "_Recorder") -> Graph:
    """Return all stages of a cell with a custom pipeline. Axes of the built-in pipeline do not affect it."""
    replies = PipelineReplies(cell.pipeline, data.samples, cell.repeat, data.n_samples)
    answers, places = PipelineAnswers(replies), LocatedPassages(data.corpus, replies)
    copies = FoundCopies(data.samples, data.corpus) if cell.metrics.credit_copies else NoCopies()
    passages = PipelinePassages(replies)
    scorings = build_pipeline_scoring_stages(cell, data, PipelineInputs(passages, places, answers, copies))
    retrieved = PipelineRetrieved(ListedDocuments(data.corpus), places, copies)
    result = Result(data.samples, retrieved, (), answers, scorings, (), cell.metrics.interval.groups)
    return Graph(data, result, passages, frozenset(recorder.list_used()))


def _with_groups(cell: Cell) -> Cell:
    """Return the cell with the data set's grouping of samples in its confidence intervals."""
    groups = choose_groups(cell.dataset)
    if groups is Groups.DOCUMENT:
        return cell
    return replace(cell, metrics=replace(cell.metrics, interval=replace(cell.metrics.interval, groups=groups)))


@dataclass(frozen=True)
class _Retrieval:
    """The passages of the prompts, the part of retrieval that results report, and the inputs of retrieval metrics."""

    passages: PromptPassages
    reported: Retrieved | NothingRetrieved
    scored: MetricInputs


def _build_retrieval(cell: Cell, data: DatasetStages) -> _Retrieval:
    if not cell.retriever.arms:
        return _closed_book_retrieval(data)
    arm = find_existing_index_arm(cell.retriever)
    return _existing_index_retrieval(cell, data, arm) if arm else _corpus_retrieval(cell, data)


def _existing_index_retrieval(cell: Cell, data: DatasetStages, arm: ExistingIndexArm) -> _Retrieval:
    """Build the stages from the questions to the passages of the prompts, which an existing index finds.

    The steps that make an index of the corpus do not affect it: refiner, chunks, headers and filter.
    """
    texts, search = build_index_search(cell, data, arm)
    copies = FoundCopies(data.samples, data.corpus) if cell.metrics.credit_copies else NoCopies()
    ranked = build_ranking(cell, texts, search, copies)
    context = ChosenContext(cell.context, cell.top_k, ranked.hits, ChunkPassages(texts.corpus, texts.chunks))
    read_context = build_passages(cell, texts, context, search.rerank_queries)
    places = map_to_original((), texts.chunks, ranked.hits, context, _build_places(read_context))
    scored = MetricInputs(ranked.reported, ranked.reported, texts.original, places, copies)
    retrieved = _collect_retrieved(cell, texts, search, ranked, places, data.samples, copies, read_context)
    index_retrieved = IndexRetrieved(**vars(retrieved), loaded=ListedDocuments(data.corpus))
    return _Retrieval(read_context.passages, index_retrieved, scored)


def _corpus_retrieval(cell: Cell, data: DatasetStages) -> _Retrieval:
    """Build the stages from the documents to the passages of the prompts."""
    picking = find_picking_arm(cell)
    texts = choose_texts(cell, data, picking)
    gold = refine_gold(texts.refined, data.samples)
    copies = FoundCopies(data.samples, texts.original) if cell.metrics.credit_copies else NoCopies()
    search = build_search(cell, texts, gold, copies)
    ranked = build_ranking(cell, texts, search, copies)
    context = ChosenContext(cell.context, cell.top_k, ranked.hits, ChunkPassages(texts.corpus, texts.chunks))
    read_context = build_passages(cell, texts, context, search.rerank_queries)
    places = map_to_original(texts.refined, texts.chunks, ranked.hits, context, _build_places(read_context))
    answerable = ranked.reported
    if gives_passages(picking):
        answerable = GivenAnswerable(ranked.reported, texts.original, places.read.spans, places.read.context)
    scored = MetricInputs(ranked.reported, answerable, texts.original, places, copies)
    retrieved = _collect_retrieved(cell, texts, search, ranked, places, gold, copies, read_context)
    return _Retrieval(read_context.passages, retrieved, scored)


def _build_places(read_context: ContextTexts) -> PromptSpans:
    return PromptSpans(read_context.passages.chunks, read_context.passages.context)


def _collect_retrieved(
    cell: Cell,
    texts: CorpusStages,
    search: CellSearchStages,
    ranked: RankingStages,
    places: OriginalView,
    gold: Stage[SampleSet],
    copies: FoundCopies | NoCopies,
    read_context: ContextTexts,
) -> Retrieved:
    """Collect the stages of retrieval that results show."""
    cut: list[TruncatedTexts | TruncatedPairs] = [*truncated_for_rerankers(ranked.steps.values())]
    if not find_picking_arm(cell):
        cut = [*build_truncation_stages(cell.retriever, *texts.searched, (*search.queries, *search.further)), *cut]
    return Retrieved(
        search.queries,
        texts.original,
        ListedDocuments(texts.original),
        places.chunks,
        places.hits,
        places.context,
        copies,
        tuple({stage.key: stage for stage in cut}.values()),
        llm_hit_orders(ranked.steps),
        (
            *refiner_reports(texts.refined, texts.data.samples, gold),
            *search.reports,
            *ranked.reports,
            *read_context.reports,
        ),
        find_llm_refined_corpora(texts.refined),
        find_llm_headers(texts.searched),
        HitRanks(search.rankings, texts.child_and_parent_chunks, () if ranked.hits is search.hits else (search.hits,)),
        read_context.compressed,
        (places.read,) if read_context.compressed else (),
    )


def _closed_book_retrieval(data: DatasetStages) -> _Retrieval:
    """Build the retrieval of a closed-book cell, which has no hits and no passages."""
    scored = MetricInputs(data.samples, data.samples, data.corpus, None, NoCopies())
    return _Retrieval(build_empty_passages(data), NothingRetrieved(), scored)


def _result(cell: Cell, data: DatasetStages, retrieval: _Retrieval, cell_answers: AnswerStages) -> Result:
    scorings = build_scoring_stages(cell, data, retrieval.scored, retrieval.passages, cell_answers)
    answerable = retrieval.scored.answerable
    samples = answerable if isinstance(answerable, GivenAnswerable) else data.samples
    answers = cell_answers.answers
    groups = cell.metrics.interval.groups
    return Result(
        samples,
        retrieval.reported,
        cell_answers.prompts,
        answers,
        scorings,
        find_generation_stages(answers),
        groups,
        cell_answers.revised,
    )


class _Recorder:
    """A cell that records which of its fields are read. An axis that is never read does not affect the cell."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._read: set[str] = set()

    def __getattr__(self, name: str) -> object:
        self._read.add(name)
        return getattr(self._cell, name)

    def list_used(self) -> set[str]:
        """Return the names of the fields that were read.

        Includes a field if its component is part of a component that was read, such as the tokenizer inside the index
        of the retriever.
        """
        # Search the component itself: `retriever.arms` are built from its fields and have no fields to search.
        inside = [part for name in {"dataset", *self._read} for part in walk_components(getattr(self._cell, name))]
        names = {field.name for field in fields(Cell)} - self._read
        return {"dataset", *self._read} | {name for name in names if getattr(self._cell, name) in inside}
