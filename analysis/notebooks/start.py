"""Shared beginning of all notebooks: the sweep to show, or a small demo, and helpers that draw charts of frames."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import analysis
import runner
from components.errors import DataError
from runner.results import NO_BEST, OK, RESULTS_DIR, CellResult, read_sweep

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import SVG

warnings.filterwarnings("ignore", "IProgress not found")  # about progress bars, which these notebooks do not show

DEMO = (
    "dataset=demo",
    "retriever=bm25,hybrid",
    "chunk.size=64,128,256",
    "top_k=2,8",
    "metrics=published",
)
"""Twelve cells over the bundled questions, without a language model."""

DEMO_METRIC = "rouge_l"


def demo_sweep() -> Path:
    """Return the folder of a sweep over `DEMO` in `results/`. If it does not exist, run the sweep (half a minute)."""
    folder = RESULTS_DIR / "notebooks-demo"
    if not (folder / "sweep.json").is_file() or read_sweep(folder).status != OK:
        runner.run([*DEMO, f"hydra.sweep.dir={folder}", "tracking=none", "run.progress=false"])
    return folder


def load_demo() -> tuple[analysis.Sweep, str]:
    """Return the demo and the metric that notebooks show of it."""
    return analysis.load(demo_sweep()), DEMO_METRIC


def open_sweep(sweep: str = "", metric: str = "", *, compares: bool = False) -> tuple[analysis.Sweep, str]:
    """Return a sweep, "" for the demo, and the metric to show, "" for the leading one.

    If no metric ranks the cells of the sweep, prints it and returns the demo; also if the notebook `compares` cells
    with the best one, and the sweep has no second cell or scores chose its cells. Raises DataError for an unknown sweep
    or metric.
    """
    if not sweep:
        demo, demo_metric = load_demo()
        return demo, metric or demo_metric
    loaded = analysis.load(sweep)
    try:
        shown = metric or loaded.results.quality_metric()
        if not metric:
            loaded.metric(shown).direction()
        if compares:
            loaded.results.require_grid(NO_BEST)
    except DataError as error:
        print(f"{str(error).rstrip('.')}. The notebook therefore shows the demo.")
        return load_demo()
    if len(loaded.rank_cells(shown)) < 1 + compares:
        print(f"{loaded.folder}: no {'second ' * compares}cell has a value of {shown}, so the notebook shows the demo.")
        return load_demo()
    return loaded, shown


def lowest_ranked_other(sweep: analysis.Sweep, metric: str, cell: CellResult) -> CellResult:
    """Return the lowest-ranked cell by the metric other than `cell`. Return `cell` if it is the only one."""
    return next((each for each in reversed(sweep.rank_cells(metric)) if each.cell_id != cell.cell_id), cell)


def second_metric(sweep: analysis.Sweep) -> str:
    """Return the next metric after the leading one that is better if larger. Return the leading one otherwise."""
    leading, *others = sweep.results.headlines()
    return next((name for name in others if sweep.metric(name).larger_is_better), leading)


def axes_to_plot(sweep: analysis.Sweep, axis: str = "", by: str = "") -> tuple[str, str]:
    """Return an axis for a line plot and one for its lines: the named ones, or else the first varying axis with numbers
    and the first other axis. Returns "" for an axis that the sweep lacks.
    """
    axes = [name for name in sweep.axes if name != by]
    if not axis:
        axis = next((name for name in axes if sweep.cells[name].dtype in ("Int64", "Float64")), axes[0] if axes else "")
    return axis, by or next((name for name in axes if name != axis), "")


def yield_rows(frame: "pd.DataFrame", *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of some columns, with None for missing values, as charts expect."""
    chosen = frame[list(columns)].astype(object)
    yield from chosen.where(chosen.notna(), None).itertuples(index=False, name=None)


def picture(svg: str) -> "SVG":
    """Return a chart on white paper, because its colours need it even in a dark notebook."""
    from IPython.display import SVG

    head, _, rest = svg.partition(">")
    return SVG(f'{head}><rect width="100%" height="100%" fill="white"/>{rest}')
