"""A sweep over steps that use a model: every request was planned, and none is sent twice."""

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from runner.launch.sweep import EXIT_OK
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.sweeping import FEW_METRICS, own_data, plan_small, run_small

DOCUMENTS = {
    f"{name}-{part}": f"{name} sold {part} in the year" for name in ("acme", "bolt") for part in ("tea", "tin")
}
TURNS = {name: [f"what did {name} sell", f"and what else did {name} sell"] for name in ("acme", "bolt")}
SAMPLES = [
    {
        "id": f"{name}-{n}",
        "question": question,
        "references": ["tea"],
        "gold": [f"{name}-tea"],
        "history": [{"question": earlier, "answer": "tea"} for earlier in questions[:n]],
    }
    for name, questions in TURNS.items()
    for n, question in enumerate(questions)
]
EXPANDERS, GENERATORS, HISTORIES = ("none", "keywords", "hypothetical_document"), ("single", "refine"), ("gold", "own")
N_FIRST_TURNS = len(TURNS)
TOP_K = 2


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """Writes a query that ranks passages differently from the question, and gives a different answer to each prompt."""

    def reply(request: dict[str, Any], attempt: int) -> Reply:
        asked = last_message(request)
        if '"texts"' not in asked:
            return Reply(sha256(asked.encode()).hexdigest())
        other = "bolt" if "acme" in asked else "acme"
        return Reply(json.dumps({"texts": ["tin in the year" if "keywords" in asked else f"{other} sold tea"]}))

    with chat_server(reply) as running:
        yield running


def test_step_sweep_sends_the_planned_requests_once(tmp_path: Path, server: ChatServer) -> None:
    model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.max_retries=0", f"llm.base_url={server.url}"]
    data = own_data(tmp_path, DOCUMENTS, SAMPLES)
    fixed = [*data, *model, *FEW_METRICS, "language=en", f"top_k={TOP_K}", "retriever=bm25"]
    fixed.append("retriever.sparse_index.max_share_without_hits=1")
    cells = [
        [*fixed, f"expander={expander}", f"generator={generator}", f"history={history}"]
        for expander, generator, history in product(EXPANDERS, GENERATORS, HISTORIES)
    ]
    planned = plan_small(tmp_path, *cells).plan.n_requests
    queries = 2 * len(SAMPLES)  # two of the expanders ask, once for all cells
    answers = len(EXPANDERS) * len(HISTORIES) * len(SAMPLES) * (1 + TOP_K)  # in one request, and passage after passage
    assert planned == queries + answers
    assert run_small(tmp_path, *cells) == EXIT_OK
    asked = [json.dumps(request["messages"]) for request in server.requests]
    assert len(asked) == len(set(asked))
    # The first turn of a conversation has no history, so that its prompts are the same for both.
    assert len(asked) == planned - len(EXPANDERS) * N_FIRST_TURNS * (1 + TOP_K)
    assert plan_small(tmp_path, *cells).plan.n_requests == 0
    assert run_small(tmp_path, *cells, sweep_id="again") == EXIT_OK
    assert len(server.requests) == len(asked)
