"""Questions over given passages, with no, some or only noise."""

from collections.abc import Sequence
from pathlib import Path

from tests.datasets.test_beir import write_lines
from tests.runner.sweeping import cells_in, run_small, samples_in, sweep_in

PASSAGES = [
    {"text": "The red bridge was opened in 1932.", "relevant": True},
    {"text": "In 1932 the red bridge was opened.", "relevant": True},
    "The green bridge is older.",
    "The harbour is deep.",
]
FALSE = [{"text": "The red bridge was opened in 1954."}, "The green bridge is older."]
QUESTIONS = [
    {"id": "1", "question": "When was the red bridge opened?", "answer_parts": ["1932"], "passages": PASSAGES},
    {
        "id": "2", "question": "And when was the red bridge opened?", "answer_parts": ["1932"], "passages": FALSE,
        "fake_answers": ["1954"],
    },
    {"id": "3", "question": "Who dug the harbour?", "passages": PASSAGES[2:], "answerable": False},
]  # fmt: skip
OVERRIDES = (
    "retriever=given",
    "top_k=2",
    "metrics=false_passages",
    "llm=scripted",
    "llm.reply='{context}'",
    "language=en",
)


def run(tmp_path: Path, *cells: Sequence[str]) -> None:
    write_lines(tmp_path / "questions.jsonl", QUESTIONS)
    data = ["dataset=jsonl", "dataset.documents=''", f"dataset.samples={tmp_path / 'questions.jsonl'}"]
    assert run_small(tmp_path, *([*data, *OVERRIDES, *overrides] for overrides in cells)) == 0


def test_answerability_depends_on_the_noise_rate(tmp_path: Path) -> None:
    run(tmp_path, *([f"retriever.noise_rate={rate}"] for rate in (0, 0.5, 1)))
    by_rate = {cell.config["retriever"]["noise_rate"]: cell for cell in cells_in(tmp_path)}
    counts = {rate: [cell.metrics["overall"][name]["n"] for name in NAMES] for rate, cell in by_rate.items()}
    assert counts == {0: [1, 2], 0.5: [1, 2], 1: [2, 1]}
    assert [by_rate[rate].value("right_refusals") for rate in (0, 0.5, 1)] == [0, 0, 0]
    assert [by_rate[rate].value("contains_all") for rate in (0, 0.5, 1)] == [0.5, 0.5, 0]
    assert [by_rate[rate].value("followed_false") for rate in (0, 0.5, 1)] == [1, 1, 1]
    assert [by_rate[rate].value("passage_coverage") for rate in (0, 0.5, 1)] == [1, 1, 0]
    assert sweep_in(tmp_path).headline == "contains_all"


NAMES = ("right_refusals", "wrong_refusals")


def test_samples_table_records_answerability(tmp_path: Path) -> None:
    run(tmp_path, ["retriever.noise_rate=1"])
    assert [row["answerable"] for row in samples_in(tmp_path)] == [False, True, False]


def test_retrieval_miss_does_not_make_a_question_unanswerable(tmp_path: Path) -> None:
    run(tmp_path, ["retriever=bm25", "top_k=1", "llm.reply=never"])
    assert [row["answerable"] for row in samples_in(tmp_path)] == [True, True, False]
