"""Documents and headers that a language model writes: planned, requested once, and reported if a request fails."""

from pathlib import Path

import pytest

from components.errors import ConfigError
from components.llms.openai_chat import OpenAIChat
from components.prices import Price, PriceList, Prices
from components.refiners.combined import Combined
from components.refiners.summaries import Summaries
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from runner.output.money import usage_fields
from runner.pipeline.corpus.refined_corpora import LLMCorpus
from tests.runner.pipeline.fixed import fixed_cell
from tests.runner.sweeping import RANKING_ONLY, cells_in, own_data, plan_small, run_small, samples_in, small_request

TEXTS = {
    "bridge": "The bridge was opened in 1932. It crosses the river in the east.",
    "harbour": "The harbour is deep. Ships from the north land there.",
}
SAMPLE = {"id": "1", "question": "When was the bridge opened?", "references": ["1932"], "gold": ["bridge"]}


def options(folder: Path) -> list[str]:
    small = ["chunk.unit=char", "chunk.size=35", "tokenizer=english", "llm=scripted", "top_k=9", "retriever.depth=9"]
    return [*own_data(folder, TEXTS, [SAMPLE]), *RANKING_ONLY, *small]


def test_summaries_are_searched_and_reported_in_original_texts(tmp_path: Path) -> None:
    own = [*options(tmp_path), "refiner=summary", "+llm@refiner.llm=scripted", "refiner.llm.reply='Opened {question}'"]
    plan = plan_small(tmp_path, own)
    (stage,) = [stage for stage in plan.cells[0].graph.result.upstream() if isinstance(stage, LLMCorpus)]
    assert stage.n_requests == 2
    assert plan.plan.summary()["requests"]["asked_corpus"] == 2
    assert run_small(tmp_path, own) == EXIT_OK
    (cell,) = cells_in(tmp_path)
    assert (cell.judges["refiner"]["n_judged"], cell.judges["refiner"]["n_failed"]) == (2, 0)
    assert cell.steps["refiner"]["n_summaries"] == 2
    assert cell.value("passage_coverage") == 1.0
    found = samples_in(tmp_path)[0]["retrieved"]
    assert [(hit["document_id"], hit["start"], hit["end"]) for hit in found[:1]] == [("bridge", 0, 64)]
    assert "asked_corpus" not in plan_small(tmp_path, own).plan.summary()["requests"], "kept"


def test_refiner_cost_is_the_price_of_the_models_of_its_steps() -> None:
    prices = Prices("USD", {"list": PriceList("2026-01-01", "", {"m": Price(2.0)})})
    usage = {"refiner": {"n_requests": 8, "n_prompt_tokens": 10**6, "n_completion_tokens": 0, "n_cached_tokens": 0}}
    for models, cost in (("m", 2.0), ("mm", 2.0), ("mo", None)):
        known = {f"{n}": Summaries(OpenAIChat(model), "", "{text}", "Again.") for n, model in enumerate(models)}
        cell = fixed_cell(refiner=Combined(OpenAIChat("o"), known, tuple(known)), prices=prices)
        assert usage_fields(usage, cell)["cost"] == cost


def test_header_sweep_asks_about_every_chunk_as_planned(tmp_path: Path) -> None:
    own = [*options(tmp_path), "header=contextual", "+llm@header.llm=scripted", "header.llm.reply=about a zebra"]
    plan = plan_small(tmp_path, own)
    assert plan.plan.summary()["requests"]["asked_headers"] == 4
    assert run_small(tmp_path, own) == EXIT_OK
    (cell,) = cells_in(tmp_path)
    assert cell.judges["header"]["n_judged"] == 4
    assert not any("zebra" in row["prompt"] for row in samples_in(tmp_path))


def test_header_requests_for_unwritten_documents_are_estimated(tmp_path: Path) -> None:
    own = [*options(tmp_path), "header=contextual", "refiner=summary", "refiner.llm.reply='Opened {question}.'"]
    own += [f"+llm@{step}.llm=scripted" for step in ("refiner", "header")]
    (counts,) = [count for count in plan_small(tmp_path, own).plan.requests if count.kind == "asked_headers"]
    assert (counts.n_requests, counts.is_exact) == (4, False)
    assert run_small(tmp_path, own) == EXIT_OK
    (cell,) = cells_in(tmp_path)
    assert cell.judges["header"]["n_judged"] == 2
    changed = [*own, "header.llm.reply=Two."]
    (counts,) = [count for count in plan_small(tmp_path, changed).plan.requests if count.kind == "asked_headers"]
    assert (counts.n_requests, counts.is_exact) == (2, True), "the documents are kept by now"


def test_failed_header_and_summary_requests_fail_the_cell(tmp_path: Path) -> None:
    own = [*options(tmp_path), "header=contextual", "+llm@header.llm=scripted", "header.llm.error_on=harbour"]
    assert run_small(tmp_path, own) == EXIT_CELL_FAILED
    (cell,) = cells_in(tmp_path)
    assert cell.reason.startswith("1 of 4 texts of the header failed, more than run.max_failure_rate=0 allows")
    own = [*options(tmp_path), "refiner=summary", "+llm@refiner.llm=scripted", "refiner.llm.empty_on=harbour"]
    assert run_small(tmp_path, own, sweep_id="unread") == EXIT_CELL_FAILED
    (cell,) = cells_in(tmp_path, "unread")
    assert cell.reason.startswith("1 of 2 documents of the refiner could not be read, more than run.max_unparsable")


@pytest.mark.parametrize("step", ["refiner", "header"])
def test_writer_without_a_language_model_is_reported_before_work(step: str) -> None:
    own = {"refiner": ["refiner=combined", "refiner.use=[dedupe,summary]"], "header": ["header=contextual"]}[step]
    with pytest.raises(ConfigError) as raised:
        small_request(*own, "llm=extractive")
    (problem,) = raised.value.problems
    assert f"{step}: got Extractive to write" in problem
    assert f"+llm@{step}.llm=openai" in problem
    assert small_request(*own, "llm=extractive", "retriever=closed_book")
    assert small_request("refiner=combined", "llm=extractive"), "the summary is not in use"


def test_unknown_refiner_is_one_error() -> None:
    with pytest.raises(ConfigError) as raised:
        small_request("refiner=combined", "refiner.use=[dedup]")
    assert raised.value.problems == (
        "refiner.use: got 'dedup', expected one of dedupe, headings, tables, summary; did you mean dedupe?",
    )
