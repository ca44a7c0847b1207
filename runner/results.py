"""What a sweep leaves behind, and how it is read: the contract of analysis, tests and outside scripts.

    <results_dir>/<sweep id>/sweep.json              what was asked for, and how each cell ended
    <results_dir>/<sweep id>/leaderboard.csv         its cells, the best first
    <results_dir>/<sweep id>/documents_<corpus>.parquet   the documents of a corpus that cells search
    <results_dir>/<sweep id>/<cell id>/cell.json     one experiment: axes, configuration, metrics
    <results_dir>/<sweep id>/<cell id>/samples.parquet
    <results_dir>/<sweep id>/<cell id>/matrix_<metric>.csv, and .svg of some

Both JSON files hold one field per line. `cell.json` is written last, so a folder with one is complete. Its `metrics`
are equal byte for byte whenever the same experiment is run on the same data, interrupted or not; `seconds`, `reused`
and `host` are not.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from components.errors import ConfigError, DataError
from components.json_value import Json
from components.protocols import Metric, RankingMetric
from components.secrets.mask import Mask, current_mask, masked_values
from runner.cell_numbers import require_numbers
from runner.json_types import require_types
from runner.trusted import code_of_fields, foreign_targets, how_to_trust, trusted

T = TypeVar("T")

RESULTS_DIR = Path("results")
LATEST = "latest"
"""The name of whichever sweep was written to last."""

_MESSAGES = frozenset({"reason", "command", "overrides", "same_as"})
"""Fields that hold what somebody typed, or what went wrong; those of the cells in a sweep's file among them."""

SCHEMA_VERSION = 2
_N_SWEEPS_LISTED = 10
_N_CHARACTERS_OF_KEY = 12
OK, FAILED, RUNNING, INTERRUPTED = "OK", "FAILED", "RUNNING", "INTERRUPTED"


@dataclass(frozen=True)
class CellResult:
    """One `cell.json`.

    `axes` are None where the experiment does not use them. `metrics` is `{subset: {metric: {value, n, n_excluded,
    ci_low, ci_high, n_clusters, method}}}`; `larger_is_better` is by metric, None where neither is (such a metric ranks
    nothing). `own_metrics` are those of the user's own packages, `ranking_metrics` those of rankings alone, None in
    results of an earlier version. `counts` are answers by state, `errors` those that failed by what kind of failure it
    was. `judges` is `{judge: {n_judged, n_unparsable, reasons, commonest}}`: of how many samples no reply could be
    read, why, and the commonest of these replies; an expander and a reranker that ask a language model stand
    there as "expander" and "reranker", also with `n_failed` and `commonest_error`. `tokens` are those that providers
    counted, `reasoning` among `completion`.
    `seconds` and `reused` are by stage: the time that its results took when computed, and whether all of them were in
    the store. `one_time_s` is that of the stages that a corpus needs once; `latency_s` is per question: `p50` and `p95`
    over the answers, of which `batched` is its share of what is done for all questions at once; `batched_s` is that
    share by stage, {} in results of an earlier version. `versions` are those that the results were computed with.
    `signatures` are by metric, such as sacreBLEU's. `cut_texts` says for the chunks and for the queries, by the model
    that reads them, how many are longer than it reads. `steps` are facts that steps tell of themselves, by axis: what
    was left out, what was chosen and why, with a `line` for the reader.
    `usage` is `{"answers", "judge/<name>", "expander" or "reranker": {n_requests, n_prompt_tokens, n_completion_tokens,
    n_cached_tokens, cost}}` and `cost` their sum in `currency`: what the cell takes when nothing is kept, None where a
    server counted no tokens or no price list names the model; cached tokens are among those of the prompt. `status` is
    OK or FAILED, with the `reason`; a failed cell may have numbers.
    """

    cell_id: str
    status: str
    axes: Mapping[str, Json]
    overrides: tuple[str, ...]
    config: Mapping[str, Json]
    dataset: Mapping[str, Json]
    reason: str = ""
    metrics: Mapping[str, Mapping[str, Mapping[str, Json]]] = field(default_factory=dict)
    larger_is_better: Mapping[str, bool | None] = field(default_factory=dict)
    own_metrics: tuple[str, ...] = ()
    ranking_metrics: tuple[str, ...] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    judges: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    tokens: Mapping[str, int | None] = field(default_factory=dict)
    usage: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    cost: float | None = None
    currency: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    one_time_s: float = 0.0
    latency_s: Mapping[str, float] = field(default_factory=dict)
    batched_s: Mapping[str, float] = field(default_factory=dict)
    reused: Mapping[str, bool] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    cut_texts: tuple[Mapping[str, Json], ...] = ()
    steps: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    git_commit: str = ""
    host: Mapping[str, Json] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    def value(self, metric: str, subset: str = "overall") -> float | None:
        """A metric's value; None if it was not computed or nothing could be scored."""
        value = self.metrics.get(subset, {}).get(metric, {}).get("value")
        return None if value is None else float(value)


@dataclass(frozen=True)
class SweepResult:
    """One `sweep.json`. `overrides` are those of the whole sweep, e.g. "top_k=2,8".

    `cells` hold `cell_id`, `status`, `reason`, `axes`, `overrides`, and `same_as`: the overrides of further requests
    that turned out to be the same experiment. `headline` is the metric that ranks the cells, "" for the usual one.
    `spent` is what was asked and paid in this run, kept replies not among it: `{n_requests, n_prompt_tokens,
    n_cached_tokens, n_completion_tokens, cost, currency, n_unpriced, n_unanswered}`.
    """

    sweep_id: str
    name: str
    status: str
    command: str
    overrides: tuple[str, ...]
    started: str
    finished: str
    cells: tuple[Mapping[str, Json], ...]
    plan: Mapping[str, Json]
    headline: str = ""
    spent: Mapping[str, Json] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION


def write_cell(sweep_dir: Path, result: CellResult, files: Mapping[str, bytes]) -> Path:
    """Writes a cell's folder, `cell.json` last; returns the folder."""
    folder = sweep_dir / result.cell_id
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        _write(folder / name, content)
    _write(folder / "cell.json", _json(result))
    return folder


def documents_file(sweep_dir: Path, corpus: str) -> Path:
    """Where a sweep lists the documents of a corpus (`dataset.corpus` of a cell): `id`, `title`, `n_characters`."""
    return sweep_dir / f"documents_{corpus[:_N_CHARACTERS_OF_KEY]}.parquet"


def write_leaderboard(sweep_dir: Path, content: bytes) -> None:
    """Writes `leaderboard.csv`."""
    _write(sweep_dir / "leaderboard.csv", content)


def write_sweep(sweep_dir: Path, result: SweepResult) -> None:
    """Writes `sweep.json` in one step, joined with the cells that other processes of the same sweep wrote: Hydra's own
    launchers run cell by cell.
    """
    sweep_dir.mkdir(parents=True, exist_ok=True)
    with FileLock(sweep_dir / ".sweep.lock"):
        _write(sweep_dir / "sweep.json", _json(_joined(sweep_dir, result)))


def _joined(sweep_dir: Path, sweep: SweepResult) -> SweepResult:
    if not (sweep_dir / "sweep.json").exists():
        return sweep
    before = read_sweep(sweep_dir)
    own = {cell["cell_id"] for cell in sweep.cells}
    others = [cell for cell in before.cells if cell["cell_id"] not in own]
    if not others:
        return replace(sweep, started=before.started)
    statuses = {sweep.status, *(cell["status"] for cell in others)}
    status = next((status for status in (RUNNING, INTERRUPTED, FAILED) if status in statuses), OK)
    # A process writes when it begins and when it ends: the second time its cells and its plan are in the file.
    has_written = len(others) < len(before.cells)
    plan = before.plan if has_written else _summed(before.plan, sweep.plan)
    return replace(sweep, cells=(*others, *sweep.cells), started=before.started, status=status, plan=plan)


def _summed(a: Mapping[str, Json], b: Mapping[str, Json]) -> dict[str, Json]:
    """Counts of two plans, added up at every level."""
    names = [*a, *(name for name in b if name not in a)]
    return {
        name: _summed(a.get(name, {}), b.get(name, {}))
        if isinstance(a.get(name, b.get(name)), Mapping)
        else a.get(name, 0) + b.get(name, 0)
        for name in names
    }


def find_sweep(text: str, results_dir: Path = RESULTS_DIR) -> Path:
    """The sweep's folder `text`, or else the one of that id in `results_dir`; "latest" is the one there that was
    written to last, and FOLDER/latest that of other results. Raises DataError, which lists the newest sweeps that are
    there.
    """
    for folder in (Path(text), results_dir / text):
        if _is_sweep(folder):
            return folder
    is_latest = Path(text).name == LATEST
    others = Path(text).parent if is_latest else Path(text)
    in_others = [] if text == LATEST else list(others.glob("*/sweep.json"))
    place, files = (others, in_others) if in_others else (results_dir, list(results_dir.glob("*/sweep.json")))
    if is_latest and files and (in_others or text == LATEST):
        return max(files, key=lambda path: path.stat().st_mtime_ns).parent
    there = sorted(path.parent.name for path in files)[-_N_SWEEPS_LISTED:]
    hint = f"the newest in {place} are: {', '.join(there)}" if there else f"there is none in {place} either"
    raise DataError(f"{text}: no sweep here (no sweep.json); {hint}")


def _is_sweep(folder: Path) -> bool:
    """Return whether the folder holds a sweep. Raises DataError for a folder that this user may not look into."""
    try:
        return (folder / "sweep.json").is_file()
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be read ({error.strerror}); wanted the folder of a sweep. Check the name, and make the "
            "folder readable as the user who owns it"
        ) from error


def read_cell(folder: Path) -> CellResult:
    """Reads a cell's folder. Raises DataError."""
    path = folder / "cell.json"
    cell = _read(path, CellResult)
    try:
        require_numbers(cell)
    except TypeError as error:
        raise DataError(
            f"{path}: {error}; the file was changed: delete it and run the sweep again with the same command, "
            "everything else is cached"
        ) from error
    return cell


def read_sweep(sweep_dir: Path) -> SweepResult:
    """Reads a sweep's description. Raises DataError."""
    sweep = _read(sweep_dir / "sweep.json", SweepResult)
    if any(not isinstance(cell.get("cell_id"), str) for cell in sweep.cells):
        raise DataError(f"{sweep_dir / 'sweep.json'}: not a result file (cells: one has no cell_id)")
    return sweep


def read_cells(sweep_dir: Path) -> Iterator[CellResult]:
    """The results of a sweep's cells that ended, in the order of the sweep. Raises DataError."""
    return map(read_cell, cell_folders(sweep_dir))


def cell_folders(sweep_dir: Path) -> Iterator[Path]:
    """The folders of a sweep's cells that ended, in the order of the sweep. Raises DataError, also if a cell that the
    sweep reports as finished has no `cell.json`: without it another cell would pass for the best.
    """
    for cell in read_sweep(sweep_dir).cells:
        file = sweep_dir / cell["cell_id"] / "cell.json"
        if file.is_file():
            yield file.parent
        elif cell.get("status") == OK:
            raise DataError(
                f"{file}: missing, although {sweep_dir / 'sweep.json'} reports this cell as finished. Run the sweep "
                "again with the same command: everything else is cached."
            )


def read_samples(folder: Path, columns: Sequence[str]) -> list[dict[str, Json]]:
    """These columns of the rows of a cell's `samples.parquet`. Raises DataError."""
    with open_samples(folder) as file:
        rows: list[dict[str, Json]] = file.read(list(columns), use_threads=False).to_pylist()
    return rows


def read_rows(folder: Path, columns: Sequence[str], places: Sequence[int]) -> list[dict[str, Json]]:
    """As `read_samples`, of some of the rows, in this order."""
    with open_samples(folder) as file:
        table = file.read(list(columns), use_threads=False).take(np.asarray(places, dtype=np.int64))
        rows: list[dict[str, Json]] = table.to_pylist()
    return rows


def columns_of(folder: Path) -> list[str]:
    """Names of the columns of a cell's `samples.parquet`. Raises DataError."""
    with open_samples(folder) as file:
        names: list[str] = file.schema_arrow.names
    return names


@contextmanager
def open_samples(folder: Path) -> Iterator[Any]:
    """A cell's `samples.parquet`, as `open_parquet` opens it. Raises DataError."""
    with open_parquet(folder / "samples.parquet", "the samples of a finished cell") as file:
        yield file


@contextmanager
def open_parquet(path: Path, wanted: str) -> Iterator[Any]:
    """A file of a sweep, as PyArrow's ParquetFile, whose `read` wants `use_threads=False`: a process that ends while
    one of Arrow's own threads still runs is aborted. Raises DataError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.exists() and not path.is_file():  # reading a FIFO would wait for a writer
            raise OSError("it is no file")
        with pq.ParquetFile(path, pre_buffer=False) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"{path}: cannot be read ({'it is not there' if isinstance(error, FileNotFoundError) else error}); wanted "
            f"{wanted}; give the sweep's command again: what it computed is in the store"
        ) from error


def larger_is_better(metric: str, cells: Iterable[CellResult]) -> bool | None:
    """Which values of the metric are the better ones; None where neither is, where no cell has the metric, or where
    cells disagree: a judge whose grades were turned round is another one, and nothing is ranked by both.
    """
    found = {cell.larger_is_better[metric] for cell in cells if metric in cell.larger_is_better}
    return found.pop() if len(found) == 1 else None


def combiner(cell: CellResult, metric: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """What makes the metric of sums of its `score_statistics`, float64[..., d], as the cell's own component does.

    Raises DataError if the cell's configuration has no such component (any more), or if it is of a package that nobody
    named to this process (see `runner.trusted`).
    """
    component = _component(cell, metric)
    if component is None:
        foreign = [target for _, target in foreign_targets(_score_nodes(cell), "", trusted())]
        why = f"; {how_to_trust(foreign)}" if foreign else ""
        raise DataError(f"{cell.cell_id}: its configuration names no component that computes {metric}{why}")
    return partial(component.combine, metric)


def sees_prompts(cell: CellResult, metric: str) -> bool:
    """False for a metric of rankings: how much of what was found is read, and at what price, is nothing to it. True
    where it is not known what computes the metric.
    """
    if cell.ranking_metrics is not None:
        return metric not in cell.ranking_metrics
    return not isinstance(_component(cell, metric), RankingMetric)


def _component(cell: CellResult, metric: str) -> Metric | None:
    """The component of a cell's configuration that computes the metric: one of ours, or of a trusted package."""
    from runner.launch.schema import build_component

    plugins = trusted()
    for name, node in _score_nodes(cell).items():
        if any(code_of_fields(node, name)):
            continue  # a judge whose model names code: it has a value for each sample, and needs none
        try:
            component: Metric = build_component(node, Metric, f"metrics.scores.{name}", plugins)
        except ConfigError:
            continue  # of another version of the project, not trusted, or with an extra that is not installed here
        if metric in component.names:
            return component
    return None


def _score_nodes(cell: CellResult) -> Mapping[str, Json]:
    metrics = cell.config.get("metrics")
    scores = metrics.get("scores") if isinstance(metrics, Mapping) else None
    return scores if isinstance(scores, Mapping) else {}


def _read(path: Path, kind: type[T]) -> T:
    try:
        raw: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))
        version = raw["schema_version"]
        if version != SCHEMA_VERSION:
            raise DataError(
                f"{path}: has schema_version {version}, this version reads {SCHEMA_VERSION}; run the sweep's command "
                "again: what it computed is in the store"
            )
        require_types(raw, kind)
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()})
    except FileNotFoundError as error:
        raise DataError(f"{path}: not there; wanted the folder of a sweep, e.g. results/<sweep id>") from error
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); make it readable as the user who owns it, or give the sweep's "
            "command again with another run.results_dir"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: not a result file ({error})") from error


def _json(result: CellResult | SweepResult) -> bytes:
    """One field per line. Further indentation would make writing ten times as slow: Python's fast encoder has none."""
    mask = current_mask()
    lines = [
        f"{_line(each.name)}: {_safe_line(each.name, getattr(result, each.name), mask)}" for each in fields(result)
    ]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8")


def _safe_line(name: str, value: Json, mask: Mask) -> str:
    """Without secrets. Most fields hold none, and are searched for the known ones alone, which takes less time."""
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


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    temporary.write_bytes(content)
    temporary.replace(path)
