"""The pipeline of one cell, loaded from an exported folder."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Unpack

from components.errors import DataError, LLMError
from components.json_value import Json
from components.pretrained.load_once import keep_all_models
from components.protocols import AnswersFrom
from components.records import AnswerState, Sample
from runner.engine.stage import AnyStage
from runner.engine.store.manifests import MANIFEST_ERRORS
from runner.pipeline.cell import Cell
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.serving.answer_spans import build_tracer
from runner.serving.asked_question import Choices, Question, QuestionOptions, as_sample
from runner.serving.cached_stages import CachedStages, needed_stages
from runner.serving.folder_description import PIPELINE, Description, data_facts, read_description
from runner.serving.folder_trust import require_trust
from runner.serving.in_memory import QuestionRun
from runner.serving.nodes import with_model_folders
from runner.serving.retrieved_passages import Passage, best_passages, prompt_passages
from runner.serving.served_graph import ServedGraph, build_cell, served_graph


@dataclass(frozen=True)
class PipelineAnswer:
    """An answer, with the passages that the model read, in their order, and the search queries.

    `state` is "ok", "truncated", "empty" or "refused": see `components.records.AnswerState`. Tokens are counted by the
    model's provider, None if it counts none.
    """

    text: str
    state: str
    passages: tuple[Passage, ...]
    queries: tuple[str, ...]
    thoughts: str
    n_prompt_tokens: int | None
    n_completion_tokens: int | None

    def as_record(self) -> dict[str, Json]:
        """Return all fields as JSON values."""
        return asdict(self)


class Pipeline:
    """Answers one question at a time. Any number of threads may ask."""

    def __init__(self, folder: Path, description: Description, *, trust: bool = False) -> None:
        """Load the pipeline from `folder`, which has the cached stages. Raises RagGridError if it cannot be used, or
        without `trust` if it runs third-party code.
        """
        require_trust(description, str(folder), trust=trust)
        self.description = description
        nodes = with_model_folders(description.components, description.model_folders, folder)
        data, pool = data_facts(description.data), description.pool
        self._cell = build_cell(nodes, description.plugins)
        chosen: Mapping[str, str | None] = description.rerankers or {"": None}
        self._graphs = {
            subset: served_graph(self._cell, data, data_facts(pool) if pool else None, reranker)
            for subset, reranker in chosen.items()
        }
        needed = graph_stages(list(self._graphs.values()))
        self._cached = CachedStages(folder, needed, description.stage_files)
        self._choices = Choices(
            [subset for subset in self._graphs if subset], data.corpus_prefixes, _reads_conditions(self._cell)
        )
        self._lock = threading.Lock()
        self._tracer = build_tracer(description.sweep_id, description.cell_id)
        keep_all_models()

    @property
    def has_model(self) -> bool:
        """False for a pipeline that searches and does not answer (llm=none)."""
        return self._cell.llm.answers_from is not AnswersFrom.NOTHING

    def answer(self, question: str | Question, **options: Unpack[QuestionOptions]) -> PipelineAnswer:
        """Answer a question. `options` are the fields of `Question`: `answer("And who?", history=[(q, a)])`.

        Raises DataError for an invalid question or option, LLMError if the model gave no answer, and the errors of
        components.
        """
        sample = self._as_sample(question, options)
        if not self.has_model:
            raise DataError("this pipeline has no language model (llm=none), so it can only search")
        graph = self._graph(sample)
        with self._lock, self._tracer.question(sample) as span:
            answer = self._build_answer(graph, self._run(graph, sample))
            span.set({"output.value": answer.text, "output.mime_type": "text/plain", "rag_grid.state": answer.state})
            return answer

    def search(
        self, question: str | Question, n: int | None = None, **options: Unpack[QuestionOptions]
    ) -> tuple[Passage, ...]:
        """Return the passages found for a question, best first: `n`, or as many as the prompt contains.

        Raises DataError for an invalid question or option, and the errors of components.
        """
        if n is not None and n < 1:
            raise DataError(f"n: got {n}, expected at least 1 passage")
        sample = self._as_sample(question, options)
        graph = self._graph(sample)
        if graph.search is None:
            raise DataError("this pipeline does not search (retriever=closed_book). Use `answer`.")
        with self._lock, self._tracer.span("search", "RETRIEVER", {"input.value": sample.question}) as span:
            passages = best_passages(graph.search, self._run(graph, sample), n or self._cell.top_k)
            span.set_passages(passages)
            return passages

    def run_sample(self, sample: Sample) -> tuple[ServedGraph, QuestionRun]:
        """Return the stages for a sample and their computation, for comparing results."""
        graph = self._graph(sample)
        return graph, self._run(graph, sample)

    def _build_answer(self, graph: ServedGraph, run: QuestionRun) -> PipelineAnswer:
        search, passages, queries = graph.search, tuple[Passage, ...](), tuple[str, ...]()
        if search:
            with self._tracer.span("search", "RETRIEVER", {}) as span:
                passages = prompt_passages(search, run)
                queries = tuple(text for stage in search.queries for text in run.read(stage).texts)
                span.set({"input.value": "\n".join(queries)})
                span.set_passages(passages)
        model = str(getattr(self._cell.llm, "model", type(self._cell.llm).__name__))
        with self._tracer.span("generate", "LLM", {"llm.model_name": model}) as span:
            (answer,) = run.read(graph.answers)
            if answer.state is AnswerState.ERROR:
                raise LLMError(f"the language model gave no answer: {answer.error}")
            span.set(
                {
                    "output.value": answer.text,
                    "llm.token_count.prompt": answer.n_prompt_tokens,
                    "llm.token_count.completion": answer.n_completion_tokens,
                }
            )
        return PipelineAnswer(
            answer.text,
            answer.state.value,
            passages,
            queries,
            answer.thoughts,
            answer.n_prompt_tokens,
            answer.n_completion_tokens,
        )

    def _as_sample(self, question: str | Question, options: QuestionOptions) -> Sample:
        try:
            full_question = question if isinstance(question, Question) else Question(question, **options)
        except TypeError as error:
            raise DataError(f"got an unknown option ({error}). The options are {_OPTIONS}.") from error
        return as_sample(full_question, self.description.question_defaults, self._choices)

    def _graph(self, sample: Sample) -> ServedGraph:
        return self._graphs.get(sample.subset.split("/")[0]) or self._graphs[""]

    def _run(self, graph: ServedGraph, sample: Sample) -> QuestionRun:
        return QuestionRun(self._cached, {graph.samples.key: SampleSet((sample,), {})})


_OPTIONS = ", ".join(name for name in Question.__dataclass_fields__ if name != "text")


def load_pipeline(folder: str | Path, *, trust: bool = False) -> Pipeline:
    """Load the pipeline from a folder that `python -m runner.export` wrote.

    Without `trust`, no program and no package that the folder names is run. Raises RagGridError if the folder cannot be
    used.
    """
    return load_folder(Path(folder) / PIPELINE, trust=trust)


def load_folder(root: Path, *, trust: bool) -> Pipeline:
    """Load the pipeline from the folder that contains `pipeline.json`.

    Raises RagGridError if the folder cannot be used, or needs `trust`.
    """
    description = read_description(root)
    try:
        return Pipeline(root, description, trust=trust)
    except (*MANIFEST_ERRORS, StopIteration, RuntimeError) as error:  # values fit their types and not each other
        raise DataError(
            f"{root}: cannot be loaded ({type(error).__name__}: {error}). Export the cell again."
        ) from error


def graph_stages(graphs: Sequence[ServedGraph]) -> list[AnyStage]:
    """Return the cached stages that any of the graphs needs, each once."""
    by_key = {stage.key: stage for graph in graphs for stage in needed_stages(graph.targets, graph.samples)}
    return list(by_key.values())


def _reads_conditions(cell: Cell) -> bool:
    return bool(cell.filter) and not cell.filter.is_open
