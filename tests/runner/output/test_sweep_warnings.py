"""Warnings about the cells of a sweep, in the terminal and in `cell.json`."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.records import Answer, AnswerState, ErrorClass
from runner.console.display import SafeConsole
from runner.output.sweep_warnings import show_answer_states, show_failures, show_steps, show_unreadable_replies
from runner.pipeline.answers.answer_stages import AnswersCodec
from runner.results import CellResult
from tests.runner.sweeping import cells_in, run_small, samples_in


def cell(cell_id: str, status: str = "OK", errors: dict[str, int] | None = None, **counts: int) -> CellResult:
    return CellResult(cell_id, status, {}, (), {}, {}, counts=counts, errors=errors or {})


def printed_lines(*cells: CellResult) -> list[str]:
    output = io.StringIO()
    show_answer_states(SafeConsole(file=output, width=400), cells)
    return output.getvalue().splitlines()


def test_good_answers_have_no_warning() -> None:
    assert printed_lines(cell("a", ok=3), cell("b", not_asked=3)) == []


@pytest.mark.parametrize(
    ("state", "what"), [("truncated", "truncated"), ("empty", "empty, and"), ("refused", "refused, and")]
)
def test_answer_warning_per_state_names_the_worst_cell(state: str, what: str) -> None:
    (line,) = printed_lines(cell("a", ok=3, **{state: 1}), cell("b", ok=1, **{state: 3}), cell("c", ok=4))
    assert line.startswith(f"answers {what}")
    assert line.endswith("in 2 of 3 cells, most in b: 3 of 4")


def steps_of(*cells: CellResult) -> list[str]:
    output = io.StringIO()
    show_steps(SafeConsole(file=output, width=400), cells)
    return output.getvalue().splitlines()


def test_step_warnings_name_their_cells_and_are_limited() -> None:
    some = [replace(cell(f"c{n}"), steps={"filter": {"line": "filter: 3 left"}}) for n in range(2)]
    others = [replace(cell(f"d{n}"), steps={"refiner": {"line": f"refiner: {n}"}}) for n in range(6)]
    assert steps_of(*some) == ["filter: 3 left"]
    assert steps_of(*some, *others) == [
        "filter: 3 left (2 of 8 cells)",
        *(f"refiner: {n} (d{n})" for n in range(4)),
        "refiner: 2 more lines in the cell.json of other cells",
    ]


def test_reviser_line_reports_the_share_of_changed_answers() -> None:
    metrics: dict[str, dict[str, Any]] = {"revised": {"value": 0.25}, "supported_before": {"value": None}}
    assert steps_of(replace(cell("a"), metrics={"overall": metrics})) == ["reviser: 25% of the answers changed"]
    metrics["supported_before"] = {"value": 0.5}
    (line,) = steps_of(replace(cell("a"), metrics={"overall": metrics}), cell("b"))
    assert line == "reviser: 25% of the answers changed; 50% of the original answers were supported (a)"


def test_answer_failures_are_reported_by_kind_unless_their_cell_failed() -> None:
    (line,) = printed_lines(
        cell("a", ok=8, error=2, errors={"timeout": 2}),
        cell("b", "FAILED", ok=1, error=9, errors={"server": 9}),
        cell("c", ok=7, error=3, errors={"rate_limit": 2, "timeout": 1}),
    )
    assert line == "answers failed, and excluded from the scores: in 2 of 3 cells, most in c: 3 of 10: " \
        "2 rate_limit, 1 timeout"  # fmt: skip


def test_codec_preserves_answers_of_all_states() -> None:
    answers = [
        Answer("1", AnswerState.TRUNCATED, "so f", thoughts="hm", n_reasoning_tokens=3),
        Answer("2", AnswerState.ERROR, error="late", error_class=ErrorClass.TIMEOUT),
        Answer("3", AnswerState.OK, "so", n_prompt_tokens=None, n_completion_tokens=None, n_reasoning_tokens=None),
    ]
    codec = AnswersCodec()
    assert list(codec.decode(codec.encode(answers))) == answers


def test_truncated_answers_count_and_failed_answers_are_counted_by_kind(tmp_path: Path) -> None:
    script = (
        "llm=scripted",
        "llm.reply='一二三四'",
        "llm.truncate_on='什么'",
        "llm.error_on='多少'",
        "llm.error_class=timeout",
    )
    allowed = run_small(tmp_path, (*script, "run.max_failure_rate=1.0"))
    refused = run_small(tmp_path, script, sweep_id="again")
    assert (allowed, refused) == (0, 1)
    (cell,), (failed,) = cells_in(tmp_path), cells_in(tmp_path, "again")
    rows = samples_in(tmp_path)
    states = [row["state"] for row in rows]
    assert {state: states.count(state) for state in cell.counts} == cell.counts
    n_failed = cell.counts["error"]
    assert cell.counts["truncated"] >= 1 <= n_failed
    assert cell.errors == {"timeout": n_failed}
    assert {row["error_class"] for row in rows if row["state"] == "error"} == {"timeout"}
    assert all(
        row["answer"] == "一二" and row["score/rouge_l"] is not None for row in rows if row["state"] == "truncated"
    )
    assert cell.metrics["overall"]["rouge_l"]["n_excluded"] == {"answer_error": n_failed}
    assert f"({n_failed} timeout; most often: the script fails on '多少')" in failed.reason


def test_unreadable_judgement_is_shown_in_one_line() -> None:
    judges = {
        "accuracy": {"n_judged": 4, "n_unparsable": 1, "commonest": "cannot be read:\n\n\nWell,\n" + "so\n" * 500}
    }
    output = io.StringIO()
    show_unreadable_replies(SafeConsole(file=output, width=1000), [replace(cell("bm25"), judges=judges)])
    (line,) = output.getvalue().splitlines()
    assert "; most often not in the requested form, e.g. Well, so so " in line
    assert len(line) < 320


def test_long_failure_reason_is_cut_with_a_pointer_to_the_full_text() -> None:
    output = io.StringIO()
    cells = [replace(cell(f"cell{n:02}", "FAILED"), reason="judge is down; " * 200) for n in range(12)]
    show_failures(SafeConsole(file=output, width=2000), cells)
    said = output.getvalue()
    assert len(said) < 800
    assert "and 2 more: judge is down; " in said
    assert said.endswith("... (full text: reason in cell00/cell.json)\n")


def test_failure_reason_shows_markup_and_escapes_as_plain_text() -> None:
    output = io.StringIO()
    failed = replace(cell("bm25", "FAILED"), reason="1 error [type=missing] [/INST] [red] \x1b[2J")
    show_failures(SafeConsole(file=output, width=200), [failed])
    assert output.getvalue() == "FAILED bm25: 1 error [type=missing] [/INST] [red] \\x1b[2J\n"
