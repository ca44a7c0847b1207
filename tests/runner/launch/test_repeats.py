"""Unreadable replies are requested again. The plan counts the repeats, and budgets cover them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from runner.console.display import estimate
from runner.engine.plan import Plan
from runner.engine.spending import Budget
from runner.output.money import bound_lines
from tests.llms.chat_server import ChatServer, Reply, chat_server
from tests.runner.launch.test_judged_sweep import judge, only_metrics
from tests.runner.pipeline.fixed import fixed_cell
from tests.runner.sweeping import RANKING_ONLY, plan_small, run_small, sweep_in

N = 5


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """Return a server with unreadable replies."""
    with chat_server(lambda *_: Reply('{"nothing": "of the kind"}')) as running:
        yield running


def expander(server: ChatServer) -> tuple[str, ...]:
    model = ["model=m", "api_key_env=''", f"base_url={server.url}", "backoff_s=0.01", "max_new_tokens=20"]
    own = [f"expander.llm.{value}" for value in model]
    return ("expander=hyde", "+llm@expander.llm=openai", *own, f"dataset.limit={N}", "llm=none", *RANKING_ONLY)


def accuracy(server: ChatServer) -> tuple[str, ...]:
    return judge(server, *only_metrics("accuracy"), f"dataset.limit={N}", "judge.llm.max_new_tokens=20")


@pytest.mark.parametrize("asking", [expander, accuracy])
class TestRepeats:
    def planned(self, folder: Path, overrides: Sequence[str]) -> Plan:
        return plan_small(folder, overrides).plan

    def test_plan_with_repeats_bounds_the_requests_sent(
        self, asking: object, tmp_path: Path, server: ChatServer
    ) -> None:
        overrides = asking(server)  # type: ignore[operator]
        plan = self.planned(tmp_path, overrides)
        assert (plan.n_requests, plan.n_requests_with_repeats) == (N, 3 * N)
        run_small(tmp_path, overrides)
        assert len(server.requests) == 3 * N
        assert sweep_in(tmp_path).plan["n_requests_with_repeats"] == 3 * N

    def test_request_budget_limits_repeats(self, asking: object, tmp_path: Path, server: ChatServer) -> None:
        overrides = (*asking(server), f"run.max_requests={N + 2}")  # type: ignore[operator]
        assert run_small(tmp_path, overrides) == 3
        assert len(server.requests) == N + 2

    def test_token_budget_limits_repeats(self, asking: object, tmp_path: Path, server: ChatServer) -> None:
        overrides = (*asking(server), "run.max_tokens=5000")  # type: ignore[operator]
        assert run_small(tmp_path, overrides) in (0, 1, 3)
        assert sweep_in(tmp_path).spent["n_prompt_tokens"] + sweep_in(tmp_path).spent["n_completion_tokens"] <= 5000


def test_plan_reports_requests_with_and_without_repeats(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    run_small(tmp_path, (*expander(server), f"run.max_requests={N + 2}", "run.plan_only=true"))
    out = capsys.readouterr().out
    assert f"{N} requests for queries by a language model (at most {3 * N} with retries of unreadable replies)" in out
    assert f"That may be more than run.max_requests={N + 2}" in out


def test_token_estimate_of_repeats_includes_earlier_replies(tmp_path: Path, server: ChatServer) -> None:
    plan = plan_small(tmp_path, expander(server)).plan
    (count,) = plan.requests
    ((_, once),) = count.tokens or ()
    ((_, repeated),) = count.tokens_with_repeats or ()
    assert once.n_completion == N * 20
    assert (repeated.n_prompt, repeated.n_completion) == (3 * once.n_prompt + 3 * N * 20, 3 * N * 20)
    line, *_ = bound_lines(plan, Budget(), fixed_cell().prices)
    assert (
        f"{estimate(once.n_all)} tokens ({estimate(repeated.n_all)} tokens with retries of unreadable replies)" in line
    )
