"""Prints the plan of a sweep before work begins: data, cells, stages and requests."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from components.datasets.file_content import OFFICE_SUFFIXES
from components.json_value import Json
from components.text.languages import NAMES, UNKNOWN
from runner.console.styled_text import count, join_names
from runner.engine import environment
from runner.engine.identity import walk_components
from runner.engine.plan import KindCount, Plan
from runner.engine.request_counts import RequestCount
from runner.pipeline.corpus.chunk_stages import BlockSegments
from runner.pipeline.planned_cells import Job, PlannedCell, SweepPlan
from runner.results.cell_axes import parse_config_path, parse_override_key


def show_plan(console: Console, sweep: SweepPlan, *, by_stage: bool) -> None:
    """Print the sizes of the data, and the number of cells, of requests and of stages, cached ones included.

    With `by_stage`, several cells also get a table of stages by kind, and judges one of their requests.
    """
    cells, kinds = sweep.cells, sweep.plan.kinds
    n_same = sweep.n_requested - len(cells)
    same = f" ({count(n_same, 'duplicate combination')} left out)" if n_same else ""
    _show_data(console, cells)
    n_stages, n_computed = sum(kind.n_unique for kind in kinds), sum(kind.n_computed_by_plan for kind in kinds)
    n_before = sum(kind.n_cached for kind in kinds) - n_computed
    computed = f", {n_computed:,} computed for this plan" if n_computed else ""
    console.print(
        f"[bold]Plan[/]: {count(len(cells), 'cell')}{same}, {_requests(sweep.plan)}\n"
        f"      {count(n_stages, 'stage')}, {n_before:,} of them cached{computed}{_unchanged_blocks(kinds)}"
    )
    for line in (
        *edit_lines(sweep.plan),
        *uncovered_lines(sweep.plan),
        *version_lines(sweep.plan, cells[0].request.cell.run.fresh),
    ):
        console.print(f"      {line}", style="yellow", markup=False)
    for line in partial_override_lines(cells):
        console.print(f"      {line}", markup=False)
    if by_stage and len(cells) > 1:
        console.print(_stages(kinds))
    if by_stage and any(requests.groups for requests in sweep.plan.requests):
        console.print(_groups(sweep.plan.requests))


def show_search(console: Console, corners: SweepPlan, head: str) -> None:
    """Print the sizes of the data, the first line about a search, and the maximum number of its requests."""
    _show_data(console, corners.cells)
    console.print(f"[bold]Plan[/]: {head}, {_requests(corners.plan)}")
    for line in version_lines(corners.plan, ()):  # cells proposed later may use more outdated results
        console.print(f"      {line}", style="yellow", markup=False)


def _show_data(console: Console, cells: Sequence[PlannedCell]) -> None:
    for line in dict.fromkeys(_data_line(cell) for cell in cells):
        console.print(line, markup=False)
    for line in dict.fromkeys(line for cell in cells for line in cell.lines):
        console.print(line, markup=False)
    for line in language_misfits(cells):
        console.print(line, style="yellow", markup=False)


def partial_override_lines(cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Yield lines about settings that only some options of a group have, so that they apply only to some cells."""
    having: dict[str, list[Job]] = {}
    for cell in cells:
        for override in cell.request.job.overrides:
            having.setdefault(parse_override_key(override), []).append(cell.request.job)
    for key, jobs in having.items():
        group = parse_config_path(key).partition(".")[0]
        if group == "pipeline":  # the built-in pipeline has these fields, and reads none
            jobs = [job for job in jobs if job.axes[group] != "built_in"]
        if len(jobs) < len(cells) and group != key:
            options = join_names(list(dict.fromkeys(f"{group}={job.axes[group]}" for job in jobs)))
            yield f"{key} applies only to {options}: {len(jobs):,} of {count(len(cells), 'cell')}"


def edit_lines(plan: Plan) -> Iterator[str]:
    """Yield a line for each model of a user whose code changed, so that its answers are requested again."""
    for requests in plan.requests:
        for model in requests.edited:
            yield (
                f"{count(model.n_answers, 'answer')} of {model.name} requested again for {requests.title}: "
                f"{', '.join(model.modules)} changed since they were given"
            )


def uncovered_lines(plan: Plan) -> Iterator[str]:
    """Yield a line for each component of a user whose stored results may be older than files that it reads."""
    for component in plan.edited_files:
        files = join_names(component.files[:3]) if len(component.files) < 4 else f"{len(component.files):,} files"
        yield (
            f"{component.name}: stored results may be outdated: {files} changed since its first run, and no key covers "
            "files outside its package. Change its revision (or version) to run it again (docs/identity.md)"
        )


def version_lines(plan: Plan, fresh: Collection[str]) -> Iterator[str]:
    """Yield a line for the kinds of stages in `fresh` (run.fresh), and one for results of other library versions."""
    if plan.outdated:
        yield f"{count(len(plan.outdated), 'cached result')} to be computed again (run.fresh)"
    elif fresh:
        yield (
            f"run.fresh: no cached result ({join_names(fresh)}) was computed with other library versions, so none is "
            "computed again"
        )
    if n := plan.others.n_results:
        here = environment.installed_versions()
        packages = ", ".join(
            f"{name} {then} (now {here[name]}): {n:,}" for (name, then), n in plan.others.packages.items()
        )
        yield (
            f"{count(n, 'cached result')} computed with other versions: {packages}. To compute them again: "
            f"run.fresh=[all], or kinds of them: [{','.join(plan.others.kinds)}]"
        )


def _unchanged_blocks(kinds: Sequence[KindCount]) -> str:
    """Describe the number of cached blocks of documents if some are and some are not, else "".

    Most other stages depend on all documents, so that they are computed again if one document changed.
    """
    blocks = next((kind for kind in kinds if kind.kind == BlockSegments.kind), None)
    if not blocks or blocks.n_cached in (0, blocks.n_unique):
        return ""
    return f"; {blocks.n_cached:,} of {count(blocks.n_unique, 'block')} of documents are unchanged"


def _stages(kinds: Sequence[KindCount]) -> Table:
    table = Table("stage", "needed", "distinct", "cached", "to do", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    rows = [(kind.n_requested, kind.n_unique, kind.n_cached, kind.n_to_run) for kind in kinds]
    for kind, row in zip(kinds, rows, strict=True):
        table.add_row(kind.title, *map(str, row))
    table.add_row("[bold]all[/]", *(f"[bold]{sum(column)}[/]" for column in zip(*rows, strict=True)))
    return table


def _groups(requests: Sequence[RequestCount]) -> Table:
    """Build the table of requests and tokens by judge. Equal requests of two judges count in the first one."""
    table = Table("requests for", "by", "requests", "with retries", "tokens", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[2:]:
        column.justify = "right"
    for kind in requests:
        for group in kind.groups:
            at_most = "" if group.is_exact else "at most "
            tokens = "–" if group.n_tokens is None else f"at most {group.n_tokens:,}"
            repeats = f"at most {group.n_with_repeats:,}"
            table.add_row(kind.title, group.title, f"{at_most}{group.n_requests:,}", repeats, tokens)
    return table


def _requests(plan: Plan) -> str:
    """Return the number of requests to language models by purpose, or an upper bound if prompts are not known yet."""
    counts = [requests for requests in plan.requests if requests.n_requests]
    if not counts:
        return "no request to a language model"
    is_counted = all(requests.is_exact for requests in counts)
    by_purpose = ", ".join(map(_requests_for_purpose, counts))
    return by_purpose + ("" if is_counted else "; cached replies are not subtracted yet")


def _requests_for_purpose(requests: RequestCount) -> str:
    at_most = "" if requests.is_exact else "at most "
    text = f"{at_most}{count(requests.n_requests, 'request')} for {requests.title}"
    if requests.n_with_repeats == requests.n_requests:
        return text
    return f"{text} (at most {requests.n_with_repeats:,} with retries of unreadable replies)"


_LEFT_OUT = {
    "n_files_of_other_kinds": ("unsupported file", "unsupported files"),
    "n_empty_documents": ("empty document", "empty documents"),
    "n_documents_left_aside": ("document that was not drawn", "documents that were not drawn"),
    "n_documents_repeated": ("repeated document", "repeated documents"),
    "n_pdf_pages_without_text": ("PDF page without text", "PDF pages without text"),
    "n_json_files_without_texts": ("JSON file without texts", "JSON files without texts"),
    "n_tables_without_text_columns": ("table without a column of texts", "tables without a column of texts"),
    "n_tables_without_rows": ("empty table", "empty tables"),
    "n_views": ("view", "views"),
    "n_binary_values": ("binary value", "binary values"),
    "n_items_rejected": ("rejected item", "rejected items"),
    "n_empty_conversations": ("empty conversation", "empty conversations"),
    "n_sets_skipped": ("skipped set", "skipped sets"),
    "n_duplicates_merged": ("merged duplicate document", "merged duplicate documents"),
    "n_blank_passages": ("blank passage", "blank passages"),
    "n_prepared_of_unknown_queries": (
        "prepared question that is not in the data",
        "prepared questions that are not in the data",
    ),
    "n_answers_of_unknown_queries": ("answer to an unknown question", "answers to unknown questions"),
    "n_qrels_repeated": ("repeated judgement", "repeated judgements"),
    "n_qrels_of_unknown_queries": ("judgement of an unknown question", "judgements of unknown questions"),
    "n_fields_left_aside": ("unknown question field", "unknown question fields"),
}
"""Names, singular and plural, for what a data set leaves out, by the note that counts it."""

_NOT_FOUND = {
    "n_gold_passages_not_found": ("gold passage", "gold passages"),
    "n_gold_units_not_in_corpus": ("gold passage in the corpus", "gold passages in the corpus"),
    "n_facts_not_found": ("fact", "facts"),
}
"""Names for what the documents do not contain."""

_INCOMPLETE = {
    "n_files_with_invalid_front_matter": (
        "file with front matter that is not YAML and became text",
        "files with front matter that is not YAML and became text",
    ),
    "n_split_files_cut_off": ("truncated split file", "truncated split files"),
    "n_gold_passages_missing": ("question without its gold passages", "questions without their gold passages"),
    "n_gold_texts_missing": ("missing gold text", "missing gold texts"),
    "n_queries_not_prepared": ("question that is not prepared", "questions that are not prepared"),
    "n_subsets_without_items": ("subset without items", "subsets without items"),
    "n_gaps_in_corpus_files": (
        "gap in the numbers of the corpus files",
        "gaps in the numbers of the corpus files",
    ),
}
"""Names for what the files of a data set lack."""

_Names = Mapping[str, tuple[str, str]]


def _data_line(planned: PlannedCell) -> str:
    cell, data = planned.request.cell, planned.graph.data
    losses = data_losses(data.notes)
    language = f" in {NAMES[data.language]}" if data.language in NAMES and cell.language.name != UNKNOWN else ""
    n_passages = int(data.notes.get("n_passages_added") or 0)
    passages = f" ({n_passages:,} of them passages of questions)" if 0 < n_passages < data.n_documents else ""
    documents = f"{count(data.n_documents, 'document')}{passages}"
    sizes = f"{cell.dataset.name}: {documents}, {count(data.n_samples, 'sample')}{language}"
    unread = str(data.notes.get("files_of_other_kinds") or "")
    readable = [suffix for suffix in OFFICE_SUFFIXES if suffix in unread]
    hint = f" (parser=office reads {', '.join(readable)})" if readable else ""
    n_lists = int(data.notes.get("n_references_like_lists") or 0)
    looks = "looks like a list" if n_lists == 1 else "look like lists"
    lists = f"; {count(n_lists, 'reference')} that {looks} written as text" if n_lists else ""
    n_repeated = int(data.notes.get("n_samples_repeated") or 0)
    repeated = (
        f"; {count(n_repeated, 'sample')} with the question and references of an earlier one" if n_repeated else ""
    )
    if "left out" in losses:
        losses["left out"] += hint
    lost = "".join(f"; {head}: {text}" for head, text in losses.items())
    return sizes + lost + repeated + lists


def data_losses(notes: Mapping[str, Json]) -> dict[str, str]:
    """Return the losses of a data set, as a list of counts by "left out", "not found" and "incomplete".

    For example, "left out" is "3 unsupported files (2 .docx, 1 .xlsx)". A kind of loss without counts is absent.
    """
    by_head = {"left out": _LEFT_OUT, "not found": _NOT_FOUND, "incomplete": _INCOMPLETE}
    return {head: text for head, names in by_head.items() if (text := ", ".join(_note_counts(notes, names)))}


def _note_counts(notes: Mapping[str, Json], names: _Names) -> Iterator[str]:
    """Yield a note's count with its details, which are the note of the same name without "n_"."""
    for note, (noun, plural) in names.items():
        if n := notes.get(note):
            details = notes.get(note.removeprefix("n_"))
            yield count(int(n), noun, plural) + (f" ({details})" if details else "")


def language_misfits(cells: Collection[PlannedCell]) -> list[str]:
    """Return a line for each language of the cells' texts that some of their components are not made for.

    Tokenizers, metrics, prompts and judges may be made for particular languages.
    """
    misfits: dict[str, dict[str, None]] = {}
    for cell in cells:
        misfits.setdefault(cell.graph.data.language, {}).update(dict.fromkeys(_misfits(cell)))
    chosen = {cell.request.cell.language.name for cell in cells}
    return [
        f"language: the texts {_appearance(language)}: {', '.join(names)}. {_remedy(language, chosen)}"
        for language, names in misfits.items()
        if names
    ]


def _misfits(cell: PlannedCell) -> Iterator[str]:
    """Yield the field and the class of each component of the cell that is not made for the language of its texts.

    Yields nothing for `language=multi`: the user says that the texts are in several languages, and guessing the
    commonest one is no better.
    """
    language = cell.graph.data.language
    if cell.request.cell.language.name == UNKNOWN:
        return
    for field in sorted(cell.graph.used):
        for part in walk_components(getattr(cell.request.cell, field)):
            made_for = getattr(part, "languages", ())
            if made_for and language not in made_for:
                yield f"{field} ({type(part).__name__})"


def _appearance(language: str) -> str:
    if language in NAMES:
        return f"look {NAMES[language]}, but these components are made for other languages"
    return (
        "are in several languages, or in one that we do not recognize, but these components are made for a single "
        "language"
    )


def _remedy(language: str, chosen: Collection[str]) -> str:
    """Return advice. If all cells have chosen the language already, the components override that choice."""
    if chosen == {language}:
        return "Choose others, unless this is intended."
    return f"Add language={language}, or choose others."
