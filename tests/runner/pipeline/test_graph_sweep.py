"""A sweep with a graph of facts: planned, requested once, killed and resumed, with failures reported."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError
from components.llms.openai_chat import OpenAIChat
from components.prices import Price, PriceList, Prices
from components.retrievers.graph import GraphSearch
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from runner.output.money import usage_fields
from tests.embedders.test_openai_embeddings import embeddings, vectors_of
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.pipeline.fixed import FACTS, LetterCounts, fixed_cell
from tests.runner.pipeline.test_graph_search import GRAPH
from tests.runner.sweeping import (
    FEW_METRICS,
    QUIET,
    RANKING_ONLY,
    cells_in,
    end_group,
    environment,
    own_data,
    plan_small,
    run_command,
    run_small,
    samples_in,
    small_request,
    start_command,
    wait_until,
)

TEXTS = {
    "bridge": "The Ostrel bridge was designed by Mara Linde. It is red.",
    "designer": "Mara Linde was born in Tavik. She never saw the sea.",
    "town": "Tavik lies on a river that is called Sorn.",
    "mill": "The mill ground corn. Bridges of wood were near it.",
    "lake": "The lake of Velm is deep, and no river leaves it.",
}
SAMPLES = [
    {"id": "1", "question": "Where was the designer of the Ostrel bridge born?", "references": ["Tavik"],
     "gold": [{"document": own} for own in ("bridge", "designer")]},
    {"id": "2", "question": "What did the mill grind?", "references": ["corn"], "gold": [{"document": "mill"}]},
]  # fmt: skip
STATED = {
    "The Ostrel bridge": ["Ostrel bridge", "was designed by", "Mara Linde"],
    "Mara Linde was born": ["Mara Linde", "was born in", "Tavik"],
    "Tavik lies": ["Tavik", "lies on", "Sorn"],
}


def reply(request: dict[str, Any], attempt: int = 1) -> Reply:
    if "input" in request:
        return embeddings(vectors_of(request["input"]))
    asked = last_message(request)
    if '"facts"' not in asked:
        return Reply(asked[-40:])
    facts = [fact for beginning, fact in STATED.items() if beginning in asked]
    return Reply(json.dumps({"facts": facts}))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(reply) as running:
        yield running


def cell(folder: Path, server: ChatServer, *own: str) -> list[str]:
    model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.max_retries=0", f"llm.base_url={server.url}"]
    fixed = [*own_data(folder, TEXTS, SAMPLES), *model, *FEW_METRICS, "language=en", "retriever=graph"]
    return [*fixed, "embedder=hashing", "expander=none", "top_k=3", "chunk.unit=char", "chunk.size=60", *own]


def scripted(folder: Path, *own: str) -> list[str]:
    small = ["chunk.unit=char", "chunk.size=60", "tokenizer=english", "embedder=hashing", "llm=scripted", "top_k=3"]
    return [*own_data(folder, TEXTS, SAMPLES), *RANKING_ONLY, *small, "retriever=graph", *own]


def asked_for_facts(server: ChatServer) -> list[str]:
    return [text for text in map(last_message, server.requests) if '"facts"' in text]


def test_graph_sweep_asks_about_every_chunk_as_planned(tmp_path: Path, server: ChatServer) -> None:
    own = cell(tmp_path, server)
    (planned,) = [count for count in plan_small(tmp_path, own).plan.requests if count.kind == "asked_facts"]
    assert (planned.n_requests, planned.is_exact, planned.n_with_repeats) == (5, True, 15)
    assert planned.title == "facts by a language model"
    assert run_small(tmp_path, own) == EXIT_OK
    assert len(asked_for_facts(server)) == 5
    (found,) = cells_in(tmp_path)
    assert (found.judges["graph"]["n_judged"], found.judges["graph"]["n_unparsable"]) == (5, 0)
    facts = found.steps["retriever"]
    assert {name: facts[name] for name in ("n_facts", "n_phrases", "n_chunks_without_facts", "n_requests")} == {
        "n_facts": 3,
        "n_phrases": 4,
        "n_chunks_without_facts": 2,
        "n_requests": 5,
    }
    assert facts["n_prompt_tokens"] == found.usage["graph"]["n_prompt_tokens"] == 35
    assert found.tokens["graph_completion"] == facts["n_completion_tokens"]
    assert "asked_facts" not in plan_small(tmp_path, own).plan.summary()["requests"], "kept"
    more = [*own, "retriever.graph.n_facts=2", "retriever.depth=4"]
    assert "asked_facts" not in plan_small(tmp_path, more).plan.summary()["requests"]
    story = run_command(tmp_path, "samples", str(tmp_path / "results" / "a-sweep"), "best", module="analysis").stdout
    assert "graph 1" in story


def test_killed_graph_sweep_repeats_no_reply_and_finds_the_same_hits(tmp_path: Path, server: ChatServer) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    own = [*cell(tmp_path, server), *QUIET, "metrics.interval.n_resamples=100", "run.results_dir=results"]
    assert run_command(whole, *own).returncode == 0
    n_whole = len(server.requests)
    server.requests.clear()
    server.script = lambda request, attempt: replace(reply(request), delay_s=0.1)
    process = start_command(killed, *own, "llm.concurrency=1")
    wait_until(lambda: len(server.requests) >= 3, process)
    end_group(process, signal.SIGKILL)
    process.communicate(timeout=60)
    assert len(asked_for_facts(server)) == len(server.requests) < n_whole
    again = run_command(killed, *own)
    assert again.returncode == 0, again.stderr
    assert len(server.requests) <= n_whole + 1, "only the request of the moment is sent again"
    hits = [[row["retrieved"] for row in _rows(folder)] for folder in (whole, killed)]
    assert hits[0] == hits[1]


def _rows(folder: Path) -> list[dict[str, Any]]:
    (sweep,) = {path.parent.parent.name for path in folder.glob("results/*/*/cell.json")}
    return samples_in(folder, sweep)


def test_exported_graph_asks_for_no_facts(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, cell(tmp_path, server)) == EXIT_OK
    sweep, out = tmp_path / "results" / "a-sweep", tmp_path / "out"
    exported = run_command(tmp_path, str(sweep), "best", "--out", str(out), module="runner.export")
    assert exported.returncode == 0, exported.stderr
    server.requests.clear()
    question = "Where was the designer of the Ostrel bridge born?"
    command = [sys.executable, str(out / "pipeline.py"), question, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 1, "the answer alone"
    assert asked_for_facts(server) == []
    found = [hit["document_id"] for hit in samples_in(tmp_path)[0]["retrieved"][:3]]
    assert all(document in done.stdout for document in found)


def test_failed_and_unreadable_fact_replies_fail_the_cell(tmp_path: Path) -> None:
    cells = {
        "failed": ["llm.error_on=Velm", "llm.reply='{\"facts\": []}'"],
        "unread": ["llm.truncate_on=Velm", "llm.reply='{\"facts\": []}'"],
        "allowed": ["llm.truncate_on=Velm", "llm.reply='{\"facts\": []}'", "run.max_unparsable_rate=0.2"],
    }
    codes = {name: run_small(tmp_path, scripted(tmp_path, *own), sweep_id=name) for name, own in cells.items()}
    assert codes == {"failed": EXIT_CELL_FAILED, "unread": EXIT_CELL_FAILED, "allowed": EXIT_OK}
    (failed,), (unread,), (allowed,) = (cells_in(tmp_path, name) for name in cells)
    assert failed.reason.startswith("1 of 5 lists of facts of the graph failed, more than run.max_failure_rate=0")
    assert unread.reason.startswith("1 of 5 lists of facts of the graph could not be read, more than run.max_unparsa")
    assert allowed.judges["graph"]["n_unparsable"] == 1
    for row in samples_in(tmp_path, "allowed"):
        assert {hit["document_id"] for hit in row["retrieved"]} == set(TEXTS), "a chunk without facts is found, too"


def test_extractor_without_a_language_model_is_reported_before_work() -> None:
    more = "+retriever/arm@retriever.searches.facts=graph"
    for own, place in ((["retriever=graph"], "retriever"), (["retriever=arms", more], "retriever.searches.facts")):
        with pytest.raises(ConfigError) as raised:
            small_request(*own, "llm=extractive")
        (problem,) = raised.value.problems
        assert problem.startswith(f"{place}.extractor: got Extractive to write facts, expected a language model")
        assert f"+llm@{place}.extractor.llm=openai" in problem
        assert small_request(*own, "llm=extractive", f"+llm@{place}.extractor.llm=scripted")


@pytest.mark.parametrize(("language", "words"), [("en", "List the facts"), ("zh", "请列出"), ("fr", "List the facts")])
def test_fact_wording_follows_the_language(language: str, words: str) -> None:
    retriever = small_request("retriever=graph", "llm=scripted", f"language={language}").cell.retriever
    assert isinstance(retriever, GraphSearch)
    assert words in str(getattr(retriever.extractor, "instruction", ""))


def test_fact_vector_requests_are_counted_once_the_facts_are_stored(tmp_path: Path, server: ChatServer) -> None:
    of_embedder = ("model=m", f"base_url={server.url}", "api_key_env=''", "batch_size=20", "concurrency=1")
    own = cell(tmp_path, server, "embedder=openai", *(f"embedder.{field}" for field in of_embedder))
    own = [override for override in own if override != "embedder=hashing"]
    kinds = {count.kind for count in plan_small(tmp_path, own).plan.requests}
    assert "fact_vectors" not in kinds
    assert run_small(tmp_path, cell(tmp_path, server), sweep_id="facts") == EXIT_OK
    counts = {count.kind: count for count in plan_small(tmp_path, own).plan.requests}
    assert "asked_facts" not in counts
    assert counts["fact_vectors"].n_requests == 2, "of facts and of phrases"
    n_before = len(server.requests)
    assert run_small(tmp_path, own, sweep_id="vectors") == EXIT_OK
    sent = [request["input"] for request in server.requests[n_before:] if "input" in request]
    assert ["mara linde", "ostrel bridge", "sorn", "tavik"] in sent
    assert any("ostrel bridge was designed by mara linde" in texts for texts in sent)


def test_graph_cost_is_the_price_of_its_model() -> None:
    prices = Prices("USD", {"list": PriceList("2026-01-01", "", {"m": Price(2.0)})})
    usage = {"graph": {"n_requests": 8, "n_prompt_tokens": 10**6, "n_completion_tokens": 0, "n_cached_tokens": 0}}
    for model, cost in (("m", 2.0), ("o", None)):
        search = GraphSearch(LetterCounts(), replace(FACTS, llm=OpenAIChat(model)), GRAPH)
        assert usage_fields(usage, fixed_cell(retriever=search, prices=prices))["cost"] == cost


def test_graph_sweep_over_the_demo_reads_each_chunk_once(tmp_path: Path) -> None:
    """A scripted model states one fact for every chunk; with arms and expanders, it reads each chunk once."""
    reply_text = 'llm.reply=\'{"facts": [["Tern 25", "belongs to", "Kestrel"]], "texts": ["{question}"]}\''
    common = ["dataset=demo_en", "dataset.limit=20", "llm=scripted", reply_text, *RANKING_ONLY]
    arms = ["retriever=arms", "+retriever/arm@retriever.searches.facts=graph"]
    cells = [[*common, "retriever=graph"], [*common, *arms], [*common, "retriever=graph", "expander=paraphrase"]]
    assert run_small(tmp_path, *cells) == EXIT_OK
    found = cells_in(tmp_path)
    assert len(found) == 3
    assert len({own.steps["retriever"]["n_requests"] for own in found}) == 1
    assert all(own.steps["retriever"]["n_facts"] == 1 for own in found)
    assert all(0 < (own.value("recall@10") or 0) <= 1 for own in found)
