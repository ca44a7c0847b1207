"""Prints warnings about the cells of a finished sweep: answers, judges' replies, cut texts, steps and failures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape

from components.records import AnswerState
from runner.console.display import one_line
from runner.console.styled_text import count
from runner.console.unreadable_replies import judges_by_cause
from runner.output.cut_text_warnings import cut_lines
from runner.pipeline.corpus.step_reports import LINE
from runner.results import FAILED, OK, CellResult

_CONSEQUENCES = {
    AnswerState.TRUNCATED: "truncated at llm.max_new_tokens, and scored as they are",
    AnswerState.EMPTY: "empty, and scored as empty strings",
    AnswerState.REFUSED: "refused, and scored as empty strings",
    AnswerState.ERROR: "failed, and excluded from the scores",
}

_MAX_FAILED_CELLS, _MAX_REASON_CHARACTERS = 10, 500
"""Ids of cells, and characters of their reason, in a line about failures."""

_MAX_LINES = 4
"""Lines of a step, which in a sweep can be as many as cells."""


def show_answer_states(console: Console, cells: Sequence[CellResult]) -> None:
    """Print a line for every state other than OK that answers ended in, with the worst cell and its kinds of failures.

    Failed answers of a failed cell are not counted, because they are its reason, which is printed anyway.
    """
    for state, consequence in _CONSEQUENCES.items():
        eligible = [cell for cell in cells if state is not AnswerState.ERROR or cell.status == OK]
        if affected := [cell for cell in eligible if cell.counts.get(state)]:
            worst = max(affected, key=lambda cell: cell.counts[state] / sum(cell.counts.values()))
            errors = f": {error_counts(worst.errors)}" if state is AnswerState.ERROR else ""
            console.print(
                f"answers {consequence}: in {len(affected):,} of {len(cells):,} cells, most in {worst.cell_id}: "
                f"{worst.counts[state]:,} of {sum(worst.counts.values()):,}{errors}",
                markup=False,
                style="yellow",
            )


def error_counts(errors: Mapping[str, int]) -> str:
    """Format the number of errors of each class: "3 timeout, 1 rate_limit". Return "" if there are no errors."""
    return ", ".join(f"{n:,} {error_class}" for error_class, n in errors.items())


def show_unreadable_replies(console: Console, cells: Sequence[CellResult]) -> None:
    """Print how many replies were unreadable in the worst cell. Judges and steps with equal causes share a line."""
    worst, n_cells = {}, {}
    for judge in dict.fromkeys(judge for cell in cells for judge in cell.judges):
        unread = [cell.judges[judge] for cell in cells if cell.judges.get(judge, {}).get("n_unparsable")]
        if unread:
            worst[judge] = max(unread, key=lambda counts: counts["n_unparsable"] / counts["n_judged"])
            n_cells[judge] = len(unread)
    for cause, judges in judges_by_cause(worst).items():
        shares = ", ".join(
            f"{judge} up to {worst[judge]['n_unparsable']:,} of {worst[judge]['n_judged']:,} replies "
            f"({n_cells[judge]:,} of {count(len(cells), 'cell')})"
            for judge in judges
        )
        why = f"; {cause}" if cause else ""
        console.print(f"unreadable replies: {shares}{why}", markup=False, style="yellow")


def show_truncated_texts(console: Console, cells: Sequence[CellResult]) -> None:
    """Print a line for every model that did not read all of its texts."""
    for line in cut_lines(cells):
        console.print(line, markup=False, style="yellow")


def show_steps(console: Console, cells: Sequence[CellResult]) -> None:
    """Print the lines that steps of the pipeline report about themselves: equal lines once, and the first few of each
    step.
    """
    lines: dict[str, dict[str, list[str]]] = {}
    for cell in cells:
        for step, line in _step_lines(cell):
            lines.setdefault(step, {}).setdefault(line, []).append(cell.cell_id)
    for step, cells_by_line in lines.items():
        for line, cell_ids in list(cells_by_line.items())[:_MAX_LINES]:
            share = f"{len(cell_ids):,} of {len(cells):,} cells" if len(cell_ids) > 1 else cell_ids[0]
            console.print(f"{line} ({share})" if len(cell_ids) < len(cells) else line, markup=False)
        if len(cells_by_line) > _MAX_LINES:
            console.print(f"{step}: {len(cells_by_line) - _MAX_LINES:,} more lines in the cell.json of other cells")


def _step_lines(cell: CellResult) -> Iterator[tuple[str, str]]:
    """Yield the name of each step with a line about itself, and the line."""
    yield from ((step, facts[LINE]) for step, facts in cell.steps.items() if LINE in facts)
    revised, supported = cell.value("revised"), cell.value("supported_before")
    if revised is not None:
        before = "" if supported is None else f"; {supported:.0%} of the original answers were supported"
        yield "reviser", f"reviser: {revised:.0%} of the answers changed{before}"


def show_failures(console: Console, cells: Iterable[CellResult]) -> None:
    """Print why cells failed, equal reasons once. A long reason is cut; `cell.json` has all of it."""
    reasons: dict[str, list[str]] = {}
    for cell in cells:
        if cell.status == FAILED:
            reasons.setdefault(cell.reason, []).append(cell.cell_id)
    for reason, cell_ids in reasons.items():
        text = one_line(reason, _MAX_REASON_CHARACTERS)
        if len(text) < len(" ".join(reason.split())):
            text += f" ... (full text: reason in {cell_ids[0]}/cell.json)"
        more = f" and {len(cell_ids) - _MAX_FAILED_CELLS:,} more" if len(cell_ids) > _MAX_FAILED_CELLS else ""
        console.print(f"[red]FAILED[/] {', '.join(cell_ids[:_MAX_FAILED_CELLS])}{more}: {escape(text)}")
