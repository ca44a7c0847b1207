"""The graph of a pipeline that answers any question: the graph of its cell, with other samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, get_type_hints

from components.datasets.left_behind import LeftBehind
from components.errors import ConfigError
from components.histories.gold import GoldHistory
from components.json_value import Json
from components.limits import expected_one_of
from components.metrics.interval import Intervals
from components.protocols import RerankerSelection
from components.records import Answer, Context, Documents, Hits, Queries, Spans
from runner.engine.identity import hash_description
from runner.engine.stage import AnyStage, Stage
from runner.pipeline.answers.prompt_passages import PromptPassages, RetrievedPassages
from runner.pipeline.building import build_component
from runner.pipeline.cell import Cell
from runner.pipeline.cell_graph import Graph, build_graph
from runner.pipeline.corpus.loaded_data import Corpus, DatasetStages, LoadedBenchmark, Samples
from runner.pipeline.corpus.partition import CorpusPartition, PartitionSummary
from runner.pipeline.retrieval_result import Retrieved
from runner.pipeline.settings import JudgeSettings, MetricSettings
from runner.serving.folder_description import DataFacts

_ASKED = "whatever is asked"
"""Takes the place of the content of the samples in the keys of a served graph."""

_NOT_SERVED = ("metrics", "judge", "dataset", "parser", "history", "pipeline")
"""Fields of a cell that answering does not use: see `without_evaluation`."""


@dataclass(frozen=True)
class ServedGraph:
    """The stages of a pipeline that serving reads. `search` is None for a closed book.

    All stages except `samples` are computed from the samples or cached.
    """

    samples: Samples
    search: "SearchStages | None"
    answers: Stage[Sequence[Answer]]
    used: frozenset[str]

    @property
    def targets(self) -> Iterator[AnyStage]:
        """All stages that serving reads."""
        if self.search:
            yield from self.search.targets
        yield self.answers


@dataclass(frozen=True)
class SearchStages:
    """The stages of the search.

    `hits` are among the `chunks` of `corpus`, in places of the original texts. `context` are the hits in the prompt.
    `read` are the texts as the model reads them, and `ranking` the hits before they were mapped to the original texts.
    `hit_chunks` are the chunks of these hits. `read_chunks` are the chunks of `read`, or the pieces of a compressor, in
    places of the original texts.
    """

    queries: tuple[Stage[Queries], ...]
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    hits: Stage[Hits]
    context: Stage[Context]
    read: RetrievedPassages
    ranking: Stage[Hits]
    hit_chunks: Stage[Spans]
    read_chunks: Stage[Spans]

    @property
    def targets(self) -> Iterator[AnyStage]:
        """All stages of the search that serving reads."""
        yield from (*self.queries, self.corpus, self.chunks, self.hits, self.context, self.ranking)
        yield from (stage for stage in vars(self.read).values() if isinstance(stage, Stage))
        yield from (*self.read.facts, self.hit_chunks, self.read_chunks)


def build_cell(nodes: Mapping[str, Json], plugins: Sequence[str]) -> Cell:
    """Return a cell with these configuration nodes, by field. Raises ConfigError for unknown fields and for nodes that
    cannot be built.

    Other fields are not used, or have their default if the folder is older than the field.
    """
    types = get_type_hints(Cell)
    values: dict[str, Any] = {
        member.name: None if member.default is MISSING else member.default for member in fields(Cell)
    }
    if unknown := sorted(set(nodes) - set(values)):
        raise ConfigError([f"{name}: unknown component{expected_one_of(name, values)}" for name in unknown])
    values |= {name: build_component(node, types[name], name, plugins) for name, node in nodes.items()}
    return without_evaluation(Cell(**values))


def without_evaluation(cell: Cell) -> Cell:
    """Return the cell without its evaluation. In conversations, it uses the answers that come with the question."""
    return replace(cell, metrics=MetricSettings({}, Intervals()), judge=JudgeSettings(None, {}), history=GoldHistory())


def served_nodes(config: Mapping[str, Json], used: frozenset[str]) -> dict[str, Json]:
    """Return the nodes of a complete configuration that answering uses."""
    return {name: node for name, node in config.items() if name in used and name not in _NOT_SERVED}


def served_graph(cell: Cell, data: DataFacts, pool: DataFacts | None, chosen: str | None = None) -> ServedGraph:
    """Return the graph for questions. `chosen` is the candidate that reranks, if the cell chooses one for each subset.

    Raises ValueError if the cell lacks a component that answering uses.
    """
    if isinstance(cell.reranker, RerankerSelection) and chosen is not None:
        cell = replace(cell, reranker=cell.reranker.candidates[chosen])
    served_data = _data(replace(data, samples=_ASKED))
    graph = build_graph(cell, served_data, _data(pool) if pool else None)
    if missing := sorted(name for name in graph.used - set(_NOT_SERVED) if getattr(cell, name) is None):
        raise ValueError(f"{', '.join(missing)}: missing")
    return ServedGraph(served_data.samples, _build_search(graph), graph.result.answers, graph.used)


def _build_search(graph: Graph) -> SearchStages | None:
    retrieved, passages = graph.result.retrieved, graph.passages
    if not isinstance(retrieved, Retrieved) or not isinstance(passages, RetrievedPassages):
        return None
    stages = retrieved.queries, retrieved.corpus, retrieved.chunks, retrieved.hits, retrieved.context
    read_chunks = retrieved.read[0].spans if retrieved.read else retrieved.chunks
    hit_chunks = next((compressed.passages.chunks for compressed in retrieved.compressed), passages.chunks)
    return SearchStages(*stages, passages, _ranking(passages), hit_chunks, read_chunks)


def _ranking(passages: PromptPassages) -> Stage[Hits]:
    hits: Stage[Hits] = passages.context.hits  # type: ignore[attr-defined]  # a context is chosen from a ranking
    return hits


def _data(facts: DataFacts) -> DatasetStages:
    loaded = LoadedBenchmark(LeftBehind(facts.name), "")
    partition = CorpusPartition(facts.corpus, facts.parts["documents_per_block"], facts.corpus_prefixes, loaded)
    return DatasetStages(
        loaded,
        Corpus(facts.corpus, loaded),
        Samples(facts.samples, loaded),
        facts.n_documents,
        facts.n_samples,
        facts.corpus_prefixes,
        {},
        facts.language,
        hash_description([facts.corpus, facts.samples]),
        facts.n_by_turn,
        PartitionSummary.from_partition(partition, facts.parts),
    )
