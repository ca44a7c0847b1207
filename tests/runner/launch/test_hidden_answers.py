"""A sweep names the variables whose values it hides in answers."""

from pathlib import Path
from typing import Any

import pytest

from tests.llms.chat_server import Reply, chat_server
from tests.runner.sweeping import FEW_METRICS, QUIET, own_data, run_command

TEXTS = {name: f"The bridge number {name} was opened in 1932." for name in "abc"}
SAMPLES = [
    {"id": name, "question": f"When was bridge {name} opened?", "references": ["1932"], "gold": [{"document": name}]}
    for name in TEXTS
]
VALUE = "Bridge-of-1932"


def reply(request: dict[str, Any], _attempt: int) -> Reply:
    asked = request["messages"][-1]["content"]
    return Reply("It is unknown." if "bridge c opened" in asked else f"It is the {VALUE}.")


@pytest.mark.parametrize("workers", [1, 2])
def test_variable_with_hidden_values_is_named_once(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROJECT_KEY", VALUE)
    with chat_server(reply) as server:
        model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.max_retries=0", f"llm.base_url={server.url}"]
        arguments = [*own_data(tmp_path, TEXTS, SAMPLES), *model, *FEW_METRICS, *QUIET, "language=en", "retriever=bm25"]
        cells = ["-m", "top_k=1,2", "retriever.sparse_index.max_share_without_hits=1", f"run.workers={workers}"]
        first, again = (run_command(tmp_path, *arguments, *cells) for _ in range(2))
        n_requests = len(server.requests)
        monkeypatch.delenv("PROJECT_KEY")
        one_cell = run_command(tmp_path, *arguments, *cells, "top_k=1")
        fresh = run_command(tmp_path, *arguments, *cells, "run.fresh=[answers]")
        assert len(server.requests) == n_requests
    for ended, n_answers in (first, 4), (again, 4), (one_cell, 2), (fresh, 4):
        said = " ".join((ended.stdout + ended.stderr).split())
        assert ended.returncode == 0, said
        assert said.count("contained the value of PROJECT_KEY") == 1
        assert f"{n_answers} answers of a model contained the value of PROJECT_KEY, and were stored with ***" in said
        assert VALUE not in said


def test_variable_with_hidden_values_is_named_before_a_budget_ends_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROJECT_KEY", VALUE)
    with chat_server(reply) as server:
        model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.concurrency=1", f"llm.base_url={server.url}"]
        arguments = [*own_data(tmp_path, TEXTS, SAMPLES), *model, *FEW_METRICS, *QUIET, "language=en", "retriever=bm25"]
        search = ["top_k=1", "retriever.sparse_index.max_share_without_hits=1", "run.max_requests=1"]
        ended = run_command(tmp_path, *arguments, *search)
        resumed = run_command(tmp_path, *arguments, *search[:-1])
    said = " ".join((ended.stdout + ended.stderr).split())
    assert "run.max_requests" in said
    assert "1 answer of a model contained the value of PROJECT_KEY" in said
    assert VALUE not in said
    assert "2 answers of a model contained the value of PROJECT_KEY" in " ".join(resumed.stdout.split())
