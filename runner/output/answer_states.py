"""What a user is told of answers that did not end well: how many, in which state, in which cells, and what to do."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from components.records import AnswerState
from runner.results import OK, CellResult

_TOLD = {
    AnswerState.TRUNCATED: "cut off at llm.max_new_tokens, and scored as they are",
    AnswerState.EMPTY: "empty, and scored as empty texts",
    AnswerState.REFUSED: "refused, and scored as empty texts",
    AnswerState.ERROR: "failed, and left out of the scores",
}


def show_answer_states(console: Console, cells: Sequence[CellResult]) -> None:
    """A line for every state other than OK that answers ended in, with the worst cell; failures with their kinds.

    Of cells that failed it tells no failures: these are the reason, which is shown anyway.
    """
    for state, what in _TOLD.items():
        told = [cell for cell in cells if state is not AnswerState.ERROR or cell.status == OK]
        if found := [cell for cell in told if cell.counts.get(state)]:
            worst = max(found, key=lambda cell: cell.counts[state] / sum(cell.counts.values()))
            errors = f": {listed_errors(worst.errors)}" if state is AnswerState.ERROR else ""
            console.print(
                f"answers {what}: in {len(found)} of {len(cells)} cells, up to {worst.counts[state]} of "
                f"{sum(worst.counts.values())} ({worst.cell_id}){errors}",
                markup=False,
                style="yellow",
            )


def listed_errors(errors: Mapping[str, int]) -> str:
    """E.g. "3 timeout, 1 rate_limit"; "" without any."""
    return ", ".join(f"{n} {error_class}" for error_class, n in errors.items())
