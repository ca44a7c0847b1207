"""Answers from several requests: as many as planned, each stored, with a record of the steps in the results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from components.errors import ConfigError
from components.generators.single import Single
from components.llms.scripted import Scripted
from components.protocols import Ask, Render
from components.records import AnswerTask, GeneratedAnswer
from runner.engine.store import Store
from runner.launch.request import check_jobs
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.pipeline.fixed import fixed_cell, graph_in, run_all
from tests.runner.sweeping import cells_in, compose_job, own_data, read_or_make, run_small, samples_in, sweep_in

DOCUMENTS = {f"d{n}": f"The bridge number {n} was built of bricks." for n in range(4)}
N_SAMPLES, TOP_K = 3, 3


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request, attempt: Reply(f"{len(last_message(request))} characters")) as running:
        yield running


@pytest.fixture
def options(tmp_path: Path, server: ChatServer) -> list[str]:
    samples = [
        {"id": f"q{n}", "question": f"What was bridge {n} built of?", "references": ["Bricks"]}
        for n in range(N_SAMPLES)
    ]
    (tmp_path / "data").mkdir()
    return [
        *own_data(tmp_path / "data", DOCUMENTS, samples),
        "language=en",
        f"top_k={TOP_K}",
        "llm=openai",
        "llm.model=m",
        "llm.api_key_env=''",
        "llm.max_retries=0",
        f"llm.base_url={server.url}",
        "metrics=retrieval",
    ]


SPLIT = ("generator=split_fuse", "generator.max_tokens=1")
DRAWN = ("generator=self_consistency", "generator.n_draws=3", "llm.temperature=1.0")
GENERATORS = {("generator=refine",): TOP_K, SPLIT: 2 * TOP_K - 1, DRAWN: 3}
"""Generators by their overrides, with the number of requests per sample."""


def test_generators_send_the_planned_number_of_distinct_requests(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    cells = [[*options, *generator] for generator in GENERATORS]
    n_requests = N_SAMPLES * sum(GENERATORS.values())
    assert run_small(tmp_path, *cells) == EXIT_OK
    assert sweep_in(tmp_path).plan["n_requests"] == n_requests
    n_asked = n_requests - N_SAMPLES
    assert len(server.requests) == n_asked, "where one refines, the other asks about its first part"
    used = [cell.usage["answers"]["n_requests"] for cell in cells_in(tmp_path)]
    assert sorted(used) == sorted(N_SAMPLES * n_each for n_each in GENERATORS.values())
    slower = [[*cell, "llm.concurrency=2"] for cell in cells]
    assert run_small(tmp_path, *slower, sweep_id="again") == EXIT_OK
    assert len(server.requests) == n_asked, "all replies are kept"


def test_sample_table_describes_how_each_answer_was_generated(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    assert run_small(tmp_path, [*options, *SPLIT]) == EXIT_OK
    for row in samples_in(tmp_path):
        system, _, shown = row["prompt"].partition("\n\n")
        assert system.startswith("You join answers")
        assert (row["generation"], row["answer"]) == ("3 parts", f"{len(shown)} characters")


def test_generator_draws_are_shared_with_repeats_of_a_single_prompt(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    single = [*options, "llm.temperature=1.0", "repeat=2"]
    assert run_small(tmp_path, [*options, *DRAWN], single) == EXIT_OK
    assert len(server.requests) == 3 * N_SAMPLES
    assert run_small(tmp_path, [*options, *DRAWN, "repeat=1"], sweep_id="more") == EXIT_OK
    assert len(server.requests) == 2 * 3 * N_SAMPLES


def test_draws_requested_together_are_cached_separately(tmp_path: Path, options: list[str], server: ChatServer) -> None:
    """The cost is one prompt and every completion."""
    server.script = lambda request, _: Reply("yes", others=("yes", "no!")[: request.get("n", 1) - 1])
    together = [*options, *DRAWN, "llm.completions_per_request=3"]
    assert run_small(tmp_path, together) == EXIT_OK
    assert [request["n"] for request in server.requests] == [3] * N_SAMPLES
    assert {(row["answer"], row["generation"]) for row in samples_in(tmp_path)} == {("yes", "2 of 3")}
    (cell,) = cells_in(tmp_path)
    usage = cell.usage["answers"]
    assert (usage["n_prompt_tokens"], usage["n_completion_tokens"]) == (7 * N_SAMPLES, 9 * N_SAMPLES)
    assert sweep_in(tmp_path).spent["n_completion_tokens"] == 9 * N_SAMPLES
    assert run_small(tmp_path, [*options, *DRAWN], sweep_id="one by one") == EXIT_OK
    assert len(server.requests) == N_SAMPLES, "all draws are kept"


def test_failed_request_fails_its_answer_and_is_repeated_next_run(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    works = server.script

    def fails_to_fuse(request: dict[str, Any], attempt: int) -> Reply:
        is_fusion = "bridge 1" in last_message(request) and "[Answers" in last_message(request)
        return Reply(status=400) if is_fusion else works(request, attempt)

    server.script = fails_to_fuse
    assert run_small(tmp_path, [*options, *SPLIT]) == EXIT_CELL_FAILED
    (cell,) = cells_in(tmp_path)
    assert cell.counts == {"error": 1, "ok": 2}
    before = len(server.requests)
    server.script = works
    assert run_small(tmp_path, [*options, *SPLIT], sweep_id="again") == EXIT_OK
    assert len(server.requests) == before + 2, "the fusion that failed, and the one that waited for it"


def test_equal_draws_at_temperature_zero_are_rejected(options: list[str]) -> None:
    job = compose_job(*options, "generator=self_consistency", "llm.temperature=0")
    with pytest.raises(
        ConfigError, match="temperature: got 0, so that all 5 draws of SelfConsistency are the same answer"
    ):
        check_jobs([job])


@dataclass(frozen=True)
class Capitals(Single):
    """A user's generator with one request, which changes the reply."""

    version: ClassVar[int] = 1

    def generate(self, tasks: Sequence[AnswerTask], render: Render, ask: Ask) -> list[GeneratedAnswer]:
        answered = super().generate(tasks, render, ask)
        return [replace(own, answer=replace(own.answer, text=own.answer.text.upper())) for own in answered]


def test_user_generator_with_one_request_makes_the_answers(tmp_path: Path) -> None:
    store = Store(tmp_path)
    plain, own = (
        graph_in(store, fixed_cell(llm=Scripted(reply="yes"), generator=generator)).result
        for generator in (Single(), Capitals())
    )
    assert plain.key != own.key
    run_all(store, own)
    assert set(read_or_make(own, store).samples["answer"].to_pylist()) == {"YES"}
