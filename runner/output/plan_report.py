"""The plan of a sweep in the terminal: data, cells, stages and requests, before work begins."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from components.json_value import Json
from components.text.languages import NAMES
from runner.console.prose import count
from runner.engine import environment
from runner.engine.plan import KindCount, Plan
from runner.engine.request_counts import RequestCount
from runner.output.language_fit import misfits
from runner.pipeline.corpus.chunk_stages import BlockSegments
from runner.pipeline.corpus.loaded_data import Data
from runner.pipeline.planned import SweepPlan


def show_plan(console: Console, sweep: SweepPlan, *, by_stage: bool) -> None:
    """Cells, what will be asked, what is kept; for several cells also a table of stages by kind, if wanted."""
    cells, kinds = sweep.cells, sweep.plan.kinds
    n_same = sweep.n_requested - len(cells)
    same = f" ({n_same} more asked for are the same experiment as one of these)" if n_same else ""
    for line in dict.fromkeys(_data_line(cell.request.cell.dataset.name, cell.graph.data) for cell in cells):
        console.print(line, markup=False)
    for line in misfits(cells):
        console.print(line, style="yellow", markup=False)
    n_stages, n_just_made = sum(kind.n_unique for kind in kinds), sum(kind.n_just_made for kind in kinds)
    n_before = sum(kind.n_kept for kind in kinds) - n_just_made
    made = f", {n_just_made:,} made for this plan" if n_just_made else ""
    console.print(
        f"[bold]Plan[/]: {count(len(cells), 'cell')}{same}, {_requests(sweep.plan)}\n"
        f"      {count(n_stages, 'stage')}, {n_before:,} of them kept from before{made}{_corpus_that_grew(kinds)}"
    )
    for line in (*edit_lines(sweep.plan), *version_lines(sweep.plan)):
        console.print(f"      {line}", style="yellow", markup=False)
    if by_stage and len(cells) > 1:
        console.print(_stages(kinds))


def edit_lines(plan: Plan) -> Iterator[str]:
    """A line for each model of a user's whose earlier code gave answers that are asked again."""
    for own in plan.requests:
        for model in own.edited:
            yield (
                f"{count(model.n_answers, 'answer')} of {model.name} asked again for {own.title}: "
                f"{', '.join(model.modules)} changed since they were given"
            )


def version_lines(plan: Plan) -> Iterator[str]:
    """A line for kept results that other versions of libraries made, and one for those that are made again."""
    if plan.outdated:
        yield f"{count(len(plan.outdated), 'kept result')} to be made again (run.fresh)"
    if n := plan.others.n_results:
        here = environment.versions_here()
        packages = ", ".join(
            f"{name} {then} (now {here[name]}): {n:,}" for (name, then), n in plan.others.packages.items()
        )
        yield (
            f"{count(n, 'kept result')} made with other versions: {packages}. To make them again: run.fresh=[all], or "
            f"kinds of them: [{','.join(plan.others.kinds)}]"
        )


def _corpus_that_grew(kinds: Sequence[KindCount]) -> str:
    """How much of a corpus is as it was, where that is some of it: most stages are of what all documents have a part
    in.
    """
    blocks = next((kind for kind in kinds if kind.kind == BlockSegments.kind), None)
    if not blocks or blocks.n_kept in (0, blocks.n_unique):
        return ""
    return f"; {blocks.n_kept:,} of {count(blocks.n_unique, 'block')} of documents are as before"


def _stages(kinds: Sequence[KindCount]) -> Table:
    table = Table("stage", "asked for", "distinct", "kept", "to do", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    rows = [(kind.n_asked, kind.n_unique, kind.n_kept, kind.n_to_run) for kind in kinds]
    for kind, row in zip(kinds, rows, strict=True):
        table.add_row(kind.title, *map(str, row))
    table.add_row("[bold]all[/]", *(f"[bold]{sum(column)}[/]" for column in zip(*rows, strict=True)))
    return table


def _requests(plan: Plan) -> str:
    """How often language models will be asked, and what for; "at most" where prompts are not made yet."""
    counts = [own for own in plan.requests if own.n_requests]
    if not counts:
        return "no language model is asked"
    is_counted = all(own.is_exact for own in counts)
    asked = ", ".join(map(_requests_of_kind, counts))
    return asked + ("" if is_counted else "; replies that are kept are not subtracted yet")


def _requests_of_kind(own: RequestCount) -> str:
    at_most = "" if own.is_exact else "at most "
    text = f"{at_most}{count(own.n_requests, 'request')} for {own.title}"
    if own.n_with_repeats == own.n_requests:
        return text
    return f"{text} (at most {own.n_with_repeats:,} with repeats of unreadable replies)"


_LEFT_OUT = {
    "n_files_of_other_kinds": "unsupported file",
    "n_empty_documents": "empty document",
    "n_documents_left_aside": "undrawn document",
    "n_documents_repeated": "repeated document",
    "n_pdf_pages_without_text": "empty PDF page",
    "n_json_files_without_texts": "textless JSON file",
    "n_tables_without_text_columns": "textless table",
    "n_tables_without_rows": "empty table",
    "n_views": "view",
    "n_binary_values": "binary value",
    "n_items_rejected": "rejected item",
    "n_fields_left_aside": "unknown question field",
}
"""Notes of data sets that say that something is left out."""


def _data_line(name: str, data: Data) -> str:
    """Sizes, and what is left out."""
    left_out = list(left_out_of_data(data.notes))
    language = f" in {NAMES[data.language]}" if data.language in NAMES else ""
    sizes = f"{name}: {count(data.n_documents, 'document')}, {count(data.n_samples, 'sample')}{language}"
    return sizes + (f"; left out: {', '.join(left_out)}" if left_out else "")


def left_out_of_data(notes: Mapping[str, Json]) -> Iterator[str]:
    """What is left out, with details where a note of the same name without the "n_" has some."""
    for note, what in _LEFT_OUT.items():
        if n := notes.get(note):
            details = notes.get(note.removeprefix("n_"))
            yield count(int(n), what) + (f" ({details})" if details else "")
