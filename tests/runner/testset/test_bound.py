"""The announced maximum of requests of a run, compared with the requests it sends."""

from pathlib import Path

import pytest

from components.records import Documents
from components.testset.records import Topic
from runner.testset.making.composing import build_settings, compose_generation
from runner.testset.making.request_estimate import PartBounds, estimate_requests, total
from tests.runner.testset.fakes import ASKED, Echo, Marks, generation, make, texts

N_DOCUMENTS, N_TOPICS = 5000, 3
DOCUMENTS = Documents(
    [str(number) for number in range(N_DOCUMENTS)], [""] * N_DOCUMENTS, ["灯" * 600 for _ in range(N_DOCUMENTS)]
)
TOPICS = [Topic(str(number), (f"topic {number}",)) for number in range(N_TOPICS)]


def parts_of(*overrides: str) -> dict[str, PartBounds]:
    config = compose_generation(["corpus=demo", "topics=demo", "llm=rehearsal", "out=set", "per_cell=4", *overrides])
    return {part.name: part for part in estimate_requests(build_settings(config), DOCUMENTS, TOPICS)}


@pytest.fixture(scope="module")
def parts() -> dict[str, PartBounds]:
    return parts_of("tasks=[extractive,two_documents,three_documents,summary]")


def test_request_bound_includes_retries_of_unreadable_votes(parts: dict[str, PartBounds]) -> None:
    for name in ("reader", "subject", "question", "adjudicator"):
        assert parts[f"vote: {name}"].maximum.n_requests == 3 * N_DOCUMENTS


def test_smooth_bound_does_not_vote_on_all_documents(parts: dict[str, PartBounds]) -> None:
    # A tenth of the documents is for summaries: 12 of them take 120, and waves of 4, 8, 16, 32, 64 documents are 124.
    assert parts["vote: reader"].if_none_rejected.n_requests == 124
    assert parts["vote: adjudicator"].if_none_rejected.n_requests == 0
    assert parts_of("tasks=[extractive]")["vote: reader"].if_none_rejected.n_requests == 4 + 8


def test_gate_request_bound_counts_applicable_drafts(parts: dict[str, PartBounds]) -> None:
    n_each = 4 * N_TOPICS
    assert parts["gate: supported"].if_none_rejected.n_requests == n_each
    assert parts["gate: inspection"].if_none_rejected.n_requests == 3 * n_each
    assert parts["gate: each_document"].if_none_rejected.n_requests == 2 * (2 + 3) * n_each
    assert parts["gate: each_document"].maximum.n_requests > 2 * (2 + 3) * n_each * 4


def test_token_bound_depends_on_document_lengths(parts: dict[str, PartBounds]) -> None:
    voting, writing = parts["vote: reader"].if_none_rejected, parts["draft: three_documents"].if_none_rejected
    assert 600 < voting.tokens.n_prompt / voting.n_requests < 600 + 1000
    assert 3 * 600 < writing.tokens.n_prompt / writing.n_requests < 3 * 600 + 2000
    most = parts["vote: reader"].maximum
    assert most.tokens.n_prompt / most.n_requests > 4000 + 2 * 2000  # a long text, and two replies shown again


def test_smooth_bound_equals_the_requests_of_a_smooth_run(tmp_path: Path) -> None:
    settings = generation(tmp_path, texts(200), gates={"rude": Marks("RUDE", Echo())}, per_cell=9)
    said = total([part.if_none_rejected for part in estimate_requests(settings, DOCUMENTS, ())])
    ASKED.clear()
    make(settings)
    assert len(ASKED) == said.n_requests == 9 + 9
