"""Finds components of a cell that do not suit each other or the data set, before any work is done."""

from collections import Counter
from collections.abc import Sequence

from components.protocols import (
    LLM,
    AnyCompressor,
    AnyIteration,
    AnyReranker,
    AnyReviser,
    ChecksMetadata,
    ChecksSamples,
    DenseArm,
    Expander,
    Generator,
    GraphArm,
    Header,
    History,
    PickingArm,
    Pipeline,
    Refiner,
    RerankerSelection,
    Retriever,
)
from components.records import Sample
from runner.engine.ask import is_language_model
from runner.engine.store import Store
from runner.engine.worker import read_cached
from runner.pipeline.answers.compressing import compressor_problems
from runner.pipeline.answers.generating import draw_problems
from runner.pipeline.answers.revising import reviser_problems
from runner.pipeline.cell import Cell
from runner.pipeline.corpus.chunk_facts import extractor_problems
from runner.pipeline.corpus.chunk_headers import header_problems
from runner.pipeline.corpus.chunk_vectors import reads_documents
from runner.pipeline.corpus.loaded_data import DatasetStages, metadata_names
from runner.pipeline.corpus.refined_corpora import refiner_problems
from runner.pipeline.corpus.sample_codec import decode_samples
from runner.pipeline.ranking.selecting import selection_problems
from runner.pipeline.search.dense_search import dimension_problems
from runner.pipeline.search.expanding import expander_problems, gold_answer_problems
from runner.pipeline.search.iterating import iteration_problems
from runner.pipeline.search.nested_arms import arms_and_candidates
from runner.pipeline.settings import MetricSettings


def combination_problems(
    top_k: int | None,
    retriever: Retriever | None,
    expander: Expander | None = None,
    iterative: AnyIteration | None = None,
    generator: Generator | None = None,
    llm: LLM | None = None,
    history: History | None = None,
    refiner: Refiner | None = None,
    header: Header | None = None,
    compressor: AnyCompressor | None = None,
    reviser: AnyReviser | None = None,
    reranker: AnyReranker | None = None,
    metrics: MetricSettings | None = None,
    repeat: int | None = None,
    judge_repeat: int | None = None,
    pipeline: Pipeline | None = None,
) -> list[str]:
    """Return one message per wrong combination of fields of a cell, before anything is loaded.

    A field that could not be built is None. A custom pipeline replaces the components that search and answer, so their
    combinations do not matter.
    """
    invalid_draws = _wrong_draws(repeat=repeat, judge_repeat=judge_repeat)
    if pipeline is not None and not pipeline.is_built_in:
        return invalid_draws
    problems = dimension_problems(retriever) if retriever is not None else []
    problems += draw_problems(generator, llm) if generator is not None and llm is not None else []
    problems += invalid_draws
    problems += _wrong_top_k(top_k, retriever) if top_k is not None else []
    if retriever is not None and expander is not None and retriever.fusion is None:
        n_rankings = len(retriever.arms) * len(expander.variants)
        if n_rankings > 1 and searches(retriever):
            problems.append(
                f"retriever.fusion: got none for {n_rankings} rankings ({len(retriever.arms)} searches x "
                f"{len(expander.variants)} variants of the query), expected a fusion. See retriever=hybrid."
            )
    if retriever is not None and searches(retriever):
        problems += _search_problems(retriever, expander, iterative, history, header)
    if retriever is not None and retriever.arms:
        problems += refiner_problems(refiner) if refiner is not None else []
        problems += compressor_problems(compressor) if compressor is not None else []
        problems += reviser_problems(reviser, llm) if reviser is not None and llm is not None else []
    if isinstance(reranker, RerankerSelection) and metrics is not None and retriever is not None and retriever.arms:
        problems += selection_problems(reranker, metrics.ranking_metrics)
    return problems


def _search_problems(
    retriever: Retriever,
    expander: Expander | None,
    iterative: AnyIteration | None,
    history: History | None,
    header: Header | None,
) -> list[str]:
    """Return error messages for the steps that only a searching cell has."""
    problems = extractor_problems(retriever)
    if expander is not None:
        problems += expander_problems(expander)
        if history is not None and history.has_rounds:
            problems += gold_answer_problems(expander)
    if iterative is not None:
        problems += iteration_problems(iterative, retriever)
    if header is not None:
        problems += header_problems(header)
        problems += _headers_in_documents(header, retriever)
    return problems


def _headers_in_documents(header: Header, retriever: Retriever) -> list[str]:
    """Return an error message for headers of chunks that an embedder reads in their documents, where headers have no
    place.
    """
    arms = arms_and_candidates(retriever)
    reading = [arm.embedder for arm in arms if isinstance(arm, DenseArm | GraphArm) and reads_documents(arm.embedder)]
    if not header.writers or not reading:
        return []
    return [
        f"header: got {type(header).__name__}, but {type(reading[0]).__name__} reads chunks in their documents "
        "(pooling=late), which contain no headers, expected header=none, or another pooling"
    ]


def _wrong_top_k(top_k: int, retriever: Retriever | None) -> list[str]:
    if top_k < 1:
        return [f"top_k: got {top_k}, expected at least 1 (for none, retriever=closed_book)"]
    if retriever is not None and 0 < retriever.depth < top_k:
        return [
            f"top_k: got {top_k}, more than retriever.depth={retriever.depth}, the number of hits per query. "
            f"Use a smaller top_k or retriever.depth={top_k}"
        ]
    return []


def _wrong_draws(**draws: int | None) -> list[str]:
    return [
        f"{name}: got {draw}, expected the number of a draw: 0, 1, 2, ..."
        for name, draw in draws.items()
        if draw is not None and draw < 0
    ]


def searches(retriever: Retriever) -> bool:
    """Return True if the retriever searches. False for a closed book, and for an arm that picks without a query."""
    return bool(retriever.arms) and not any(isinstance(arm, PickingArm) for arm in retriever.arms)


def data_problems(cell: Cell, data: DatasetStages, pool: DatasetStages | None, store: Store) -> list[str]:
    """Return error messages for components that do not suit the loaded data set, and for too few few-shot examples in
    `pool`.

    Raises DataError if a data set has to be read again and that fails.
    """
    if not cell.pipeline.is_built_in:
        return []
    variants = cell.expander.variants if searches(cell.retriever) else ()
    histories = (cell.history,) if is_language_model(cell.llm) else ()
    checking = [part for part in (*variants, *histories) if isinstance(part, ChecksSamples)]
    problems: list[str] = []
    if checking:
        samples = _samples(data, store)
        problems += [problem for part in checking for problem in part.check_samples(samples)]
    filters = (cell.filter,) if searches(cell.retriever) else ()
    prompts = (cell.prompt,) if is_language_model(cell.llm) and cell.retriever.arms else ()
    if reading := [part for part in (*filters, *prompts) if isinstance(part, ChecksMetadata)]:
        names, samples = metadata_names(data, store), _samples(data, store)
        problems += [problem for part in reading for problem in part.check_metadata(names, samples)]
    if pool and is_language_model(cell.llm):
        problems += _too_few_examples(cell.examples.n, _samples(data, store), _samples(pool, store))
    return problems


def _samples(data: DatasetStages, store: Store) -> tuple[Sample, ...]:
    return read_cached(data.loaded, store, lambda entry: decode_samples(entry.part("samples")))


def _too_few_examples(n: int, samples: Sequence[Sample], pool: Sequence[Sample]) -> list[str]:
    n_of_kind = Counter(sample.kind for sample in pool if sample.references and sample.gold)
    return [
        f"examples.n: got {n}, but the examples' data set has {n_of_kind[kind]} samples of the kind {kind.value} with "
        "a reference and gold. Use fewer examples or a larger split."
        for kind in sorted({sample.kind for sample in samples})
        if n_of_kind[kind] < n
    ]
