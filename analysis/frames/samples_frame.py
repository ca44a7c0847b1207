"""Samples as rows, from a few columns of the files of several cells. Other columns are not read."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.frames.metrics_frame import add_axes
from components.errors import DataError
from components.limits import closest_name
from runner.console.styled_text import count
from runner.results import (
    OK,
    CellResult,
    LoadedSweep,
    all_failed_text,
    collect_labels,
    open_samples,
    read_column_names,
    read_columns,
)

if TYPE_CHECKING:
    import pandas as pd

USUAL = ("subset", "topic", "task", "question", "references", "answer", "state")


def samples_frame(
    sweep: LoadedSweep, cells: Sequence[CellResult], columns: Sequence[str] | None = None
) -> "pd.DataFrame":
    """Return the frame of `Sweep.samples` for these cells, without cells that failed before any sample."""
    import pandas as pd

    folders = {cell.cell_id: folder for cell in cells if _has_samples(cell, folder := sweep.folder_of(cell))}
    columns_of_cell = {cell_id: read_column_names(folder) for cell_id, folder in folders.items()}
    if not folders:
        no_samples = f"none of {count(len(cells), 'cell')} has samples"
        raise DataError(f"{sweep.name}: {all_failed_text(cells) or no_samples}")
    known = list(dict.fromkeys(name for names in columns_of_cell.values() for name in names))
    if columns is None:
        columns = [name for name in (*USUAL, *(f"score/{metric}" for metric in sweep.headlines())) if name in known]
    _check(columns, known)
    selected = list(dict.fromkeys(["id", *columns]))
    labels = {cell.cell_id: collect_labels([cell]) for cell in cells}
    parts = [
        _part(folder, [name for name in selected if name in columns_of_cell[cell_id]], cell_id, labels[cell_id])
        for cell_id, folder in folders.items()
    ]
    frame = pd.concat(parts, ignore_index=True)[["cell_id", *selected]]
    return add_axes(frame, sweep)


def _has_samples(cell: CellResult, folder: Path) -> bool:
    """Return True for a cell whose samples must be read. They must exist unless the cell failed."""
    return cell.status == OK or (folder / "samples.parquet").is_file()


def _check(columns: Iterable[str], known: Sequence[str]) -> None:
    if isinstance(columns, str):
        raise DataError(f"columns: got the string {columns!r}, expected a list of names, e.g. [{columns!r}]")
    for name in columns:
        if name not in known:
            close = closest_name(name, known, cutoff=0.6) or [each for each in known if each.endswith(f"/{name}")]
            hint = f"; did you mean {close}?" if close else ""
            raise DataError(f"columns: got {name!r}, expected one of {', '.join(known)}{hint}")


def _part(folder: Path, columns: Sequence[str], cell_id: str, labels: dict[str, str]) -> "pd.DataFrame":
    """Return these columns of one cell, with labels for topics and tasks."""
    import pandas as pd

    with open_samples(folder) as file:
        frame = read_columns(file, columns).to_pandas(ignore_metadata=True, types_mapper=_dtypes().get)
    for name in ("topic", "task"):
        if name in frame:
            frame[name] = frame[name].replace(labels)
    frame["cell_id"] = pd.array([cell_id] * len(frame), dtype="string")
    return frame


def _dtypes() -> dict[object, object]:
    """Map Arrow's types to pandas dtypes that support all of their values and <NA>."""
    import pandas as pd
    import pyarrow as pa

    return {
        pa.string(): pd.StringDtype(),
        pa.large_string(): pd.StringDtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
