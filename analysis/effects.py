"""python -m analysis effects: the axes of the grid on which a metric depends, and how much."""

import argparse
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from analysis import table_output as terminal
from analysis.decision.design import LevelDesign, level_design
from analysis.table_output import STAR, UNKNOWN, Marks, TableColumn
from components.errors import DataError
from components.statistics import SampleScores, SamplingErrors, Share, VarianceShares, sampling_errors, variance_shares
from runner import results
from runner.console.command_parser import METRIC, SWEEP
from runner.console.styled_text import count
from runner.results import DATA_KEY, OK, CellResult, CommonSamples, SubsetMetric, common_samples, groups_note

_N_DRAWS, _ALPHA = 2000, 0.05
_ORDER = {True: "best", False: "best", None: "largest"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("--metric", default="", metavar="METRIC", help=METRIC)
    terminal.add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print axes and pairs of axes by the share of variance that they explain. Returns 0.

    Raises DataError if the sweep is a search or cannot be read, or if all cells have the same value.
    """
    sweep = results.load(options.sweep)
    sweep.require_grid(results.NO_EFFECTS)
    metric = sweep.metric(options.metric or sweep.headline_metric())
    valued = [cell for cell in sweep.cells if cell.status == OK and metric.value(cell) is not None]
    if not valued:
        raise DataError(f"{sweep.name}: {results.all_failed_text(sweep.cells) or f'no cell has a value of {metric}'}")
    common = common_samples(valued, sweep.folder_of, metric.metric, metric.subset)
    scores = SampleScores(common.statistics, common.clusters, common.strata, common.combine)
    means = common.means()
    errors = sampling_errors(scores, _N_DRAWS, seed=0)
    shares = variance_shares(means, results.axis_levels(common.cells), errors, alpha=_ALPHA)
    if shares is None:
        raise DataError(
            f"{sweep.name}: {metric} is the same in {count(len(common.cells), 'cell')}, so no axis has an effect"
        )
    console = terminal.make_console(options.format)
    title = f"{metric}: share of the variance between {len(common.cells)} cells"
    designs = _designs(shares, common.cells)
    terminal.show_table(console, title, _columns(shares, designs, means, metric), _marks(shares))
    notes = [_coverage(common), *_describe_matching(designs), _noise(errors), groups_note(sweep.cells), *_notes(shares)]
    for line in filter(None, [*notes, sweep.left_out(len(common.cells))]):
        console.print(f"[dim]{escape(line)}[/]")
    return 0


def _columns(
    shares: VarianceShares, designs: Mapping[str, LevelDesign], values: NDArray[np.float64], metric: SubsetMetric
) -> list[TableColumn]:
    terms = shares.terms
    names = [_name(term.axes) for term in terms]
    all_shares = [*(term.share for term in terms), shares.residual]
    means = [
        escape(_level_means(designs.get(term.axes[0]), values, metric)) if len(term.axes) == 1 else "" for term in terms
    ]
    return [
        TableColumn("axis", [*names, "higher interactions, rest"], is_number=False),
        TableColumn("share", [f"{share.raw:.1%}" for share in all_shares]),
        TableColumn("without noise", [_percent(share.corrected) for share in all_shares]),
        TableColumn(f"{1 - _ALPHA:.0%} interval", [_interval(share) for share in all_shares]),
        TableColumn("df", [*(str(term.df) for term in terms), ""], optional=True),
        TableColumn(f"mean of matched cells, {_ORDER[metric.larger_is_better]} first", [*means, ""], is_number=False),
    ]


def _marks(shares: VarianceShares) -> Marks:
    all_shares = [*(term.share for term in shares.terms), shares.residual]
    row_marks = [STAR if share.low is not None and share.low > 0 else "" for share in all_shares]
    return Marks(row_marks, star=f"the {1 - _ALPHA:.0%} interval of the share without noise excludes 0")


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.1%}"


def _interval(share: Share) -> str:
    return UNKNOWN if share.low is None or share.high is None else f"{share.low:.0%} to {share.high:.0%}"


def _coverage(common: CommonSamples) -> str:
    """Describe the samples behind the means, if cells leave out different samples."""
    return (
        f"over the {common.n} of {common.n_known} samples for which every cell has a value"
        if common.left_out_differ
        else ""
    )


def _noise(errors: SamplingErrors | None) -> str:
    """Report how much of the shares noise could explain."""
    if errors is None:
        return "the noise is unknown: a subset has samples of only one group"
    groups = f"{errors.n_clusters} independent groups, effectively {errors.n_effective:.0f}"
    if errors.p > _ALPHA:
        return (
            f"the cells differ no more than equal cells would by chance (p = {errors.p:.2f}; {groups}): no axis has a "
            "significant effect, and a large share is mostly noise"
        )
    if not errors.is_size_known:
        return f"{groups}: too few to tell how much of a share is noise, though the cells differ (p = {errors.p:.2g})"
    return (
        f"{groups}; shares without noise are clipped at 0%, so they may add up to more than 100% (the cells differ, p "
        f"= {errors.p:.2g})"
    )


def _designs(shares: VarianceShares, cells: Sequence[CellResult]) -> dict[str, LevelDesign]:
    """Return, by axis, the cells that represent its levels: cells that are equal in all other axes.

    An axis of a single level that some cells do not use, such as the tokenizer of BM25, separates no cells.
    """
    varying = set(results.varying_axes(cells)).difference(shares.determined_by)
    levels = {name: values for name, values in results.axis_levels(cells).items() if name in varying}
    mains = [term.axes[0] for term in shares.terms if len(term.axes) == 1]
    return {axis: design for axis in mains if (design := level_design(axis, levels))}


def _level_means(design: LevelDesign | None, values: NDArray[np.float64], metric: SubsetMetric) -> str:
    """Return the means of the levels, e.g. "512: 0.2300, 64: 0.2000"."""
    if design is None:
        return "no two levels in cells that are otherwise equal"
    means = dict(zip(design.levels, (values @ design.weights).tolist(), strict=True))
    digits = terminal.n_digits(means.values())
    ordered = sorted(means, key=lambda level: means[level], reverse=metric.larger_is_better is not False)
    return ", ".join(f"{level}: {terminal.number(means[level], digits)}" for level in ordered)


def _describe_matching(designs: Mapping[str, LevelDesign]) -> Iterator[str]:
    """Describe the combinations of the other axes behind the means, and the levels that have no mean."""
    if designs:
        n_each = ", ".join(f"{axis} {design.n_combinations}" for axis, design in designs.items())
        yield f"each mean is over the combinations of the other axes that all levels share: {n_each}"
    for axis, design in designs.items():
        if design.apart:
            yield f"no mean of {axis}={','.join(design.apart)}: its cells differ from the others in more than this axis"
    if len(designs) > 1 and all(design.n_combinations == 1 for design in designs.values()):
        yield "one axis varies at a time, so an axis with more levels has more cells and a larger share: compare means"


def _notes(shares: VarianceShares) -> list[str]:
    """Name the axes and contrasts that cannot be separated."""
    notes = [
        f"{axis} varies only along with {other}, which represents both"
        for axis, other in shares.determined_by.items()
        if axis != DATA_KEY
    ]
    if shares.aliased:
        names = ", ".join(map(_name, shares.aliased))
        notes.append(f"cannot be separated from the other terms, so without a share: {names}")
    partly = [
        f"{_name(term.axes)} ({term.n_aliased} of {term.df + term.n_aliased})"
        for term in shares.terms
        if term.n_aliased
    ]
    if partly:
        notes.append(f"contrasts that cannot be separated from other terms: {', '.join(partly)}")
    return notes


def _name(axes: Sequence[str]) -> str:
    return " x ".join(axes)
