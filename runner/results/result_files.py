"""Reads and writes the files of a sweep. See `runner.results` for their layout."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TypeVar

from components.errors import DataError
from components.json_value import Json
from components.limits import expected_one_of
from components.secrets.mask import Mask, current_mask, masked_values
from runner.console.written_files import write_whole
from runner.results.cell_axes import normalize_level
from runner.results.cell_result import (
    FAILED,
    INTERRUPTED,
    OK,
    RUNNING,
    SCHEMA_VERSION,
    STOPPED,
    CellResult,
    SweepResult,
    require_numbers,
    require_sweep_numbers,
)
from runner.results.json_types import require_types
from runner.results.sealed_json import pop_checksum, read_content, seal_json

T = TypeVar("T")

RESULTS_DIR = Path("results")
LATEST = "latest"
"""Name that means the sweep that was written last."""

_MESSAGES = frozenset({"reason", "command", "overrides", "same_as"})
"""Fields with text that a user typed or that describes an error. Cells listed in a sweep's file have some of them too.
"""

_STATUSES: Mapping[type, tuple[str, ...]] = {
    CellResult: (OK, FAILED, STOPPED),
    SweepResult: (OK, FAILED, RUNNING, INTERRUPTED),
}

_N_SWEEPS_LISTED = 10
_N_CHARACTERS_OF_KEY = 12


def write_cell(sweep_dir: Path, result: CellResult, files: Mapping[str, bytes]) -> Path:
    """Write a cell's folder, `cell.json` last, and return the folder."""
    folder = sweep_dir / result.cell_id
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_whole(folder / name, content)
    write_whole(folder / "cell.json", _json(result))
    return folder


def documents_file(sweep_dir: Path, corpus: str) -> Path:
    """Return the path at which a sweep lists the documents of a corpus (`dataset.corpus` of a cell).

    Its columns are `id`, `title` and `n_characters`.
    """
    return sweep_dir / f"documents_{corpus[:_N_CHARACTERS_OF_KEY]}.parquet"


def write_leaderboard(sweep_dir: Path, content: bytes) -> None:
    """Write the content of `leaderboard.csv` atomically."""
    write_whole(sweep_dir / "leaderboard.csv", content)


def write_sweep(sweep_dir: Path, result: SweepResult) -> None:
    """Write `sweep.json` atomically.

    Hydra's own launchers run one process per cell, so the cells that other processes of the sweep wrote are preserved.
    """
    from runner.engine.store.locks import hold_lock  # readers of results need no store

    sweep_dir.mkdir(parents=True, exist_ok=True)
    with hold_lock(sweep_dir / ".sweep.lock", "writing sweep.json"):
        write_whole(sweep_dir / "sweep.json", _json(_merge(sweep_dir, result)))


def _merge(sweep_dir: Path, sweep: SweepResult) -> SweepResult:
    if not (sweep_dir / "sweep.json").exists():
        return sweep
    before = read_sweep(sweep_dir)
    cell_ids = {cell["cell_id"] for cell in sweep.cells}
    earlier_cells = [cell for cell in before.cells if cell["cell_id"] not in cell_ids]
    if not earlier_cells:
        return replace(sweep, started=before.started)
    statuses = {sweep.status, *(cell["status"] for cell in earlier_cells)}
    status = next((status for status in (RUNNING, INTERRUPTED, FAILED) if status in statuses), OK)
    # A process writes at its start and at its end. At the end, the file already contains its cells and its plan.
    has_written = len(earlier_cells) < len(before.cells)
    plan = before.plan if has_written else _sum_counts(before.plan, sweep.plan)
    return replace(sweep, cells=(*earlier_cells, *sweep.cells), started=before.started, status=status, plan=plan)


def _sum_counts(a: Json, b: Json) -> Json:
    """Add up the counts of two plans at every level. The sum with an unknown number is unknown, and a sum is exact if
    both numbers are.
    """
    if isinstance(a, Mapping):
        return {name: _sum_counts(a[name], b[name]) if name in a and name in b else (a | b)[name] for name in a | b}
    if isinstance(a, bool):
        return a and b
    return None if a is None or b is None else a + b


def find_sweep(text: str, results_dir: Path = RESULTS_DIR) -> Path:
    """Return the folder of a sweep, named by its path or by its id in `results_dir`.

    "latest" is the sweep in `results_dir` that was written last; FOLDER/latest is the latest sweep in FOLDER. Raises
    DataError, which lists the newest sweeps, if there is no such sweep.
    """
    for folder in (Path(text), results_dir / text):
        if _is_sweep(folder):
            return folder
    is_latest = Path(text).name == LATEST
    parent = Path(text).parent if is_latest else Path(text)
    in_parent = [] if text == LATEST else list(parent.glob("*/sweep.json"))
    searched, files = (parent, in_parent) if in_parent else (results_dir, list(results_dir.glob("*/sweep.json")))
    if is_latest and files and (in_parent or text == LATEST):
        return max(files, key=lambda path: path.stat().st_mtime_ns).parent
    newest = sorted(path.parent.name for path in files)[-_N_SWEEPS_LISTED:]
    hint = f"The newest in {searched} are {', '.join(newest)}" if newest else f"{searched} has none either"
    raise DataError(f"{text}: no sweep here (no sweep.json). {hint}")


def _is_sweep(folder: Path) -> bool:
    """Return True if the folder contains a sweep. Raises DataError for a folder that this user may not read."""
    try:
        return (folder / "sweep.json").is_file()
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be read ({error.strerror}), expected the folder of a sweep. Check the name, and "
            "make the folder readable, or ask its owner to."
        ) from error


def read_cell(folder: Path) -> CellResult:
    """Read a cell's folder. Raises DataError if `cell.json` is missing, damaged, or belongs to another cell."""
    path = folder / "cell.json"
    cell = _read(path, CellResult)
    try:
        require_numbers(cell)
    except TypeError as error:
        raise DataError(
            f"{path}: {error}. The file was changed. Delete it, then run the sweep's command again: finished work "
            "is cached."
        ) from error
    if cell.cell_id != folder.resolve().name:
        raise DataError(
            f"{path}: got the result of cell {cell.cell_id!r}, expected the cell that the folder is named after"
        )
    return cell


def read_sweep(sweep_dir: Path) -> SweepResult:
    """Read a sweep's description. Raises DataError if `sweep.json` is missing, damaged or inconsistent."""
    sweep = _read(sweep_dir / "sweep.json", SweepResult)
    try:
        require_sweep_numbers(sweep)
    except TypeError as error:
        raise DataError(f"{sweep_dir / 'sweep.json'}: is not a result file ({error})") from error
    if any(not isinstance(cell.get("cell_id"), str) for cell in sweep.cells):
        raise DataError(f"{sweep_dir / 'sweep.json'}: is not a result file (cells: one has no cell_id)")
    if any(not isinstance(cell.get("axes", {}), dict) for cell in sweep.cells):
        raise DataError(f"{sweep_dir / 'sweep.json'}: is not a result file (cells: the axes of one are not an object)")
    if repeated := [name for name, n in Counter(cell["cell_id"] for cell in sweep.cells).items() if n > 1]:
        raise DataError(f"{sweep_dir / 'sweep.json'}: is not a result file (cells: {repeated[0]!r} is listed twice)")
    return sweep


def read_cells(sweep_dir: Path) -> Iterator[CellResult]:
    """Iterate over the results of a sweep's finished cells, in the order of the sweep.

    Raises DataError if the file of the sweep or of a cell cannot be read.
    """
    return map(read_cell, cell_folders(sweep_dir))


def cell_folders(sweep_dir: Path) -> Iterator[Path]:
    """Iterate over the folders of a sweep's finished cells, in the order of the sweep.

    Raises DataError if `sweep.json` cannot be read, or if a cell that the sweep reports as finished has no `cell.json`.
    Without it, another cell would be taken for the best.
    """
    for cell in read_sweep(sweep_dir).cells:
        file = sweep_dir / cell["cell_id"] / "cell.json"
        if file.is_file():
            yield file.parent
        elif cell.get("status") == OK:
            raise DataError(
                f"{file}: does not exist, although {sweep_dir / 'sweep.json'} reports this cell as finished. Run "
                "the sweep's command again: finished work is cached."
            )


def _read(path: Path, kind: type[T]) -> T:
    try:
        content = read_content(path)
        raw: dict[str, Json] = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
        version = raw["schema_version"]
        if version != SCHEMA_VERSION:
            raise DataError(
                f"{path}: got schema_version {version}, expected {SCHEMA_VERSION}. Run the sweep's command again: "
                "finished work is cached."
            )
        advice = "Delete it, then run the sweep's command again: finished work is cached."
        pop_checksum(raw, content, path, advice)
        require_types(raw, kind)
        if raw.get("status") not in _STATUSES[kind]:
            raise ValueError(
                f"status: got {raw.get('status')!r}{expected_one_of(str(raw.get('status')), _STATUSES[kind])}"
            )
        if kind is CellResult:
            raw["axes"] = {axis: normalize_level(value) for axis, value in raw["axes"].items()}
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()})
    except FileNotFoundError as error:
        raise DataError(f"{path}: does not exist, expected the folder of a sweep, e.g. results/<sweep id>") from error
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}). Make it readable as the user who owns it, or run the "
            "sweep's command again with another run.results_dir."
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: is not a result file ({error})") from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"got {constant}, which is not a number")


def _json(result: CellResult | SweepResult) -> bytes:
    """Serialize with one field per line. The last field is a checksum of the others. Indenting deeper levels would
    bypass Python's fast encoder and take ten times as long.
    """
    mask = current_mask()
    lines = [
        f"{_line(each.name)}: {_safe_line(each.name, getattr(result, each.name), mask)}" for each in fields(result)
    ]
    return seal_json("{\n" + ",\n".join(lines) + "\n}\n")


def _safe_line(name: str, value: Json, mask: Mask) -> str:
    """Serialize one field without secrets.

    Most fields contain none and are searched only for known secrets, which is faster.
    """
    if name == "cells":
        value = [_without_secrets(cell, mask) for cell in value]
    line = _line(value)
    if name not in _MESSAGES and not mask.holds_known(line):
        return line
    return _line(masked_values(value, mask))


def _without_secrets(cell: Mapping[str, Json], mask: Mask) -> dict[str, Json]:
    return {name: masked_values(value, mask) if name in _MESSAGES else value for name, value in cell.items()}


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
