"""A sweep in the terminal: leaderboard, subsets, failures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from components.json_value import Json
from components.subsets import GROUPINGS, MACRO, OVERALL
from runner.console.display import one_line
from runner.console.prose import count
from runner.console.unread_replies import unread_cause
from runner.output.cut_text_warnings import cut_lines
from runner.output.draw_rows import N_DRAWS
from runner.pipeline.corpus.step_reports import LINE
from runner.results import CellResult, larger_is_better
from runner.results.cell_axes import change_name, common_base, varying_axes
from runner.results.joined_samples import OWN_MEANS, CommonMeans
from runner.results.leaderboard_order import best_value, direction_sign
from runner.results.sample_groups import groups_note

_MOST_ROWS = 50
"""Of a leaderboard: nobody reads more in a terminal, and to lay out hundreds takes longer than to run a kept cell."""
_MOST_IDS = 3
_MOST_FAILED, _LONGEST_REASON = 10, 500
"""Cells, and characters of their reason, in a line of failures."""

_SMALLER = {False: " (smaller is better)", None: " (neither larger nor smaller is better)"}


def show_leaderboard(
    console: Console,
    metrics: Sequence[str],
    ordered: Sequence[CellResult],
    common: CommonMeans = OWN_MEANS,
    equal: Mapping[str, Sequence[CellResult]] | None = None,
) -> None:
    """A row for each of the first cells of a ranking (`ranked`), the best value of every metric in bold, an interval
    for the first; as many metrics as fit.

    Where cells leave out different samples, `common` is the first metric over those that all have: it has a column of
    its own, by which the cells are sorted. `equal` are cells that are folded into the row of another one (`Equal`).
    """
    equal = equal or {}
    axes = varying_axes(cell.axes for cell in ordered) or ["retriever"]
    base = common_base((cell.axes for cell in ordered), axes)
    table = _leaderboard(ordered, axes, base, metrics, common, equal)
    shown = list(metrics)
    unbounded = console.options.update(width=10_000)
    while len(shown) > 1 and console.measure(table, options=unbounded).maximum > console.width:
        shown.pop()
        table = _leaderboard(ordered, axes, base, shown, common, equal)
    console.print(f"[italic]{_title(ordered, metrics)}[/]")  # a title of the table's own would wrap at its width
    console.print(table)
    for line in _leaderboard_notes(ordered, metrics, len(shown), common, equal):
        console.print(f"[dim]{line}[/]")
    same, along = _not_shown(ordered, axes)
    if base is not None:
        console.print(f"[dim]the base: {', '.join(f'{name}={_axis(value)}' for name, value in base.items())}[/]")
    components = ", ".join(
        f"{name}={_axis(value)}" + (f" ({_axis(same[f'{name}.model'])})" if same.get(f"{name}.model") else "")
        for name, value in same.items()
        if "." not in name and value != "none"
    )
    console.print(f"[dim]the same in every cell that uses it: {components}[/]")
    if note := groups_note(ordered):
        console.print(f"[dim]{note}[/]")
    if along:
        console.print(f"[dim]varies along with one of these columns: {', '.join(along)}[/]")


def _leaderboard_notes(
    ordered: Sequence[CellResult],
    metrics: Sequence[str],
    n_metrics: int,
    common: CommonMeans,
    equal: Mapping[str, Sequence[CellResult]],
) -> Iterator[str]:
    """Lines on the rows and on the first `n_metrics` metrics, which are columns of the table."""
    rows = unfolded(ordered, equal)
    if len(rows) > _MOST_ROWS:
        n_shown = sum(1 + len(equal.get(cell.cell_id, ())) for cell in rows[:_MOST_ROWS])
        yield f"the first {n_shown:,} of {len(ordered):,} cells; all are in leaderboard.csv"
    if equal:
        yield (
            f"+n equal: the row stands for n more cells with the same {metrics[0]} for every sample; a metric in "
            "which they differ has its smallest and largest value"
        )
    if n_metrics < len(metrics):
        yield f"a wider terminal also shows: {', '.join(metrics[n_metrics:])}"
    if common.by_cell:
        yield f"Sorted over the {common.n} samples for which every cell has a value of {metrics[0]}."
    yield from _left_out(ordered, metrics[:n_metrics])
    if any(N_DRAWS in cell.axes for cell in ordered):
        yield (
            "A row is the mean of its draws, interval ends too. leaderboard.csv has each draw; how much they "
            "differ: python -m analysis repeats"
        )


def unfolded(ordered: Sequence[CellResult], equal: Mapping[str, Sequence[CellResult]]) -> list[CellResult]:
    """The cells that have a row of their own."""
    folded = {cell.cell_id for others in equal.values() for cell in others}
    return [cell for cell in ordered if cell.cell_id not in folded]


def _not_shown(cells: Sequence[CellResult], shown: Sequence[str]) -> tuple[dict[str, Json], list[str]]:
    """Axes that are no column: those of one value with it, and those of several."""
    used: dict[str, list[Json]] = {}
    for cell in cells:
        for name, value in cell.axes.items():
            if name not in shown and value is not None and value not in used.setdefault(name, []):
                used[name].append(value)
    same = {name: values[0] for name, values in used.items() if len(values) == 1}
    return same, [name for name in used if name not in same]


def show_subsets(console: Console, metrics: Sequence[str], ordered: Sequence[CellResult]) -> None:
    """The leaderboard's first metric by subset, with the mean over subsets, of its first cells; the best of each column
    in bold. Nothing for a single subset, or where the table does not fit. A cell without a value in a subset in
    which others have one has no mean over subsets: it would be over other subsets than theirs.
    """
    subsets = list(dict.fromkeys(name for cell in ordered for name in _finest_subsets(cell)))
    if not metrics or len(subsets) < 2:
        return
    name = metrics[0]
    table = Table(title=f"{name} by subset", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("cell", no_wrap=True)
    columns = [subset for subset in (*subsets, MACRO) if any(cell.value(name, subset) is not None for cell in ordered)]
    in_table = {cell.cell_id: _by_subset(cell, name, columns) for cell in ordered}
    n_of = Counter(subset.rpartition("/")[2] for subset in columns)
    for subset in columns:
        last = subset.rpartition("/")[2]
        table.add_column(last if n_of[last] == 1 else subset, justify="right", no_wrap=True)
    sign = direction_sign(name, ordered)
    best = {subset: best_value((values[subset] for values in in_table.values()), sign) for subset in columns}
    digits = _n_digits(value for values in in_table.values() for value in values.values())
    for cell in ordered[:_MOST_ROWS]:
        values = in_table[cell.cell_id]
        table.add_row(
            cell.cell_id,
            *(
                "–"
                if value is None
                else f"[bold]{value:.{digits}f}[/]"
                if value == best[subset]
                else f"{value:.{digits}f}"
                for subset, value in values.items()
            ),
        )
    if console.measure(table, options=console.options.update(width=10_000)).maximum <= console.width:
        console.print(table)
        if any(cell.value(name, MACRO) != in_table[cell.cell_id].get(MACRO) for cell in ordered[:_MOST_ROWS]):
            console.print(f"[dim]no {MACRO} of cells that lack a subset: it would be a mean over other subsets[/]")


def _by_subset(cell: CellResult, metric: str, columns: Sequence[str]) -> dict[str, float | None]:
    values = {subset: cell.value(metric, subset) for subset in columns}
    lacks_a_subset = any(value is None for subset, value in values.items() if subset != MACRO)
    return values | {MACRO: None} if MACRO in values and lacks_a_subset else values


def _finest_subsets(cell: CellResult) -> list[str]:
    """Names of subsets that hold no other."""
    names = [name for name in cell.metrics if name not in (OVERALL, MACRO) and name.split("/")[0] not in GROUPINGS]
    return [name for name in names if not any(other.startswith(f"{name}/") for other in names)]


def _leaderboard(
    ordered: Sequence[CellResult],
    axes: Sequence[str],
    base: Mapping[str, Json] | None,
    metrics: Sequence[str],
    common: CommonMeans,
    equal: Mapping[str, Sequence[CellResult]],
) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("cell", *(axes if base is None else ["changed"])):
        table.add_column(name, no_wrap=True)
    if common.by_cell:
        table.add_column(f"{metrics[0]} of {common.n} common", justify="right", no_wrap=True)
    for i, name in enumerate(metrics):
        table.add_column(f"{name} [dim]95% interval[/]" if i == 0 else name, justify="right", no_wrap=True)
    sound = [cell for cell in ordered if cell.status == "OK"] or ordered
    best = {name: best_value((cell.value(name) for cell in sound), direction_sign(name, ordered)) for name in metrics}
    digits = {name: _n_digits(cell.value(name) for cell in ordered) for name in metrics}
    for cell in unfolded(ordered, equal)[:_MOST_ROWS]:
        failed = "" if cell.status == "OK" else " [red]FAILED[/]"
        cells = [cell, *equal.get(cell.cell_id, ())]
        more = f" [dim]+{len(cells) - 1} equal[/]" if len(cells) > 1 else ""
        values = [_value(cells, name, best[name], digits[name], with_interval=i == 0) for i, name in enumerate(metrics)]
        if common.by_cell:
            value = common.by_cell.get(cell.cell_id)
            values.insert(0, "–" if value is None else f"{value:.{digits[metrics[0]]}f}")
        told = (
            [[_axis(own.axes.get(name)) for own in cells] for name in axes]
            if base is None
            else [[escape(change_name(own.axes, base)) for own in cells]]
        )
        table.add_row(cell.cell_id + more + failed, *(", ".join(dict.fromkeys(texts)) for texts in told), *values)
    return table


def _title(cells: Sequence[CellResult], metrics: Sequence[str]) -> str:
    sizes = {cell.dataset.get("n_samples") for cell in cells}
    n_samples = f"{sizes.pop():,} " if len(sizes) == 1 and None not in sizes else ""
    if not metrics:
        return f"Leaderboard: all {n_samples}samples"
    over = _over(cells, metrics[0]) or f"all {n_samples}samples"
    return f"Leaderboard: {over}, by {metrics[0]}{_SMALLER.get(larger_is_better(metrics[0], cells), '')}"


def _over(cells: Sequence[CellResult], metric: str) -> str:
    """E.g. "300 of 1,109 samples with ndcg@10"; "" where every cell has a value for every sample."""
    entries = [entry for cell in cells if (entry := cell.metrics.get(OVERALL, {}).get(metric)) and entry["n"]]
    if not any(entry["n_excluded"] for entry in entries):
        return ""
    n_valued = sorted({entry["n"] for entry in entries})
    n_all = max(entry["n"] + sum(entry["n_excluded"].values()) for entry in entries)
    ends = " to ".join(dict.fromkeys(f"{n:,}" for n in (n_valued[0], n_valued[-1])))
    return f"{ends} of {n_all:,} samples with {metric}"


def _left_out(cells: Sequence[CellResult], metrics: Sequence[str]) -> list[str]:
    """Which metrics are not over all samples, in which cells if not in all, and why; the same words once."""
    lines: dict[str, list[str]] = {}
    for name in metrics:
        entries = {cell.cell_id: cell.metrics.get(OVERALL, {}).get(name) for cell in cells}
        valued = {cell_id: entry for cell_id, entry in entries.items() if entry and entry["n"]}
        ids_by_text: dict[str, list[str]] = {}
        for cell_id, entry in valued.items():
            if entry["n_excluded"]:
                why = ", ".join(f"{n} {reason}" for reason, n in entry["n_excluded"].items())
                text = f"over {entry['n']} of {entry['n'] + sum(entry['n_excluded'].values())} samples; left out: {why}"
                ids_by_text.setdefault(text, []).append(cell_id)
        for text, ids in ids_by_text.items():
            where = f" ({_listed(ids)})" if len(ids) < len(valued) else ""
            lines.setdefault(f"{where}: {text}", []).append(name)
    return [f"{', '.join(names)}{text}" for text, names in lines.items()]


def _listed(cell_ids: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = len(cell_ids) - _MOST_IDS
    return ", ".join(cell_ids[:_MOST_IDS]) + (f" and {more} more" if more > 0 else "")


def show_unread_judgements(console: Console, cells: Sequence[CellResult]) -> None:
    """A line for every judge whose replies could not all be read, with the worst cell."""
    for judge in dict.fromkeys(judge for cell in cells for judge in cell.judges):
        unread = [cell.judges[judge] for cell in cells if cell.judges.get(judge, {}).get("n_unparsable")]
        if unread:
            worst = max(unread, key=lambda of: of["n_unparsable"] / of["n_judged"])
            console.print(
                f"{judge}: replies that cannot be read in {len(unread)} of {count(len(cells), 'cell')}, "
                f"for up to {worst['n_unparsable']} of {worst['n_judged']} samples "
                f"({unread_cause(worst)})",
                markup=False,
                style="yellow",
            )


def show_cut_texts(console: Console, cells: Sequence[CellResult]) -> None:
    """A line for every model that did not read all of its texts."""
    for line in cut_lines(cells):
        console.print(line, markup=False, style="yellow")


def show_steps(console: Console, cells: Sequence[CellResult]) -> None:
    """What steps tell of themselves, the same words once."""
    lines = Counter(facts[LINE] for cell in cells for facts in cell.steps.values() if LINE in facts)
    for line, n in lines.items():
        of_cells = f" ({n} of {len(cells)} cells)" if n < len(cells) else ""
        console.print(f"{line}{of_cells}", markup=False)


def show_failures(console: Console, cells: Iterable[CellResult]) -> None:
    """Print why cells failed, equal reasons once. A long reason is cut; `cell.json` has all of it."""
    reasons: dict[str, list[str]] = {}
    for cell in cells:
        if cell.status != "OK":
            reasons.setdefault(cell.reason, []).append(cell.cell_id)
    for reason, cell_ids in reasons.items():
        shown = one_line(reason, _LONGEST_REASON)
        if len(shown) < len(" ".join(reason.split())):
            shown += f" ... (the whole text: reason in {cell_ids[0]}/cell.json)"
        more = f" and {len(cell_ids) - _MOST_FAILED} more" if len(cell_ids) > _MOST_FAILED else ""
        console.print(f"[red]FAILED[/] {', '.join(cell_ids[:_MOST_FAILED])}{more}: {escape(shown)}")


def _n_digits(values: Iterable[float | None]) -> int:
    """Decimals: four for scores, one for lengths and counts, which reach 10 and more."""
    return 1 if max((abs(value) for value in values if value is not None), default=0.0) >= 10 else 4


def _value(cells: Sequence[CellResult], name: str, best: float | None, digits: int, *, with_interval: bool) -> str:
    """Of the cells of a row, the smallest and the largest value where they differ."""
    cell, known = cells[0], sorted(value for own in cells if (value := own.value(name)) is not None)
    if not known:
        return "–"
    ends = dict.fromkeys(f"{value:.{digits}f}" for value in (known[0], known[-1]))
    text = " to ".join(ends)
    text = f"[bold]{text}[/]" if best in known and cell.status == "OK" else text
    entry = cell.metrics["overall"][name] if with_interval else {}
    if entry.get("ci_low") is not None:
        n_decimals = min(digits, 3)
        text += f" [dim]{entry['ci_low']:.{n_decimals}f}–{entry['ci_high']:.{n_decimals}f}[/]"
    return text


def _axis(value: object) -> str:
    return "–" if value is None else escape(str(value))
