"""A sweep read back from its files, and the cells and metrics that users name in it. `runner.run` returns it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from components.errors import DataError
from components.json_value import Json
from components.limits import expected_one_of
from components.subsets import GROUPINGS, MACRO, OVERALL, readable_name
from runner.console.styled_text import count
from runner.results import cell_axes as axes
from runner.results.cell_axes import format_level
from runner.results.cell_choice import find_choice, without_bounds
from runner.results.cell_result import FAILED, OK, STOPPED, CellResult, all_failed_text, name_stopper
from runner.results.indistinguishable_cells import paired_test
from runner.results.joined_samples import common_means
from runner.results.leaderboard_order import NO_QUALITY, headlines, lacks_quality
from runner.results.metric_components import larger_is_better
from runner.results.partial_sweeps import chose_by_scores, n_candidates, search_text
from runner.results.result_files import RESULTS_DIR, find_sweep, read_cells, read_sweep

BEST = "best"
"""Name of the recommended cell. Ids of cells are hexadecimal, so they cannot begin like this."""

_BETWEEN_AXES = re.compile(r",(?=\s*[\w.@/]+=)")


@dataclass(frozen=True, repr=False)
class LoadedSweep:
    """A sweep's folder, the results of its finished cells, in the order of the sweep, and the ids of its other cells.

    For sweeps that were loaded together, `elsewhere` has the folders of cells that are not from the first sweep.
    `headline` is the headline of the first sweep: see `SweepResult`. `searches` are the searches that chose the cells.
    """

    folder: Path
    cells: tuple[CellResult, ...]
    unfinished: tuple[str, ...] = ()
    elsewhere: Mapping[str, Path] = field(default_factory=dict)
    headline: str = ""
    searches: tuple[Mapping[str, Json], ...] = ()

    def __repr__(self) -> str:
        counts = f"{len(self.cells)} cells, {len(self.failed)} of them failed, {len(self.unfinished)} unfinished"
        return f"<{type(self).__name__} {self.name}: {counts}>"

    @property
    def name(self) -> str:
        """The folder, or all folders, separated by commas."""
        return ", ".join(map(str, dict.fromkeys((self.folder, *self.elsewhere.values()))))

    def folder_of(self, cell: CellResult) -> Path:
        """Return the folder with the files of a cell."""
        return self.elsewhere.get(cell.cell_id, self.folder) / cell.cell_id

    @property
    def failed(self) -> tuple[CellResult, ...]:
        """Cells that ended with a failure; each has its `reason`."""
        return tuple(cell for cell in self.cells if cell.status == FAILED)

    @property
    def stopped(self) -> tuple[CellResult, ...]:
        """Cells without metrics: a race stopped them, because they can no longer win (see `race`), or the user did."""
        return tuple(cell for cell in self.cells if cell.status == STOPPED)

    def metric(self, text: str) -> "SubsetMetric":
        """Return the metric that "[subset:]metric" names in this sweep.

        Raises DataError, which lists the known names, for an unknown one.
        """
        self._require_a_result()
        return find_metric(text, self.cells)

    def cell(self, text: str) -> CellResult:
        """Return the one cell with this id, or with these axis values, e.g. "retriever=bm25,top_k=2".

        "best" is the recommended cell (see `best`); "best:rouge_l" and "best:read/qa_1doc:rouge_l" are the recommended
        cells by other metrics. Raises DataError if no cell or several cells match.
        """
        self._require_a_result()
        name, _, metric = text.partition(":")
        return self.best(metric) if name == BEST else find_cell(text, self.cells)

    def _require_a_result(self) -> None:
        """Raise DataError if the sweep has not finished any cell yet."""
        if self.unfinished and not self.cells:
            raise DataError(
                f"{self.name}: no cell has a result yet, {len(self.unfinished)} to go. If the sweep is not "
                "running, run its command again: finished work is cached."
            )

    def axes(self) -> list[str]:
        """Return the names of the axes that distinguish the cells."""
        return shown_axes(self.cells)

    def headlines(self) -> list[str]:
        """Return the metrics of the leaderboard that were computed. The first ranks the cells."""
        return headlines(self.cells, self.headline)

    @property
    def lacks_quality(self) -> bool:
        """True if only the tokens of prompts have a value, which recommends no cell."""
        return lacks_quality(self.headlines(), self.headline)

    def rank_cells(self, metric: str = "") -> list[CellResult]:
        """Return the successful cells that have a value of "[subset:]metric", best first.

        The default metric is the one that ranks the leaderboard. Values are over the samples that all of the cells
        have. Raises DataError for an unknown metric, and for files that cannot be read.
        """
        parsed = self.metric(metric or self.headline_metric())
        sign = 1 if parsed.direction() else -1
        common = common_means(self.cells, self.folder_of, parsed.metric, parsed.subset)
        values = {cell.cell_id: common.mean(cell, parsed.metric, parsed.subset) for cell in self.cells}
        valued = [cell for cell in self.cells if cell.status == OK and values[cell.cell_id] is not None]
        return sorted(valued, key=lambda cell: -sign * (values[cell.cell_id] or 0.0))

    def best(self, metric: str = "") -> CellResult:
        """Return the recommended cell by "[subset:]metric", by default by the metric that ranks the leaderboard.

        It is the cheapest of the cells within one standard error of the first of `rank_cells`, as in the report. Raises
        DataError if no cell has a value, or if the metric cannot rank cells.
        """
        parsed = self.metric(metric or self.quality_metric())
        larger_is_better = parsed.direction()
        valued = [cell for cell in self.cells if cell.status == OK and parsed.value(cell) is not None]
        if not valued:
            no_value = f"no cell has a value of {metric or parsed.metric}"
            raise DataError(f"{self.name}: {all_failed_text(self.cells) or no_value}")
        test = paired_test(len(self.cells))
        return find_choice(
            valued, self.folder_of, parsed.metric, parsed.subset, larger_is_better=larger_is_better, test=test
        ).cell

    def headline_metric(self) -> str:
        """Return the metric that ranks the leaderboard. Raises DataError if no metric was computed."""
        self._require_a_result()
        if not (metrics := self.headlines()):
            raise DataError(f"{self.name}: {all_failed_text(self.cells) or 'no cell has a value of any metric'}")
        return metrics[0]

    def quality_metric(self) -> str:
        """Return the metric that recommends a cell by default, as `headline_metric`.

        Raises DataError if no metric of quality was computed.
        """
        if self.lacks_quality:
            raise DataError(
                f"{self.name}: no cell is the best. {NO_QUALITY}. Choose a cell by its values, such as retriever=bm25."
            )
        return self.headline_metric()

    def table(self, *metrics: str) -> list[dict[str, Json]]:
        """Return a flat record per cell: its id, its status, the axes that vary, and the value of every
        "[subset:]metric".
        """
        parsed = {text: self.metric(text) for text in metrics}
        axes = self.axes()
        return [
            {
                "cell_id": cell.cell_id,
                "status": cell.status,
                **{axis: cell.axes.get(axis) for axis in axes},
                **{text: metric.value(cell) for text, metric in parsed.items()},
            }
            for cell in self.cells
        ]

    @property
    def is_chosen_by_scores(self) -> bool:
        """True if scores decided which cells were tried."""
        return any(map(chose_by_scores, self.searches))

    def require_grid(self, reason: str) -> None:
        """Raise DataError with the reason if scores decided which cells were tried."""
        if self.is_chosen_by_scores:
            marks = "; ".join(map(search_text, self.searches))
            raise DataError(f"{self.name}: {marks}. {reason}. docs/search.md has more.")

    @property
    def n_candidates(self) -> int:
        """Number of cells, including those that a search by scores could have tried."""
        return n_candidates(len(self.cells), self.searches)

    def left_out(self, n_used: int, *, leaves_out_bounds: bool = False) -> str:
        """Return a line about the cells that a table leaves out or never had; "" if it has all of them.

        The table has no upper bounds if it `leaves_out_bounds`.
        """
        n_stopped = len(self.stopped)
        n_bounds = len(self.cells) - len(without_bounds(self.cells)) if leaves_out_bounds else 0
        n = len(self.cells) + len(self.unfinished) - n_used - n_stopped - n_bounds
        lines = [search_text(each) for each in self.searches]
        lines += [f"left out: {count(n_bounds, 'cell')} with retriever=oracle, an upper bound"] if n_bounds else []
        lines += [f"left out: {count(n, 'cell')} that failed, or have no value or no result yet"] if n > 0 else []
        if n_stopped:
            by = name_stopper(self.stopped)
            lines.append(f"{n_stopped} of {len(self.cells)} cells were stopped by {by}, and are not included")
        return "; ".join(lines)


@dataclass(frozen=True)
class SubsetMetric:
    """A metric over a subset, written "[subset:]metric"; without a subset it is over all samples.

    `larger_is_better` comes from its component: None if neither larger nor smaller values are better. `readable_subset`
    is the subset for people (`readable_name`), "" if it is the same.
    """

    subset: str
    metric: str
    larger_is_better: bool | None
    readable_subset: str = field(default="", compare=False)

    def direction(self) -> bool:
        """Return `larger_is_better` of a metric that ranks cells. Raises DataError if neither direction is better."""
        if self.larger_is_better is None:
            raise DataError(f"{self.metric}: neither larger nor smaller is better, so it cannot rank cells")
        return self.larger_is_better

    def value(self, cell: CellResult) -> float | None:
        """Return the value of a cell, None if nothing could be scored."""
        return cell.value(self.metric, self.subset)

    def __str__(self) -> str:
        names = {OVERALL: "all samples", MACRO: "all subsets alike"}
        return f"{self.metric} of {names.get(self.subset, self.readable_subset or self.subset)}"


def load(text: str | Path, results_dir: str | Path = RESULTS_DIR) -> LoadedSweep:
    """Load the sweep in the folder `text`, or with that id in `results_dir`, with all its cells.

    Raises DataError if no such sweep exists, or a result cannot be read.
    """
    folder = find_sweep(str(text), Path(results_dir))
    cells = tuple(read_cells(folder))
    sweep = read_sweep(folder)
    unfinished = {cell["cell_id"] for cell in sweep.cells} - {cell.cell_id for cell in cells}
    searches = (sweep.search,) if sweep.search else ()
    return LoadedSweep(folder, cells, tuple(sorted(unfinished)), headline=sweep.headline, searches=searches)


def load_together(sweeps: Sequence[str | Path | LoadedSweep], results_dir: str | Path = RESULTS_DIR) -> LoadedSweep:
    """Load the cells of several sweeps, at least one, as one sweep.

    A cell that several of them contain is taken from the first sweep in which it did not fail. Raises DataError if a
    sweep does not exist or cannot be read.
    """
    loaded = [sweep if isinstance(sweep, LoadedSweep) else load(sweep, results_dir) for sweep in sweeps]
    by_id: dict[str, tuple[CellResult, Path]] = {}
    for sweep in loaded:
        for cell in sweep.cells:
            if cell.cell_id not in by_id or by_id[cell.cell_id][0].status != OK:
                by_id[cell.cell_id] = cell, sweep.folder_of(cell).parent
    first = loaded[0]
    unfinished = {cell_id for sweep in loaded for cell_id in sweep.unfinished} - set(by_id)
    return LoadedSweep(
        first.folder,
        axes.complete_axes([cell for cell, _ in by_id.values()]),
        tuple(sorted(unfinished)),
        {cell_id: folder for cell_id, (_, folder) in by_id.items() if folder != first.folder},
        first.headline,
        tuple(search for sweep in loaded for search in sweep.searches),
    )


def find_metric(text: str, cells: Iterable[CellResult]) -> SubsetMetric:
    """Return the metric that "[subset:]metric" names.

    Raises DataError, which lists the known names, for an unknown one.
    """
    cells = tuple(cells)
    subset, _, metric = text.rpartition(":")
    metrics: dict[str, set[str]] = {}
    for cell in cells:
        for name, entries in cell.metrics.items():
            metrics.setdefault(name, set()).update(entries)
    if not metrics:
        raise DataError(f"{text}: {all_failed_text(cells) or 'no cell of this sweep has any metric'}")
    labels = collect_labels(cells)
    subset = _find_subset(subset or OVERALL, metrics, labels, text)
    if metric not in metrics[subset]:
        raise DataError(f"{text}: {subset} has no metric {metric!r}{expected_one_of(metric, sorted(metrics[subset]))}")
    return SubsetMetric(subset, metric, larger_is_better(metric, cells), readable_name(subset, labels))


def collect_labels(cells: Iterable[CellResult]) -> dict[str, str]:
    """Return the labels of topics, tasks and subsets by their slugs."""
    return {slug: label for cell in cells for slug, label in cell.dataset.get("labels", {}).items()}


def _find_subset(subset: str, subsets: Iterable[str], labels: Mapping[str, str], text: str) -> str:
    """Return the subset of that name, or the only one of that label, such as "matrix/Funds/Comparison".

    Raises DataError for an unknown name, or a label of several subsets.
    """
    if subset in (names := set(subsets)):
        return subset
    matches = sorted(name for name in names if subset.casefold() in _subset_aliases(name, labels))
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise DataError(f"{text}: several subsets are called {subset!r}: {', '.join(matches)}. Use one of these names.")
    raise DataError(f"{text}: got the subset {subset!r}, expected one of {_list_names(names, subset, labels)}")


def _subset_aliases(subset: str, labels: Mapping[str, str]) -> set[str]:
    """Return the alternative names of a subset: its label, with and without the kind of its group."""
    group, _, slugs = subset.partition("/")
    if group not in GROUPINGS:
        return {labels[subset].casefold()} if subset in labels else set()
    label = "/".join(labels.get(slug, slug) for slug in slugs.split("/"))
    return {label.casefold(), f"{group}/{label}".casefold()}


def _list_names(subsets: Iterable[str], subset: str, labels: Mapping[str, str]) -> str:
    """List names of subsets. The many names of the topic x task matrix are listed only if `subset` is one."""
    in_matrix = subset.startswith("matrix/")
    names = sorted(readable_name(name, labels) for name in subsets if name.startswith("matrix/") == in_matrix)
    return ", ".join([*names, *([] if in_matrix else ["matrix/<topic>/<task>"])])


def find_cell(text: str, cells: Sequence[CellResult]) -> CellResult:
    """Return the one cell whose id begins with `text`, or with axis values such as "retriever=bm25,top_k=2".

    Raises DataError, which lists candidates, if none or several match.
    """
    if "=" in text:
        pairs = [pair.strip().partition("=") for pair in _BETWEEN_AXES.split(text)]
        levels = {axis: _normalize(value) for axis, _, value in pairs}
        matches = [
            cell
            for cell in cells
            if all(_normalize(format_level(cell.axes.get(axis))) == value for axis, value in levels.items())
        ]
    else:
        matches = [cell for cell in cells if cell.cell_id.startswith(text)]
    if len(matches) == 1 or ("=" in text and axes.are_draws(matches)):  # the first draw stands for all
        return matches[0]
    shown = shown_axes(cells)
    listed = "".join(f"\n  {cell.cell_id}  {describe(cell, shown)}" for cell in matches or cells)
    problem = f"{len(matches)} cells match, expected one:" if matches else "no cell matches, expected one of:"
    raise DataError(f"{text}: {problem}{listed}")


def _normalize(value: str) -> str:
    """Return a value without spaces, quotes, case and zeros at the end, in which what is typed may differ."""
    plain = re.sub(r"[\s'\"]", "", value).lower()
    return re.sub(r"^(-?\d+)\.0+$", r"\1", plain)


def axis_levels(cells: Sequence[CellResult]) -> dict[str, list[str | None]]:
    """Return the value of every cell as a string, by axis. None if the cell does not use the axis."""
    names = dict.fromkeys(name for cell in cells for name in cell.axes)
    values = {name: [cell.axes.get(name) for cell in cells] for name in names}
    return {name: [None if value is None else format_level(value) for value in row] for name, row in values.items()}


def varying_axes(cells: Iterable[CellResult]) -> list[str]:
    """Return the axes that vary among the cells: see `cell_axes.varying_axes`."""
    return axes.find_varying_axes(cells)


def shown_axes(cells: Iterable[CellResult]) -> list[str]:
    """Return the axes that tables and names of cells show: see `cell_axes.find_shown_axes`."""
    return axes.find_shown_axes(cells)


def describe(cell: CellResult, axes: Iterable[str]) -> str:
    """Describe a cell by the axes that it uses, e.g. "retriever=bm25, top_k=2"."""
    used = (axis for axis in axes if cell.axes.get(axis) is not None)
    return ", ".join(f"{axis}={format_level(cell.axes[axis])}" for axis in used)
