"""Queries that a language model writes: requested once, shared by cells, and reported if they are missing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError
from components.expanders.combined import Combined
from components.expanders.history import ConversationHistory
from components.expanders.none import NoExpander
from components.expanders.written import WrittenQueries
from components.fusions.rrf import ReciprocalRank
from components.llms.extractive import Extractive
from components.llms.openai_chat import OpenAIChat
from components.llms.scripted import Scripted
from components.prices import Price, PriceList, Prices
from components.rerankers.lexical import LexicalCoverage
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from runner.output.money import usage_fields
from runner.pipeline.cell_graph import Graph
from runner.pipeline.component_conflicts import combination_problems
from runner.pipeline.ranking.rerank_stages import RerankedHits
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.pipeline.fixed import CELLS, bm25, fixed_cell, graph_in
from tests.runner.sweeping import RANKING_ONLY, cells_in, plan_small, run_small, samples_in, small_request


def reply_with_two_texts(request: dict[str, Any], attempt: int = 1) -> Reply:
    """Reply like a model that finds two texts in a question."""
    question = question_in(last_message(request))
    return Reply(json.dumps({"texts": [question[:4], question[4:8]]}))


def question_in(shown: str) -> str:
    """The last line of the first paragraph."""
    return shown.split("\n\n")[0].splitlines()[-1]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(reply_with_two_texts) as running:
        yield running


@pytest.fixture
def options(server: ChatServer) -> list[str]:
    model = ["model=m", "api_key_env=''", "max_retries=0", f"base_url={server.url}"]
    own = [f"expander.llm.{value}" for value in model]
    return ["+llm@expander.llm=openai", *own, "dataset.limit=4", "llm=none", *RANKING_ONLY]


def stages_of_kind(graph: Graph, kind: type[Stage[Any]]) -> list[Any]:
    return [stage for stage in graph.result.upstream() if isinstance(stage, kind)]


def test_expander_requests_equal_the_plan_without_repeats(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    cells = [
        ["expander=paraphrase", *options],
        ["expander=combined", "expander.use=[paraphrase]", *options],
        ["expander=combined", "expander.use=[original,paraphrase,keywords]", *options],
        ["expander=combined", "expander.use=[original,keywords]", *options],
        [*options[-3:], "expander=none"],
    ]
    plan = plan_small(tmp_path, *cells).plan
    (count,) = plan.requests
    assert (count.kind, count.n_requests, count.is_exact) == ("asked_queries", 8, True)
    stages = {kind.kind: kind.n_unique for kind in plan.kinds}
    assert (stages["asked_queries"], stages["queries"], stages["sparse_hits"]) == (2, 1, 3), "shared by the cells"
    assert stages["result"] == 4, "of a single variant combined is that variant"
    assert run_small(tmp_path, *cells) == EXIT_OK
    assert len(server.requests) == 8
    alone, three, *_ = cells_in(tmp_path)
    told = {"n_unparsable": 0, "commonest": "", "n_failed": 0, "commonest_error": ""}
    assert alone.judges == {"expander": {"n_judged": 4, **told}}
    assert three.judges == {"expander": {"n_judged": 8, **told}}
    assert three.usage["expander"]["n_requests"] == 8
    assert three.tokens["expander_prompt"] == 8 * 7
    assert run_small(tmp_path, *cells, sweep_id="again") == EXIT_OK
    assert len(server.requests) == 8


def test_expander_cost_is_known_only_with_a_single_model() -> None:
    prices = Prices("USD", {"list": PriceList("2026-01-01", "", {"m": Price(2.0)})})
    usage = {"expander": {"n_requests": 8, "n_prompt_tokens": 10**6, "n_completion_tokens": 0, "n_cached_tokens": 0}}
    for models, cost in (("mm", 2.0), ("mo", None)):
        known = {f"{n}": replace(written(n_texts=n + 1), llm=OpenAIChat(model)) for n, model in enumerate(models)}
        cell = fixed_cell(expander=Combined(Scripted(), known, tuple(known)), prices=prices)
        assert usage_fields(usage, cell)["cost"] == cost


def test_every_expanded_text_is_searched_and_recorded(tmp_path: Path, options: list[str]) -> None:
    assert run_small(tmp_path, ["expander=paraphrase", *options]) == EXIT_OK
    for row in samples_in(tmp_path):
        assert row["query"].split("\n") == [row["question"][:4], row["question"][4:8]]


def test_unusable_expansion_searches_the_question(tmp_path: Path, options: list[str], server: ChatServer) -> None:
    questions: list[str] = []

    def partly(request: dict[str, Any], attempt: int) -> Reply:
        question = question_in(request["messages"][1]["content"])
        questions.append(question)
        if question == questions[0]:
            return Reply(status=400)
        return Reply("Gladly!") if question == questions[1] else reply_with_two_texts(request)

    server.script = partly
    own = ["expander=step_back", *options, "expander.llm.concurrency=1"]
    assert run_small(tmp_path, own) == EXIT_CELL_FAILED
    (cell,) = cells_in(tmp_path)
    assert cell.reason.startswith("1 of 4 queries of the expander failed, more than run.max_failure_rate=0 allows")
    assert "; 1 of 4 queries of the expander could not be read" in cell.reason
    searched = {row["question"]: row["query"] for row in samples_in(tmp_path)}
    assert sorted(question for question, query in searched.items() if question == query) == sorted(set(questions[:2]))
    server.script = reply_with_two_texts
    asked = len(server.requests)
    assert run_small(tmp_path, [*own, "run.max_unparsable_rate=1"], sweep_id="again") == EXIT_OK
    assert len(server.requests) == asked + 1, "the failed one alone"


def written(**fields: Any) -> WrittenQueries:
    return WrittenQueries(Scripted(), "", "{question}", "Again.", **fields)


def cell_graph(tmp_path: Path, **fields: Any) -> Graph:
    return graph_in(Store(tmp_path), fixed_cell(**{"retriever": bm25(), **fields}))


def test_expander_without_a_language_model_is_rejected_before_the_run() -> None:
    with pytest.raises(ConfigError, match=r"expected a language model: for the cell .* or only for expander"):
        small_request("expander=keywords", "llm=extractive")
    small_request("expander=combined", "expander.use=[original,history]", "llm=extractive")


@pytest.mark.parametrize("name", ["closed book", "oracle", "given passages"])
def test_expander_without_a_search_is_ignored(tmp_path: Path, name: str) -> None:
    extractive = replace(written(), llm=Extractive())
    assert combination_problems(2, fixed_cell(**CELLS[name]).retriever, extractive) == []
    graph, plain = (cell_graph(tmp_path, **CELLS[name], expander=own) for own in (extractive, NoExpander()))
    assert graph.result.key == plain.result.key


@pytest.mark.parametrize(
    ("expander", "reads"),
    [(written(), "queries"), (written(n_texts=2), "queries"), (written(reranker_reads=True), "asked_queries")],
)
def test_reranker_reads_the_rewritten_question_or_the_original(
    tmp_path: Path, expander: WrittenQueries, reads: str
) -> None:
    graph = cell_graph(tmp_path, expander=expander, reranker=LexicalCoverage(depth=3))
    (stage,) = stages_of_kind(graph, RerankedHits)
    assert stage.queries.queries.kind == reads


def test_asking_expander_changes_only_stages_that_read_queries(tmp_path: Path) -> None:
    plain, asked = (cell_graph(tmp_path, expander=own) for own in (NoExpander(), written()))
    before, after = ({stage.key: stage.kind for stage in graph.result.upstream()} for graph in (plain, asked))
    assert {(before | after)[key] for key in before.keys() ^ after.keys()} == {
        "queries", "asked_queries", "query_words", "sparse_hits", "sample_hits", "ranking_scores", "context",
        "context_scores", "prompts", "answers", "answer_units", "answer_scores", "result",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("variants", "kind"),
    [
        ([written(n_texts=2)], "fused_hits"),
        ([written(), NoExpander()], "fused_hits"),
        ([written()], "sample_hits"),
        ([NoExpander()], "sample_hits"),
        ([ConversationHistory()], "sample_hits"),
    ],
)
def test_fusion_runs_only_with_several_queries(tmp_path: Path, variants: list[Any], kind: str) -> None:
    known = {str(number): variant for number, variant in enumerate(variants)}
    retriever = replace(bm25(), fusion=ReciprocalRank(weights=(1.0,)))
    graph = cell_graph(tmp_path, retriever=retriever, expander=Combined(Scripted(), known, tuple(known)))
    assert {stage.kind for stage in graph.result.upstream()} & {"fused_hits", "sample_hits"} == {kind}


@pytest.mark.parametrize("retriever", ["bm25", "dense"])
def test_single_search_retrievers_have_a_fusion_for_variants(retriever: str) -> None:
    request = small_request(f"retriever={retriever}", "expander=combined", "llm=scripted")
    assert request.cell.retriever.fusion is not None
