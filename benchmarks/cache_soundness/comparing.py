"""Comparison of one cell on two stores: all stored results must be equal, whatever the first store has seen before."""

import json
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from components.errors import RagGridError
from components.json_value import Json
from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.cell import Cell
from runner.pipeline.planned_cells import CellRequest, Job, plan_sweep

_TIMES = frozenset({"latency_s", "seconds"})

_BY_BLOCK = frozenset(
    {"partition", "segments", "block_chunks", "chunks_of_block", "block_terms", "vectors", "sparse_index", "source"}
)
"""Stages of a block of documents. A corpus that grew keeps its stored blocks, so these stages differ by design. The
stages that join them must not differ.
"""

Results = Mapping[str, Sequence[str]]
"""Digests of the stored results by kind of stage, or the only error of a cell."""


@dataclass
class Tally:
    """Numbers of configurations that ran twice and that both stores refused alike, and the differences."""

    n_tried: int = 0
    n_refused: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Add the counts of another tally."""
        self.n_tried += other.n_tried
        self.n_refused += other.n_refused
        self.differences += other.differences


class Twin:
    """A store that sees every cell, and for each cell an empty store."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which must be empty."""
        self._folder = folder
        self._shared = folder / "shared"

    def compare(self, what: str, cell: Cell, tally: Tally) -> None:
        """Run the cell on both stores, and add the differences to the tally."""
        fresh = self._folder / uuid.uuid4().hex
        first, second = compute_results(cell, self._shared), compute_results(cell, fresh)
        shutil.rmtree(fresh, ignore_errors=True)
        tally.n_tried += 1
        tally.n_refused += "error" in first or "error" in second
        if first != second:
            tally.differences.append(f"{what}: {describe_difference(first, second)}")


def describe_difference(first: Results, second: Results) -> str:
    """Describe the first stage that differs. Later stages differ because of it."""
    for name in [*first, *second]:
        if first.get(name) != second.get(name):
            return f"{name}: {first.get(name, 'absent')} with the shared store, {second.get(name, 'absent')} alone"
    return "nothing differs"


def compute_results(cell: Cell, store_dir: Path) -> Results:
    """Run a cell with a store, opened as by a new process."""
    store = Store(store_dir, uuid.uuid4().hex)
    try:
        request = CellRequest(cell, Job({}, {}, ()))
        (planned,) = plan_sweep([request], store).cells
        stages = list(planned.graph.result.upstream())
        order = make_plan([(planned.graph.result, 1)], store).order
        failed = [run.error.strip() for run in run_stages(order, store, Local()) if run.failed]
        if failed:
            return {"error": [_last_line(failed[0], store_dir)]}
        found: dict[str, list[str]] = {}
        for stage in stages:
            if stage.kind not in _BY_BLOCK:
                found.setdefault(stage.kind, []).append(_digest(stage, store))
        return found
    except (RagGridError, ValueError, TypeError, ArithmeticError, LookupError) as error:
        return {"error": [f"{type(error).__name__}: {_last_line(str(error), store_dir)}"]}


def _last_line(text: str, store_dir: Path) -> str:
    return text.replace(str(store_dir), "STORE").splitlines()[-1][:200] if text else ""


def _digest(stage: Stage[Any], store: Store) -> str:
    entry = store.find(stage.kind, stage.key)
    if entry is None:
        return "not kept"
    parts = {name: plain(part) for name, part in sorted(entry.parts().items())}
    return sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def plain(part: object) -> Json:
    """Return JSON that is equal for equal parts, to the last bit of every number. Times are left out."""
    if isinstance(part, pa.Table):
        return {name: plain(part[name].to_pylist()) for name in part.column_names if name not in _TIMES}
    if isinstance(part, np.ndarray):
        return [str(part.dtype), list(part.shape), sha256(np.ascontiguousarray(part).tobytes()).hexdigest()]
    if isinstance(part, Mapping):
        return {str(name): plain(item) for name, item in part.items() if name not in _TIMES}
    if isinstance(part, list | tuple):
        return [plain(item) for item in part]
    if isinstance(part, bytes):
        return sha256(part).hexdigest()
    return repr(part) if isinstance(part, float) else part if isinstance(part, int | str | None) else repr(part)
