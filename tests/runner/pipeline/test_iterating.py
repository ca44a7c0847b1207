"""Iterative searches, held against a loop of plain searches, and what kills, plans and reports make of them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import pytest

from components.errors import ComponentError, ConfigError
from components.iterations.asked import AskedSearches
from components.llms.scripted import Scripted
from components.records import NextSearch
from runner.engine.store import Store
from runner.launch.sweep import EXIT_OK
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.pipeline.fixed import bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import (
    FEW_METRICS,
    cells_in,
    own_data,
    plan_small,
    read_or_make,
    run_command,
    run_small,
    samples_in,
)

TEXTS = {
    "bridge": "The Ostrel bridge was designed by Mara Linde.",
    "designer": "Mara Linde was born in Tavik, far from any bridge.",
    "town": "Tavik lies on the river Sorn.",
    "mill": "The Ostrel mill ground corn on the river Bel.",
    "lake": "The lake of Velm is deep, and no river leaves it.",
    "owner": "The mill was owned by Jon Harrow.",
}
SAMPLES = [
    {"id": "1", "question": "On which river lies the town of birth of the designer of the Ostrel bridge?",
     "references": ["Sorn"], "gold": [{"document": own} for own in ("bridge", "designer", "town")]},
    {"id": "2", "question": "What did\nthe Ostrel mill grind?", "references": ["corn"], "gold": [{"document": "mill"}]},
    {"id": "3", "question": "Is the lake of Velm deep?", "references": ["yes"], "gold": [{"document": "lake"}]},
]  # fmt: skip
NEXT = {"Ostrel bridge?": ["Where was Mara Linde born?", "Tavik river"], "mill grind?": ["Who owned the mill?"]}
"""The queries of a model after each search, by the end of the question, which has one line. Then it is done."""


def wanted(prompt: str) -> str:
    """The next query of the model that reads this prompt, "" if it is done."""
    question = prompt.split("The question:\n")[1].split("\n")[0]
    queries = next((own for end, own in NEXT.items() if question.endswith(end)), [])
    return next((query for query in queries if query not in prompt), "")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    def reply(request: dict[str, Any], attempt: int) -> Reply:
        asked = last_message(request)
        if '"searches"' in asked:
            needed = "several" if "Ostrel bridge" in asked else "none" if "Velm" in asked else "one"
            return Reply(json.dumps({"searches": needed}))
        if '"next"' in asked:
            query = wanted(asked)
            return Reply(json.dumps({"thought": "So.", "next": query, "done": not query}))
        return Reply(asked[-40:])

    with chat_server(reply) as running:
        yield running


def cell(tmp_path: Path, server: ChatServer, *own: str, samples: Sequence[dict[str, Any]] = SAMPLES) -> list[str]:
    model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.max_retries=0", f"llm.base_url={server.url}"]
    fixed = [*own_data(tmp_path, TEXTS, samples), *model, *FEW_METRICS, "language=en", "retriever=bm25"]
    return [*fixed, "retriever.sparse_index.max_share_without_hits=1", "expander=none", "top_k=3", *own]


def asked_for_searches(server: ChatServer) -> list[str]:
    return [text for text in map(last_message, server.requests) if '"next"' in text or '"searches"' in text]


def retrieved_ids(row: dict[str, Any]) -> list[str]:
    return [hit["document_id"] for hit in row["retrieved"]]


def loop(tmp_path: Path, server: ChatServer, n_searches: int, n_passages: int) -> dict[str, list[str]]:
    """Documents by question, from plain searches of one question after another."""
    ranked = {}
    for sample in SAMPLES:
        query, read, rankings, steps = sample["question"], list[str](), list[list[str]](), list[str]()
        for number in range(n_searches):
            sweep_id = f"plain-{sample['id']}-{number}"
            folder = tmp_path / sweep_id
            folder.mkdir()
            plain = cell(folder, server, "llm=none", samples=[{**sample, "question": query}])
            plain = [own for own in plain if not own.startswith("llm.")]
            assert run_small(tmp_path, plain, sweep_id=sweep_id) == EXIT_OK
            rankings.append(retrieved_ids(samples_in(tmp_path, sweep_id)[0]))
            read += [document for document in rankings[-1] if document not in read][:n_passages]
            prompt = "\n".join(["The question:", str(sample["question"]), *(TEXTS[own] for own in read), *steps])
            if not (query := wanted(prompt)):
                break
            steps.append(query)
        in_turn = chain.from_iterable(zip_longest(*rankings))
        ranked[str(sample["id"])] = list(dict.fromkeys(document for document in in_turn if document))
    return ranked


@pytest.mark.parametrize(("n_searches", "n_passages"), [(2, 1), (3, 2)])
def test_iterative_search_equals_a_loop_of_plain_searches(
    n_searches: int, n_passages: int, tmp_path: Path, server: ChatServer
) -> None:
    own = [f"iterative.max_searches={n_searches}", f"iterative.n_passages={n_passages}"]
    assert run_small(tmp_path, cell(tmp_path, server, "iterative=self_ask", *own)) == EXIT_OK
    rows = {row["id"]: retrieved_ids(row) for row in samples_in(tmp_path)}
    assert rows == loop(tmp_path, server, n_searches, n_passages)


def test_iterative_report_counts_gold_by_search(tmp_path: Path, server: ChatServer) -> None:
    cells = [cell(tmp_path, server, f"iterative={name}", "iterative.n_passages=1") for name in ("self_ask", "react")]
    assert run_small(tmp_path, *cells, cell(tmp_path, server, "iterative=none")) == EXIT_OK
    asked, thinking, plain = cells_in(tmp_path)
    expected = {"n_searches": 6, "n_samples_by_search": [3, 2, 1], "n_gold": 5, "n_gold_by_search": [3, 4, 5]}
    line = (
        "iterative: 2.0 searches per question; of 5 units of gold, 3 after search 1, 4 after search 2, 5 after search 3"
    )
    assert asked.steps["iterative"] == thinking.steps["iterative"] == expected | {"line": line}
    assert "iterative" not in plain.steps
    assert asked.judges["iterative"]["n_judged"] == 3 + 2 + 1 - 1
    for own in (asked, thinking):
        assert (
            own.metrics["overall"]["passage_coverage"]["value"]
            == 1
            > plain.metrics["overall"]["passage_coverage"]["value"]
        )


def test_iterative_samples_show_queries_thoughts_ranks_and_gold(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, cell(tmp_path, server, "iterative=react", "iterative.n_passages=1")) == EXIT_OK
    first, second, third = samples_in(tmp_path)
    assert first["searches"] == [
        {"query": SAMPLES[0]["question"], "thought": "", "gold": [0]},
        {"query": "Where was Mara Linde born?", "thought": "So.", "gold": [1]},
        {"query": "Tavik river", "thought": "So.", "gold": [2]},
    ]
    assert [own["query"] for own in second["searches"]] == [SAMPLES[1]["question"], "Who owned the mill?"]
    assert [own["query"] for own in third["searches"]] == [SAMPLES[2]["question"]]
    ranks = {hit["document_id"]: [hit[f"rank_search_{n}"] for n in (1, 2, 3)] for hit in first["retrieved"]}
    assert ranks["bridge"][0] == ranks["designer"][1] == ranks["town"][2] == 1
    assert all(hit["rank_search_2"] is None for hit in third["retrieved"])
    assert first["query"] == SAMPLES[0]["question"]


def test_sample_stories_show_each_search_with_its_gold(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, cell(tmp_path, server, "iterative=react", "iterative.n_passages=1")) == EXIT_OK
    sweep = tmp_path / "results" / "a-sweep"
    shown = run_command(tmp_path, "samples", str(sweep), "best", module="analysis").stdout
    assert f"1. {SAMPLES[0]['question']}: found gold 1" in shown
    assert "2. So. → Where was Mara Linde born?: found gold 2" in shown
    assert "2. So. → Who owned the mill?: no further gold" in shown
    assert "rank 2, sparse 4, search 1 rank 4, search 2 rank 1, search 3 rank 2, holds gold: designer:" in shown


def test_search_request_shows_new_passages_and_earlier_steps(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, cell(tmp_path, server, "iterative=ircot", "iterative.n_passages=1")) == EXIT_OK
    about = [text for text in asked_for_searches(server) if "Ostrel bridge" in text.split("The passages")[0]]
    assert len(about) == 2
    last = max(about, key=len)
    assert re.findall(r"^\[\d\] (.*)$", last, re.MULTILINE) == [TEXTS["bridge"], TEXTS["designer"]]
    assert "\nWhere was Mara Linde born?\n" in last
    assert all("Sorn\n" not in text.split("The passages")[0] for text in about)


def test_adaptive_iteration_searches_never_once_or_several_times(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, cell(tmp_path, server, "iterative=adaptive", "iterative.then.n_passages=1")) == EXIT_OK
    first, second, third = samples_in(tmp_path)
    assert [[own["thought"] for own in row["searches"]] for row in (first, second, third)] == [
        ["several", "", ""],
        ["one"],
        [],
    ]
    assert (retrieved_ids(third), third["score/context_tokens"]) == ([], 0)
    assert retrieved_ids(first)[:3] == ["bridge", "designer", "town"]
    (own,) = cells_in(tmp_path)
    assert own.steps["iterative"]["n_samples_by_search"] == [2, 1, 1]
    assert own.steps["iterative"]["n_gold_by_search"] == [2, 3, 4]


def test_search_requests_are_planned_shared_and_never_repeated(tmp_path: Path, server: ChatServer) -> None:
    cells = [cell(tmp_path, server, "iterative=self_ask", f"iterative.max_searches={n}") for n in (2, 3)]
    assert plan_small(tmp_path, *cells).plan.n_requests >= 2 * 3 + 2 * 3
    assert run_small(tmp_path, *cells) == EXIT_OK
    assert len(asked_for_searches(server)) == len(set(asked_for_searches(server))) == 3 + 2
    n = len(server.requests)
    assert plan_small(tmp_path, *cells).plan.n_requests == 0
    assert run_small(tmp_path, *cells, sweep_id="again") == EXIT_OK
    assert len(server.requests) == n


def test_failed_search_decision_ends_the_search_and_fails_the_cell(tmp_path: Path) -> None:
    def reply(request: dict[str, Any], attempt: int) -> Reply:
        asked = last_message(request)
        if '"next"' in asked and "mill grind" in asked:
            return Reply(status=400, body=b'{"error": {"message": "no"}}')
        return Reply('{"next": "", "done": true}' if '"next"' in asked else "x")

    with chat_server(reply) as failing:
        run_small(tmp_path, cell(tmp_path, failing, "iterative=self_ask"))
    (own,) = cells_in(tmp_path)
    assert own.judges["iterative"]["n_failed"] == 1
    assert own.status == "FAILED"
    assert "1 of 3 decisions about a next search failed" in own.reason


@pytest.mark.parametrize("query", ["Qorvex", ""])
def test_later_searches_may_have_no_hits(query: str, tmp_path: Path) -> None:
    """Queries are few or absent, so they say nothing about the tokenizer."""
    samples = [{**SAMPLES[0], "question": "Qorvex?"}, *SAMPLES, *SAMPLES]

    def reply(request: dict[str, Any], attempt: int) -> Reply:
        is_searching = query and "mill grind" in last_message(request) and query not in last_message(request)
        return Reply(json.dumps({"next": query if is_searching else "", "done": not is_searching}))

    with chat_server(reply) as running:
        numbered = [{**own, "id": str(n)} for n, own in enumerate(samples)]
        own = cell(tmp_path, running, "iterative=self_ask", samples=numbered)
        own = [each for each in own if "max_share" not in each]
        assert run_small(tmp_path, own) == EXIT_OK
    assert all(retrieved_ids(row) for row in samples_in(tmp_path)[1:])


def test_failed_search_chain_resumes_at_the_failed_step(tmp_path: Path) -> None:
    is_broken = True

    def reply(request: dict[str, Any], attempt: int) -> Reply:
        asked = last_message(request)
        if '"next"' not in asked:
            return Reply("x")
        if is_broken and "Where was Mara Linde born?" in asked:
            return Reply(status=503, body=b"down")
        query = wanted(asked)
        return Reply(json.dumps({"next": query, "done": not query}))

    with chat_server(reply) as failing:
        overrides = cell(tmp_path, failing, "iterative=self_ask", "iterative.n_passages=1")
        run_small(tmp_path, overrides)
        (before,) = cells_in(tmp_path)
        assert (before.status, before.judges["iterative"]["n_failed"]) == ("FAILED", 1)
        is_broken, n_before = False, len(failing.requests)
        assert run_small(tmp_path, overrides, sweep_id="again") == EXIT_OK
        again = failing.requests[n_before:]
    (after,) = cells_in(tmp_path, "again")
    assert after.steps["iterative"]["n_gold_by_search"] == [3, 4, 5]
    assert len([text for text in map(last_message, again) if '"next"' in text]) == 1, "only the broken decision"


def test_iterative_search_of_an_existing_index_is_rejected(tmp_path: Path, server: ChatServer) -> None:
    asking = [own for own in cell(tmp_path, server, "iterative=ircot") if not own.startswith("retriever")]
    with pytest.raises(ConfigError, match=r"iterative: got AskedSearches with a retriever of an existing index"):
        plan_small(
            tmp_path,
            [
                *asking,
                "retriever=python",
                "retriever.call=tests.runner.pipeline.test_iterating.found",
                "run.plugins=[tests]",
            ],
        )


@dataclass(frozen=True)
class Fixed(AskedSearches):
    """Decides the same for each question."""

    decision: Any = None

    def decide(self, trails: Any, ask: Any) -> Any:
        return [self.decision for _ in trails]


def decided_in(store: Store, decision: Any) -> Any:
    iteration = Fixed(Scripted(), "", "{question}{passages}{steps}", "", decision=decision)
    stages = graph_in(store, fixed_cell(retriever=bm25(), iterative=iteration)).result.upstream()
    return next(stage for stage in stages if stage.kind == "next_searches")


@pytest.mark.parametrize(
    "decision",
    [
        "a query",
        NextSearch(None),  # type: ignore[arg-type]
        NextSearch("a", None),  # type: ignore[arg-type]
        NextSearch("a", unread=["b"]),  # type: ignore[arg-type]
        NextSearch("a", is_asked=None),  # type: ignore[arg-type]
    ],
)
def test_decisions_of_a_wrong_type_fail_the_stage(decision: Any, tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    stage = decided_in(store, decision)
    with pytest.raises((AssertionError, ComponentError), match=r"(?s)Fixed.*a list of NextSearch with texts"):
        run_all(store, stage)


def test_blank_next_query_ends_the_search(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    stage = decided_in(store, NextSearch(" \n"))
    run_all(store, stage)
    assert set(read_or_make(stage, store).next) == {""}
