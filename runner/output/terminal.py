"""Prints the results of a sweep: its leaderboard, and the first metric by subset."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from components.json_value import Json
from components.records import ScoreState
from components.subsets import GROUPINGS, MACRO, OVERALL, readable_name
from runner.console.excluded_samples import excluded_texts
from runner.console.styled_text import count_decimals
from runner.output.leaderboard_rows import DRAWS_AXIS
from runner.results import OK, STOPPED, CellResult, larger_is_better
from runner.results.cell_axes import DATA_KEY, change_name, common_base, find_shown_axes, format_level, join_levels
from runner.results.cell_result import BUILT_IN
from runner.results.joined_samples import OWN_MEANS, CommonMeans
from runner.results.leaderboard_order import best_value, direction_sign
from runner.results.loaded_sweep import collect_labels
from runner.results.sample_groups import groups_note

_MAX_ROWS = 50
"""More rows are hard to read, and laying out hundreds takes longer than running a cached cell."""

_MAX_IDS = 3

_DIRECTIONS = {
    True: " (larger is better)",
    False: " (smaller is better)",
    None: " (neither larger nor smaller is better)",
}


def show_leaderboard(
    console: Console,
    metrics: Sequence[str],
    ordered: Sequence[CellResult],
    common: CommonMeans = OWN_MEANS,
    equal: Mapping[str, Sequence[CellResult]] | None = None,
    first_row: str = "",
    stopped: Sequence[CellResult] = (),
) -> None:
    """Print a row for each of the first cells of a ranking (see `rank_cells`), with as many metrics as fit.

    The best value of every metric is bold, and the first metric has an interval. If cells leave out different samples,
    `common` is the mean of the first metric over the samples that all cells have. It gets a column, which sorts the
    rows. `equal` are the cells that are folded into the row of another cell, by the id of that cell. `first_row` is a
    line about the first row. The cells that a race or the user `stopped` have no row, but their axes have columns.
    """
    equal = equal or {}
    axes = find_shown_axes([*ordered, *stopped]) or ["retriever"]
    base = common_base((cell.axes for cell in ordered), axes)
    table = _leaderboard(ordered, axes, base, metrics, common, equal)
    columns = list(metrics)
    unbounded = console.options.update(width=10_000)
    while len(columns) > 1 and console.measure(table, options=unbounded).maximum > console.width:
        columns.pop()
        table = _leaderboard(ordered, axes, base, columns, common, equal)
    console.print(f"[italic]{_title(ordered, metrics)}[/]")  # a title of the table would wrap at its width
    console.print(table)
    if first_row:
        console.print(first_row, markup=False, highlight=False)
    for line in _leaderboard_notes(ordered, metrics, len(columns), common, equal):
        console.print(f"[dim]{line}[/]")
    same, along = _axes_without_column(ordered, axes)
    if base is not None:
        console.print(f"[dim]the base: {', '.join(f'{name}={_axis(value)}' for name, value in base.items())}[/]")
    components = ", ".join(
        f"{name}={_axis(value)}" + (f" ({_axis(same[f'{name}.model'])})" if same.get(f"{name}.model") else "")
        for name, value in same.items()
        if "." not in name and value not in ("none", BUILT_IN)
    )
    console.print(f"[dim]fixed in this sweep: {components}[/]")
    if note := groups_note(ordered):
        console.print(f"[dim]{note}[/]")
    if along:
        console.print(f"[dim]without a column, because they change together with another axis: {', '.join(along)}[/]")


def show_stopped(console: Console, cells: Sequence[CellResult]) -> None:
    """Print the cells that the user or a race stopped, the cells that came furthest first.

    They have no rank. Prints nothing if no cell was stopped.
    """
    if by_user := [cell for cell in cells if cell.status == STOPPED and not cell.race]:
        axes = find_shown_axes(cells)
        names = (", ".join(f"{name}={_axis(cell.axes.get(name))}" for name in axes) or cell.cell_id for cell in by_user)
        listed = "; ".join(islice(names, _MAX_ROWS))
        console.print(f"Stopped by the user: {len(by_user):,} of {len(cells):,} cells, which have no rank: {listed}")
    stopped = sorted((cell for cell in cells if cell.race), key=lambda cell: (-cell.race["n"], cell.race["behind"]))
    if not stopped:
        return
    rules, axes = stopped[0].race, find_shown_axes(cells) or ["retriever"]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("cell", *axes):
        table.add_column(name, no_wrap=True)
    for name in ("after", f"behind the winner in {rules['metric']}"):
        table.add_column(name, justify="right", no_wrap=True)
    for cell in stopped[:_MAX_ROWS]:
        race = cell.race
        values = (_axis(cell.axes.get(name)) for name in axes)
        table.add_row(cell.cell_id, *values, f"{race['n']:,} of {race['n_samples']:,}", f"{race['behind']:.4f}")
    console.print(
        f"[italic]Stopped by the race: {len(stopped):,} of {len(cells):,} cells, which have no rank. With confidence "
        f"{rules['confidence']:g}, each would end behind the winner of the full run by at least:[/]"
    )
    if margin := rules.get("margin"):
        why = "a cell may stop although it is within this distance of the winner, so its bound may be 0"
        console.print(f"[dim]race.margin={margin:g}: {why}[/]")
    console.print(table)


def _leaderboard_notes(
    ordered: Sequence[CellResult],
    metrics: Sequence[str],
    n_metrics: int,
    common: CommonMeans,
    equal: Mapping[str, Sequence[CellResult]],
) -> Iterator[str]:
    """Yield notes about the rows, and about the first `n_metrics` metrics, which are columns of the table."""
    rows = cells_with_row(ordered, equal)
    if len(rows) > _MAX_ROWS:
        n_shown = sum(1 + len(equal.get(cell.cell_id, ())) for cell in rows[:_MAX_ROWS])
        yield f"the first {n_shown:,} of {len(ordered):,} cells; all are in leaderboard.csv"
    if equal:
        yield (
            f"+n equal: the row stands for n more cells with the same {metrics[0]} for every sample; a metric in "
            "which they differ is shown as its range"
        )
    if n_metrics < len(metrics):
        yield f"a wider terminal also shows: {', '.join(metrics[n_metrics:])}"
    if common.by_cell:
        yield f"sorted over the {common.n:,} samples for which every cell has a value of {metrics[0]}"
    yield from _exclusion_notes(ordered, metrics[:n_metrics])
    if any(DRAWS_AXIS in cell.axes for cell in ordered):
        yield (
            "each row, with its interval, is the mean over its draws. leaderboard.csv has every draw, and python -m "
            "analysis repeats shows how much they differ"
        )


def cells_with_row(ordered: Sequence[CellResult], equal: Mapping[str, Sequence[CellResult]]) -> list[CellResult]:
    """Return the cells that are not folded into the row of another cell."""
    folded = {cell.cell_id for others in equal.values() for cell in others}
    return [cell for cell in ordered if cell.cell_id not in folded]


def _axes_without_column(cells: Sequence[CellResult], columns: Sequence[str]) -> tuple[dict[str, Json], list[str]]:
    """Return the axes without a column: a mapping for axes with a single value, then the names of the others.

    The key of the data is not among the others, because the column along with which it varies explains it.
    """
    used: dict[str, list[Json]] = {}
    for cell in cells:
        for name, value in cell.axes.items():
            if name not in columns and value is not None and value not in used.setdefault(name, []):
                used[name].append(value)
    same = {name: values[0] for name, values in used.items() if len(values) == 1}
    return same, [name for name in used if name not in same and name != DATA_KEY]


def show_subsets(console: Console, metrics: Sequence[str], ordered: Sequence[CellResult]) -> None:
    """Print the leaderboard's first metric by subset for its first cells, with the mean over subsets.

    The best value of each column is bold. Prints nothing for a single subset, or if the table does not fit. A cell that
    lacks a value in a subset has no mean over subsets, because it would cover other subsets than the means of others.
    """
    subsets = list(dict.fromkeys(name for cell in ordered for name in _finest_subsets(cell)))
    if not metrics or len(subsets) < 2:
        return
    name = metrics[0]
    table = Table(title=f"{name} by subset", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("cell", no_wrap=True)
    columns = [subset for subset in (*subsets, MACRO) if any(cell.value(name, subset) is not None for cell in ordered)]
    values_by_cell = {cell.cell_id: _values_by_subset(cell, name, columns) for cell in ordered}
    labels = collect_labels(ordered)
    heads = [readable_name(subset, labels) for subset in columns]
    n_with_name = Counter(head.rpartition("/")[2] for head in heads)
    for head in heads:
        last = head.rpartition("/")[2]
        table.add_column(escape(last if n_with_name[last] == 1 else head), justify="right", no_wrap=True)
    sign = direction_sign(name, ordered)
    best = {subset: best_value((values[subset] for values in values_by_cell.values()), sign) for subset in columns}
    digits = count_decimals(value for values in values_by_cell.values() for value in values.values())
    for cell in ordered[:_MAX_ROWS]:
        values = values_by_cell[cell.cell_id]
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
        if any(cell.value(name, MACRO) != values_by_cell[cell.cell_id].get(MACRO) for cell in ordered[:_MAX_ROWS]):
            console.print(
                f"[dim]cells without a value in every subset have no {MACRO}, because it would average other subsets[/]"
            )


def _values_by_subset(cell: CellResult, metric: str, columns: Sequence[str]) -> dict[str, float | None]:
    values = {subset: cell.value(metric, subset) for subset in columns}
    lacks_a_subset = any(value is None for subset, value in values.items() if subset != MACRO)
    return values | {MACRO: None} if MACRO in values and lacks_a_subset else values


def _finest_subsets(cell: CellResult) -> list[str]:
    """Return the names of subsets that contain no other subset."""
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
        table.add_column(f"{metrics[0]} (n={common.n:,} common)", justify="right", no_wrap=True)
    for i, name in enumerate(metrics):
        table.add_column(f"{name} [dim]95% interval[/]" if i == 0 else name, justify="right", no_wrap=True)
    successful = [cell for cell in ordered if cell.status == OK] or ordered
    best = {
        name: best_value((cell.value(name) for cell in successful), direction_sign(name, ordered)) for name in metrics
    }
    digits = {name: count_decimals(cell.value(name) for cell in ordered) for name in metrics}
    for cell in cells_with_row(ordered, equal)[:_MAX_ROWS]:
        failed = "" if cell.status == OK else " [red]FAILED[/]"
        cells = [cell, *equal.get(cell.cell_id, ())]
        more = f" [dim]+{len(cells) - 1} equal[/]" if len(cells) > 1 else ""
        values = [_value(cells, name, best[name], digits[name], with_interval=i == 0) for i, name in enumerate(metrics)]
        if common.by_cell:
            value = common.by_cell.get(cell.cell_id)
            values.insert(0, "–" if value is None else f"{value:.{digits[metrics[0]]}f}")
        names = (
            [join_levels(cells, name) for name in axes]
            if base is None
            else [", ".join(dict.fromkeys(change_name(each.axes, base) for each in cells))]
        )
        table.add_row(cell.cell_id + more + failed, *map(escape, names), *values)
    return table


def _title(cells: Sequence[CellResult], metrics: Sequence[str]) -> str:
    sizes = {cell.dataset.get("n_samples") for cell in cells}
    n_samples = f"{sizes.pop():,} " if len(sizes) == 1 and None not in sizes else ""
    if not metrics:
        return f"Leaderboard of all {n_samples}samples"
    over = _coverage(cells, metrics[0]) or f"all {n_samples}samples"
    return f"Leaderboard by {metrics[0]}{_DIRECTIONS.get(larger_is_better(metrics[0], cells), '')}: {over}"


def _coverage(cells: Sequence[CellResult], metric: str) -> str:
    """Return, for example, "300 of 1,109 samples with a value", or "200 of 4,038 samples judged" if a judge drew them.

    "" if every cell has a value for every sample.
    """
    entries = [entry for cell in cells if (entry := cell.metrics.get(OVERALL, {}).get(metric)) and entry["n"]]
    if not any(entry["n_excluded"] for entry in entries):
        return ""
    n_all = max(_n_samples(entry) for entry in entries)
    if n_not_drawn := _n_not_drawn(entries[0]):
        return f"{_n_samples(entries[0]) - n_not_drawn:,} of {n_all:,} samples judged"
    n_valued = sorted({entry["n"] for entry in entries})
    ends = " to ".join(dict.fromkeys(f"{n:,}" for n in (n_valued[0], n_valued[-1])))
    return f"{ends} of {n_all:,} samples with a value"


def _n_samples(entry: Mapping[str, Json]) -> int:
    return int(entry["n"] + sum(entry["n_excluded"].values()))


def _n_not_drawn(entry: Mapping[str, Json]) -> int:
    return int(entry["n_excluded"].get(ScoreState.NOT_DRAWN, 0))


def _exclusion_text(entry: Mapping[str, Json]) -> str:
    """Return the number of samples with a value, and the reasons of the others. "200 of 4,038 judged" if a judge drew
    its samples.
    """
    n, n_all, n_not_drawn = entry["n"], _n_samples(entry), _n_not_drawn(entry)
    reasons = excluded_texts(entry["n_excluded"], omitted=[ScoreState.NOT_DRAWN])
    why = f"; {', '.join(reasons)}" if reasons else ""
    if not n_not_drawn:
        return f"over {n:,} of {n_all:,} samples{why}"
    n_drawn = n_all - n_not_drawn
    return f"{n_drawn:,} of {n_all:,} judged" + (f", over {n:,} of these{why}" if reasons else "")


def _exclusion_notes(cells: Sequence[CellResult], metrics: Sequence[str]) -> list[str]:
    """Return lines about metrics that leave samples out: in which cells, and why. Equal lines are joined."""
    lines: dict[str, list[str]] = {}
    for name in metrics:
        entries = {cell.cell_id: cell.metrics.get(OVERALL, {}).get(name) for cell in cells}
        valued = {cell_id: entry for cell_id, entry in entries.items() if entry and entry["n"]}
        ids_by_text: dict[str, list[str]] = {}
        for cell_id, entry in valued.items():
            if entry["n_excluded"]:
                ids_by_text.setdefault(_exclusion_text(entry), []).append(cell_id)
        for text, ids in ids_by_text.items():
            cells_note = f" ({_id_list(ids)})" if len(ids) < len(valued) else ""
            lines.setdefault(f"{cells_note}: {text}", []).append(name)
    return [f"{', '.join(names)}{text}" for text, names in lines.items()]


def _id_list(cell_ids: Sequence[str]) -> str:
    """Join the first few ids, with the number of the others."""
    more = len(cell_ids) - _MAX_IDS
    return ", ".join(cell_ids[:_MAX_IDS]) + (f" and {more} more" if more > 0 else "")


def _value(cells: Sequence[CellResult], name: str, best: float | None, digits: int, *, with_interval: bool) -> str:
    """Format the value of a row, or the smallest and the largest one if its cells differ."""
    cell, known = cells[0], sorted(value for each in cells if (value := each.value(name)) is not None)
    if not known:
        return "–"
    ends = dict.fromkeys(f"{value:.{digits}f}" for value in (known[0], known[-1]))
    text = " to ".join(ends)
    text = f"[bold]{text}[/]" if best in known and cell.status == OK else text
    entry = cell.metrics[OVERALL][name] if with_interval else {}
    if entry.get("ci_low") is not None:
        n_decimals = min(digits, 3)
        text += f" [dim]{entry['ci_low']:.{n_decimals}f}–{entry['ci_high']:.{n_decimals}f}[/]"
    return text


def _axis(value: object) -> str:
    return escape(format_level(value))
