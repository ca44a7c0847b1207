"""Cells that show the whole corpus, and the plan's lines about it before any work."""

import re
from pathlib import Path

import pytest

from components.errors import ConfigError
from components.tokenizers.cl100k import Cl100k
from runner.launch.sweep import EXIT_OK
from runner.pipeline.answers.answer_stages import Answers
from tests.runner.sweeping import FEW_METRICS, cells_in, own_data, plan_small, run_small, samples_in

TEXTS = {
    "a": "The lake is deep.",
    "b": "The bridge was opened in 1932. Trains use it. " * 3,
    "c": "The mill ground corn.",
    "d": "The tower was built of bricks.",
}
SAMPLES = [
    {"id": "1", "question": "When was the bridge opened?", "references": ["1932"], "gold": ["b"]},
    {"id": "2", "question": "What did the mill grind?", "references": ["corn"], "gold": ["c"]},
]
N_TOKENS = dict(zip(TEXTS, map(len, Cl100k().token_ends(list(TEXTS.values()))), strict=True))


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    return [*own_data(tmp_path, TEXTS, SAMPLES), *FEW_METRICS, "language=en", "llm=scripted", "retriever=all"]


def lines(folder: Path, *cells: list[str]) -> list[str]:
    return [line for cell in plan_small(folder, *cells).cells for line in cell.lines]


def test_every_prompt_contains_all_documents_in_order(tmp_path: Path, options: list[str]) -> None:
    assert run_small(tmp_path, [*options, "top_k=100"]) == EXIT_OK
    for row in samples_in(tmp_path):
        assert [hit["document_id"] for hit in row["retrieved"]] == list(TEXTS)
        assert all(hit["in_context"] for hit in row["retrieved"])
        places = [row["prompt"].index(text.strip()) for text in TEXTS.values()]
        assert places == sorted(places)
    (cell,) = cells_in(tmp_path)
    assert cell.value("passage_coverage") == 1.0
    assert cell.value("context_tokens") == sum(N_TOKENS.values())


def test_plan_reports_how_much_of_the_corpus_fits_and_its_tokens(tmp_path: Path, options: list[str]) -> None:
    n_characters = sum(map(len, TEXTS.values()))
    (line,) = lines(tmp_path, [*options, "top_k=100"])
    assert line == (
        f"each prompt: 4 of 4 texts of the corpus, {n_characters} of {n_characters} characters (100%), "
        f"{sum(N_TOKENS.values())} tokens per question"
    )


def test_corpus_text_that_does_not_fit_is_left_out_and_counted(tmp_path: Path, options: list[str]) -> None:
    small = [*options, "top_k=100", f"context.max_tokens={N_TOKENS['b'] - 1}"]
    (line,) = lines(tmp_path, small)
    shown = sum(len(text) for name, text in TEXTS.items() if name != "b")
    assert f"3 of 4 texts of the corpus, {shown} of " in line
    assert line.endswith(f"limited by context.max_tokens={N_TOKENS['b'] - 1}")
    assert run_small(tmp_path, small) == EXIT_OK
    (cell,) = cells_in(tmp_path)
    n_tokens = re.search(r"(\d+) tokens per question", line)
    assert n_tokens
    assert cell.value("context_tokens") == int(n_tokens[1])
    assert cell.value("passage_coverage") == 0.5


def test_plan_names_the_setting_that_limits_the_texts(tmp_path: Path, options: list[str]) -> None:
    (line,) = lines(tmp_path, [*options, "top_k=2"])
    assert "2 of 4 texts" in line
    assert line.endswith("; limited by top_k=2")
    (refined,) = lines(tmp_path, [*options, "top_k=2", "refiner=headings"])
    assert refined == f"{line}, before the refiner"


def test_corpus_in_prompts_may_show_pieces_of_documents(tmp_path: Path, options: list[str]) -> None:
    cell = [*options, "top_k=100", "chunk@retriever.chunker=token", "retriever.chunker.size=10"]
    (line,) = lines(tmp_path, cell)
    found = re.search(r"(\d+) of \1 texts", line)
    assert found
    assert int(found[1]) > len(TEXTS)


def test_ranking_metrics_follow_the_order_of_the_corpus(tmp_path: Path, options: list[str]) -> None:
    measures = "metrics.scores.trec.measures=[mrr,recall@2,recall@10]"
    assert run_small(tmp_path, [*options, "top_k=100", measures]) == EXIT_OK
    assert [row["score/mrr"] for row in samples_in(tmp_path)] == pytest.approx([1 / 2, 1 / 3])
    assert [row["score/recall@2"] for row in samples_in(tmp_path)] == [1.0, 0.0]
    assert [row["score/recall@10"] for row in samples_in(tmp_path)] == [1.0, 1.0]


def test_search_axes_do_not_multiply_corpus_in_prompt_cells(tmp_path: Path, options: list[str]) -> None:
    changed = ("chunk.size=64", "header=title", "embedder=hashing")
    plan = plan_small(tmp_path, options, *([*options, own] for own in changed))
    assert len(plan.cells) == 1


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("retriever.max_characters=100", r"retriever.max_characters: got 100, but the corpus has 2\d\d characters"),
        ("context.max_tokens=1", r"no text of the corpus fits into a prompt; limited by context.max_tokens=1\. Use a"),
    ],
)
def test_corpus_that_cannot_be_shown_in_prompts_is_refused(
    override: str, message: str, tmp_path: Path, options: list[str]
) -> None:
    with pytest.raises(ConfigError, match=message):
        plan_small(tmp_path, [*options, "top_k=100", override])


def test_too_many_corpus_hits_of_all_samples_are_refused(
    tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.pipeline.answers.corpus_in_prompts._MAX_HITS", 7)
    with pytest.raises(ConfigError, match=r"top_k: got 100, which gives 8 hits for 2 samples, more than 7\. Set a"):
        plan_small(tmp_path, [*options, "top_k=100"])
    assert plan_small(tmp_path, [*options, "top_k=3"]).cells


def test_top_k_above_the_corpus_depth_is_refused(tmp_path: Path, options: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"more than retriever\.depth=10000"):
        plan_small(tmp_path, [*options, "top_k=10001"])


def test_token_estimate_of_whole_documents_is_the_context_limit(tmp_path: Path, options: list[str]) -> None:
    (cell,) = plan_small(tmp_path, [*options, "top_k=2", "chunk.size=8"]).cells
    answers = cell.graph.result.answers
    assert isinstance(answers, Answers)
    assert answers.n_context_tokens == 8192, "the limit of the context, because documents are whole"
