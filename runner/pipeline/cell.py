"""The components of one cell of a sweep."""

from dataclasses import dataclass

from components.prices import NO_PRICES, Prices
from components.protocols import (
    LLM,
    AnyChunker,
    AnyReranker,
    ContextBuilder,
    Dataset,
    Diversity,
    Embedder,
    Examples,
    Expander,
    Filter,
    Generator,
    Header,
    History,
    Metric,
    Prompt,
    Refiner,
    Retriever,
    VectorIndex,
    WordTokenizer,
)
from runner.engine.executors.processes import Processes
from runner.engine.executors.protocol import Executor
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
