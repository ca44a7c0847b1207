"""A stage names exactly the models that it needs in memory. The plan runs stages with equal models together."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from components.llms.openai_chat import OpenAIChat
from components.metrics.bert_score import BertScore
from components.rerankers.lexical import LexicalCoverage
from components.tokenizers.character_bigrams import CharacterBigrams
from runner.engine.plan import make_plan
from runner.engine.store import Store
from runner.pipeline.cell import Cell
from runner.pipeline.cell_graph import Graph
from runner.pipeline.settings import MetricSettings
from tests.runner.pipeline.fixed import fixed_cell, graph_in, judge

MODEL = OpenAIChat("generator", api_key_env="")
JUDGE = OpenAIChat("judge", api_key_env="")
BERT = BertScore("some/encoder", "0123456789", num_layers=2)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def cell_with_models() -> Cell:
    cell = fixed_cell(llm=MODEL, reranker=LexicalCoverage(tokenizer=CharacterBigrams()), judge=judge(JUDGE))
    return replace(cell, metrics=MetricSettings({**cell.metrics.scores, "bert_score": BERT}, cell.metrics.interval))


def models(graph: Graph) -> Mapping[str, set[frozenset[str]]]:
    found: dict[str, set[frozenset[str]]] = {}
    for stage in graph.result.upstream():
        found.setdefault(stage.kind, set()).add(stage.models)
    return found


def test_stages_of_generators_judges_and_metrics_name_their_models(store: Store) -> None:
    found = models(graph_in(store, cell_with_models()))
    (generator,) = found["answers"]
    (of_judge,) = found["judged_scores"]
    of_metrics = found["answer_scores"]
    assert found["judge_preparation"] == {of_judge}
    assert len(of_metrics) == 2, "BERTScore is scored in a stage of its own"
    assert frozenset() in of_metrics
    (bert,) = of_metrics - {frozenset()}
    assert [len(names) for names in (generator, of_judge, bert)] == [1, 1, 1]
    assert len({generator, of_judge, bert}) == 3


def test_stages_without_a_model_name_no_model(store: Store) -> None:
    found = models(graph_in(store, cell_with_models()))
    with_models = {"answers", "judge_preparation", "judged_scores", "answer_scores"}
    assert {kind for kind, of_kind in found.items() if any(of_kind)} == with_models
    assert {"sparse_index", "sparse_hits", "reranked_hits", "answer_units", "result"} <= found.keys() - with_models


def test_stages_of_one_model_run_together(store: Store) -> None:
    graphs = [graph_in(store, replace(cell_with_models(), top_k=top_k)) for top_k in (1, 2, 3)]
    order = make_plan([(graph.result, 1) for graph in graphs], store).order
    with_models = [stage.models for stage in order if stage.models]
    changes = sum(one != other for one, other in pairwise(with_models))
    assert len(set(with_models)) == 3
    assert changes == 2, "every model is loaded once"
