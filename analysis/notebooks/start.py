"""Shared beginning of all notebooks: a small sweep, and helpers that draw charts of frames."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import runner
from runner.results import OK, RESULTS_DIR, read_sweep

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


def demo_sweep() -> Path:
    """Return the folder of a sweep over `DEMO` in `results/`. If it does not exist, run the sweep (half a minute)."""
    folder = RESULTS_DIR / "notebooks-demo"
    if not (folder / "sweep.json").is_file() or read_sweep(folder).status != OK:
        runner.run([*DEMO, f"hydra.sweep.dir={folder}", "tracking=none", "run.progress=false"])
    return folder


def rows_of(frame: "pd.DataFrame", *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of some columns, with None for missing values, as charts expect."""
    chosen = frame[list(columns)].astype(object)
    yield from chosen.where(chosen.notna(), None).itertuples(index=False, name=None)


def picture(svg: str) -> "SVG":
    """Return a chart on white paper, because its colours need it even in a dark notebook."""
    from IPython.display import SVG

    head, _, rest = svg.partition(">")
    return SVG(f'{head}><rect width="100%" height="100%" fill="white"/>{rest}')
