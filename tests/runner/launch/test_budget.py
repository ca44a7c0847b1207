"""The spending of a sweep, the cost of its cells, and stopping at a budget and resuming."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runner
from components.errors import BudgetReached
from runner.output.mlflow_metrics import logged_metrics
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.sweeping import FEW_METRICS, QUIET, SMALL, SWEEP_ID, cells_in, own_data, run_small, sweep_in

PRICES = '+prices.lists.own={as_of:"2026-11-22",source:a bill,models:{a-model:{prompt:1000.0,completion:500.0}}}'
"""The server counts 7 tokens of each prompt and 2 of each answer: 0.008 for a request."""
N = 12


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda *_: Reply("ok")) as running:
        yield running


def asking(server: ChatServer, *more: str) -> tuple[str, ...]:
    model = ("llm=openai", "llm.model=a-model", f"llm.base_url={server.url}", "llm.api_key_env=''", "llm.concurrency=3")
    return (*FEW_METRICS, *model, "llm.max_new_tokens=2", *more)


def prompts(server: ChatServer) -> list[str]:
    return [last_message(request) for request in server.requests]


def test_repeated_command_continues_until_everything_is_answered(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    command = asking(server, "run.max_requests=5")
    assert run_small(tmp_path, command) == 3
    assert len(server.requests) == 5
    assert sweep_in(tmp_path).status == "INTERRUPTED"
    captured = capsys.readouterr()
    assert "more than run.max_requests=5. The sweep then stops early" in captured.out
    assert captured.err.startswith(
        "Stopped before exceeding run.max_requests=5: 5 requests, 45 tokens, cost not known (no price"
    )
    assert "0 of 1 cells are done. Run the same command again: finished work is cached" in captured.err
    assert [run_small(tmp_path, command, sweep_id=name) for name in ("second", "third")] == [3, 0]
    assert len(set(prompts(server))) == len(server.requests) == N
    assert cells_in(tmp_path, "third")[0].counts == {"ok": N}


def test_request_budget_is_shared_by_all_workers(tmp_path: Path, server: ChatServer) -> None:
    cells = [asking(server, f"top_k={k}", "run.workers=2", "run.max_requests=7") for k in (2, 4)]
    assert run_small(tmp_path, *cells) == 3
    assert len(server.requests) == 7


def test_cost_budget_is_not_exceeded(tmp_path: Path, server: ChatServer) -> None:
    of_answers = PRICES.replace("1000.0", "0.0")  # 0.001 for a request, as is known before it is sent
    assert run_small(tmp_path, asking(server, of_answers, "run.max_cost=0.0055")) == 3
    spent = sweep_in(tmp_path).spent
    assert len(server.requests) == spent["n_requests"] == 5
    assert (spent["cost"], spent["currency"]) == (pytest.approx(0.005), "USD")


def test_budget_reached_is_raised_to_the_calling_program(tmp_path: Path, server: ChatServer) -> None:
    folder = f"run.results_dir={tmp_path / 'results'}"
    with pytest.raises(BudgetReached, match=r"Stopped before exceeding run\.max_requests=3: 3 requests"):
        runner.run([*SMALL, *QUIET, *asking(server, "run.max_requests=3"), folder])
    assert len(server.requests) == 3


def test_cost_budget_refuses_a_model_without_a_price(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_small(tmp_path, asking(server, "run.max_cost=3.0")) == 2
    assert "run.max_cost: the price of a-model at 127.0.0.1:" in capsys.readouterr().err
    assert server.requests == []


def test_spending_and_the_cost_of_a_cell_are_reported_separately(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for sweep_id in (SWEEP_ID, "again"):
        assert run_small(tmp_path, asking(server, PRICES), sweep_id=sweep_id) == 0
    first, again = (cells_in(tmp_path, sweep_id)[0] for sweep_id in (SWEEP_ID, "again"))
    assert first.usage == again.usage
    assert first.usage["answers"] == {
        "n_requests": N, "n_prompt_tokens": 7 * N, "n_completion_tokens": 2 * N, "n_cached_tokens": 0,
        "cost": pytest.approx(0.008 * N),
    }  # fmt: skip
    assert (first.cost, first.currency) == (pytest.approx(0.008 * N), "USD")
    assert [sweep_in(tmp_path, sweep_id).spent["n_requests"] for sweep_id in (SWEEP_ID, "again")] == [N, 0]
    assert dict(logged_metrics(first))["run/cost/answers"] == pytest.approx(0.008 * N)
    table = (tmp_path / "results" / SWEEP_ID / "leaderboard.csv").read_text(encoding="utf-8")
    (row,) = csv.DictReader(table.splitlines())
    assert (float(row["cost"]), row["currency"]) == (pytest.approx(0.008 * N), "USD")
    shown = capsys.readouterr().out
    assert re.search(r"at most about [\d,]+ tokens, [\d.]+ USD \(prices of 2026-11-22\)", " ".join(shown.split()))
    assert f"spent:    {N} requests, {9 * N} tokens, 0.0960 USD" in shown
    assert "spent:    nothing, no request was sent" in shown
    assert "a cell costs 0.0960 USD when nothing is cached" in shown


def test_cached_tokens_have_a_separate_price_in_cost_and_budget(tmp_path: Path, server: ChatServer) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    message = {"message": {"content": "ok"}, "finish_reason": "stop"}
    server.script = lambda *_: Reply(body=json.dumps({"choices": [message], "usage": usage}).encode())
    assert run_small(tmp_path, asking(server, PRICES.replace("prompt:1000.0", "prompt:1000.0,cached:250.0"))) == 0
    (cell,) = cells_in(tmp_path)
    assert cell.usage["answers"]["n_cached_tokens"] == 4 * N
    assert cell.cost == pytest.approx(0.005 * N)
    assert sweep_in(tmp_path).spent["cost"] == pytest.approx(0.005 * N)


def test_cost_of_an_unpriced_model_is_unknown_and_not_0(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_small(tmp_path, asking(server)) == 0
    (cell,) = cells_in(tmp_path)
    assert (cell.cost, cell.usage["answers"]["cost"], sweep_in(tmp_path).spent["cost"]) == (None, None, None)
    assert not any(name.startswith("run/cost") for name, _ in logged_metrics(cell))
    assert "the cost of a-model is unknown: no price list names it" in capsys.readouterr().out


def test_plan_names_a_priced_model_of_a_similar_name(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_small(tmp_path, asking(server, PRICES.replace("a-model", "amodel"))) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the cost of a-model (did you mean amodel?) is unknown: no price list names it" in shown


@pytest.mark.parametrize("budget", ["run.max_requests=0", "run.max_tokens=-1", "run.max_cost=0.0"])
def test_zero_budget_is_rejected(tmp_path: Path, budget: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_small(tmp_path, (budget,)) == 2
    assert f"{budget.partition('=')[0]}: got" in capsys.readouterr().err


def test_requests_that_no_server_received_are_not_spent(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody = "llm.base_url=http://127.0.0.1:1/v1"
    assert run_small(tmp_path, asking(server, nobody, "run.max_requests=2", "llm.max_retries=0")) == 1
    assert sweep_in(tmp_path).spent["n_requests"] == 0
    shown = capsys.readouterr().out
    assert "no server listens there" in shown
    assert "spent:    nothing, no request was sent" in shown
    assert "Stopped before exceeding" not in shown


def test_scripted_models_spend_no_budget(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, (*FEW_METRICS, "llm=scripted", "run.max_requests=2")) == 0
    spent = sweep_in(tmp_path).spent
    assert {name: spent[name] for name in ("n_requests", "n_prompt_tokens", "n_unpriced")} == {
        "n_requests": 0,
        "n_prompt_tokens": 0,
        "n_unpriced": 0,
    }


def test_results_folder_removed_during_a_sweep_loses_no_answer(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def remove(request: dict[str, Any], attempt: int) -> Reply:
        if len(server.requests) >= 5 and not (tmp_path / "removed").exists():
            (tmp_path / "results" / SWEEP_ID).rename(tmp_path / "removed")
        return Reply("ok")

    server.script = remove
    assert run_small(tmp_path, asking(server)) == 1
    assert "cannot write the spending of the sweep: No such file" in capsys.readouterr().err
    assert len(server.requests) < N
    server.script = lambda *_: Reply("ok")
    assert run_small(tmp_path, asking(server), sweep_id="again") == 0
    assert len(set(prompts(server))) == len(server.requests) == N


def test_requests_without_an_answer_are_spent(tmp_path: Path, server: ChatServer) -> None:
    """The requests were sent, but ended in time-outs, broken connections or gateway errors."""
    kinds = [Reply(delay_s=3.0), Reply(cut=True, text="a reply"), Reply(status=504), Reply(status=500)]
    server.script = lambda request, attempt: kinds[len(server.requests) % len(kinds)]
    assert run_small(tmp_path, asking(server, "llm.max_retries=0", "llm.timeout_s=1", "llm.concurrency=12")) == 1
    spent = sweep_in(tmp_path).spent
    assert spent["n_requests"] == len(server.requests) == N
    assert spent["n_unanswered"] == 9


def test_sweep_that_pays_warns_first_if_its_samples_form_one_group(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end of the sweep says that no difference can be significant, which is too late."""
    questions = [
        {"id": str(n), "question": f"Which bridge {n}?", "references": ["here"], "gold": ["a"]} for n in range(4)
    ]
    data = own_data(tmp_path, {"a": "A bridge is here.", "b": "A tunnel."}, questions)
    cells = [(*asking(server), *data, "language=en", f"top_k={k}") for k in (1, 2)]
    assert run_small(tmp_path, *cells) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "All 4 samples form one group: they share the gold document a" in shown.partition("Leaderboard")[0]
