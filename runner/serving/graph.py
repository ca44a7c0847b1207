"""The graph of a pipeline that answers whatever is asked: that of its cell, with other samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, get_type_hints

from components.datasets.left_behind import LeftBehind
from components.errors import ConfigError
from components.histories.gold import GoldHistory
from components.json_value import Json
from components.metrics.interval import Intervals
from components.protocols import RerankerSelection
from components.records import Answer, Context, Documents, Hits, Queries, Spans
from runner.engine.identity import key_of
from runner.engine.stage import Stage
from runner.pipeline.answers.prompt_passages import PromptPassages, RetrievedPassages
from runner.pipeline.building import build_component
from runner.pipeline.cell import Cell
from runner.pipeline.cell_graph import Graph, graph_of
from runner.pipeline.corpus.loaded_data import Corpus, Data, LoadedBenchmark, Samples
from runner.pipeline.corpus.partition import CorpusPartition, CorpusParts
from runner.pipeline.retrieved import Retrieved
from runner.pipeline.settings import JudgeSettings, MetricSettings
from runner.serving.folder_description import DataFacts

_ASKED = "whatever is asked"
"""Stands for the content of the samples in the keys of a served graph."""

_NOT_SERVED = ("metrics", "judge", "dataset", "history")
"""Fields of a cell that answering does not use: see `unevaluated`."""


@dataclass(frozen=True)
class ServedGraph:
    """Stages of a pipeline by what is asked of them; `found` is None for a closed book. All but the samples are made
    of the samples or kept.
    """

    samples: Samples
    found: "Found | None"
    answers: Stage[Sequence[Answer]]
    used: frozenset[str]

    @property
    def wanted(self) -> Iterator[Stage[Any]]:
        """All that is asked for."""
        if self.found:
            yield from self.found.wanted
        yield self.answers


@dataclass(frozen=True)
class Found:
    """What is searched for and found: `hits` among `chunks` of `corpus`, in places of the original texts, and
    `context`, those of them that go into the prompt; `read` are the texts as the model reads them, `ranking` the same
    hits among these.
    """

    queries: tuple[Stage[Queries], ...]
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    hits: Stage[Hits]
    context: Stage[Context]
    read: RetrievedPassages
    ranking: Stage[Hits]

    @property
    def wanted(self) -> Iterator[Stage[Any]]:
        """All that is asked for."""
        yield from (*self.queries, self.corpus, self.chunks, self.hits, self.context, self.ranking)
        yield from (self.read.corpus, self.read.chunks, self.read.context, *self.read.facts)


def cell_of(nodes: Mapping[str, Json], plugins: Sequence[str]) -> Cell:
    """A cell of these nodes of a configuration, by field; what it lacks is not used. Raises ConfigError."""
    types = get_type_hints(Cell)
    values: dict[str, Any] = {field.name: None for field in fields(Cell)}
    if unknown := sorted(set(nodes) - set(values)):
        raise ConfigError([f"{unknown[0]}: unknown; expected some of {', '.join(values)}"])
    values |= {name: build_component(node, types[name], name, plugins) for name, node in nodes.items()}
    return unevaluated(Cell(**values))


def unevaluated(cell: Cell) -> Cell:
    """The cell without what evaluates it. In conversations the answers stand that come with them."""
    return replace(cell, metrics=MetricSettings({}, Intervals()), judge=JudgeSettings(None, {}), history=GoldHistory())


def served_nodes(config: Mapping[str, Json], used: frozenset[str]) -> dict[str, Json]:
    """The nodes of a whole configuration that answering uses."""
    return {name: node for name, node in config.items() if name in used and name not in _NOT_SERVED}


def served_graph(cell: Cell, data: DataFacts, pool: DataFacts | None, chosen: str | None = None) -> ServedGraph:
    """The graph for questions; `chosen` is the candidate that reranks, where the cell chooses one for each set."""
    if isinstance(cell.reranker, RerankerSelection) and chosen is not None:
        cell = replace(cell, reranker=cell.reranker.candidates[chosen])
    asked = _data(replace(data, samples=_ASKED))
    graph = graph_of(cell, asked, _data(pool) if pool else None)
    return ServedGraph(asked.samples, _found(graph), graph.result.answers, graph.used)


def _found(graph: Graph) -> Found | None:
    shown, passages = graph.result.retrieved, graph.passages
    if not isinstance(shown, Retrieved) or not isinstance(passages, RetrievedPassages):
        return None
    places = shown.queries, shown.corpus, shown.chunks, shown.hits, shown.context
    return Found(*places, passages, _ranking(passages))


def _ranking(passages: PromptPassages) -> Stage[Hits]:
    hits: Stage[Hits] = passages.context.hits  # type: ignore[attr-defined]  # it is chosen from a ranking
    return hits


def _data(facts: DataFacts) -> Data:
    loaded = LoadedBenchmark(LeftBehind(facts.name), "")
    partition = CorpusPartition(facts.corpus, facts.parts["documents_per_block"], facts.corpus_prefixes, loaded)
    return Data(
        loaded,
        Corpus(facts.corpus, loaded),
        Samples(facts.samples, loaded),
        facts.n_documents,
        facts.n_samples,
        facts.corpus_prefixes,
        {},
        facts.language,
        key_of([facts.corpus, facts.samples]),
        facts.n_by_turn,
        CorpusParts.of(partition, facts.parts),
    )
