"""Compares the results of every kind of stage on small fixed cells with a committed table: equal keys, equal results.

`versions.json` has a row per kind: the version in its class, a hash of the keys of its stages, and a hash of their
results. A result that changed although the keys did not would be found in users' stores under a key that promises
another one.

    python -m tests.runner.pipeline.version_guard            # prints what does not agree
    python -m tests.runner.pipeline.version_guard --write    # rewrites the table, unless a version must be raised
"""

import importlib
import inspect
import json
import pkgutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import runner.pipeline
from runner.engine.identity import hash_description
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.race_blocks import select_round
from tests.runner.pipeline.fixed import CELLS, fixed_cell, graph_in, run_all

TABLE = Path(__file__).with_name("versions.json")
WRITE = "python -m tests.runner.pipeline.version_guard --write"
_DIGITS = 6
_TIMES = ("latency_s",)

Row = Mapping[str, Any]


def stage_classes() -> list[type[Stage[Any]]]:
    """Every concrete stage of `runner.pipeline`."""
    for module in pkgutil.iter_modules(runner.pipeline.__path__, "runner.pipeline."):
        importlib.import_module(module.name)
    return [
        cls
        for cls in _subclasses(Stage)
        if not inspect.isabstract(cls) and cls.__module__.startswith("runner.pipeline.")
    ]


def kinds() -> dict[str, type[Stage[Any]]]:
    """Every concrete stage by its kind."""
    return {cls.kind: cls for cls in stage_classes()}


def _subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for child in cls.__subclasses__():
        yield child
        yield from _subclasses(child)


def computed(folder: Path, names: Collection[str] = CELLS) -> dict[str, Row]:
    """The row of every kind of these fixed cells, in the order in which work flows, computed in a new store.

    Some of their components are the tests' own. Their code is left out, or every change of a test would change keys.
    """
    ours = patch("runner.engine.source_code.is_ours", return_value=True)
    with ours, patch("runner.engine.source_code.is_users_code", return_value=False):
        return _computed(Store(folder, "a run"), names)


def _computed(store: Store, names: Collection[str]) -> dict[str, Row]:
    found: dict[str, dict[str, Stage[Any]]] = defaultdict(dict)
    for name in names:
        graph = graph_in(store, fixed_cell(**CELLS[name]))
        loaded = graph.data.loaded
        for stage in loaded.upstream():
            found[stage.kind][stage.key] = stage
        run_all(store, graph.result)
        for stage in graph.result.upstream():
            found[stage.kind][stage.key] = stage
        block = select_round(graph.data, (1, 0)).samples  # no cell has this kind: only a race reads blocks of samples
        run_all(store, block)
        found[block.kind][block.key] = block
    return {kind: _row(stages, store) for kind, stages in found.items()}


def _row(stages: Mapping[str, Stage[Any]], store: Store) -> Row:
    """Return the row of all stages of one kind, in the order of their keys."""
    results = []
    for key in sorted(stages):
        entry = store.find(stages[key].kind, key)
        assert entry is not None, "it was just run"
        results.append({name: stable(part) for name, part in entry.parts().items()})
    version = next(iter(stages.values())).version
    return {
        "version": version,
        "keys": hash_description(sorted(stages))[:16],
        "results": hash_description(results)[:16],
    }


def stable(part: Any) -> Any:
    """JSON that is equal on every platform: floats to six digits, no times."""
    if isinstance(part, pa.Table):
        return {name: stable(part[name].to_pylist()) for name in part.column_names if name not in _TIMES}
    if isinstance(part, np.ndarray):
        return [str(part.dtype), stable(part.tolist())]
    if isinstance(part, Mapping):
        return {str(name): stable(item) for name, item in part.items() if name not in _TIMES}
    if isinstance(part, list | tuple):
        return [stable(item) for item in part]
    if isinstance(part, bytes):
        return part.hex()
    return f"{part:.{_DIGITS}g}" if isinstance(part, float) else part


def disagreements(table: Mapping[str, Row], found: Mapping[str, Row], known: Mapping[str, object]) -> list[str]:
    """Return the disagreements and how to resolve them, beginning with those that `--write` does not resolve."""
    stale, outdated = stale_results(table, found), []
    for kind in sorted(known.keys() | table.keys()):
        if kind not in known:
            outdated.append(f"{kind}: the table has a row for it, and there is no such stage. {WRITE}")
        elif kind not in found:
            outdated.append(f"{kind}: no fixed cell has such a stage. Add one to CELLS in fixed.py, then {WRITE}")
        elif kind not in table:
            outdated.append(f"{kind}: a new kind without a row. {WRITE}")
        elif table[kind]["keys"] != found[kind]["keys"] or table[kind]["version"] != found[kind]["version"]:
            outdated.append(f"{kind}: has other keys than when the table was written. {WRITE}")
    return [*stale, *outdated]


def stale_results(table: Mapping[str, Row], found: Mapping[str, Row]) -> list[str]:
    """Return the kinds whose results changed under unchanged keys, the cause before the kinds that depend on it."""
    return [
        f"{kind}: computes another result than the table has, and its key is the same: results in stores would be "
        f"taken for the new ones. Raise `version` ({row['version']}) in the class of this stage, or of the component "
        f"that changed (if several kinds say so, begin with the first: the others follow it), then {WRITE}"
        for kind, row in found.items()
        if kind in table and table[kind]["keys"] == row["keys"] and table[kind]["results"] != row["results"]
    ]


def read_table() -> dict[str, Row]:
    """The committed table."""
    return dict(json.loads(TABLE.read_text(encoding="utf-8"))) if TABLE.exists() else {}


def main(arguments: list[str]) -> int:
    """Prints what does not agree; with --write writes the table, unless a version must be raised first."""
    with tempfile.TemporaryDirectory() as folder:
        found = computed(Path(folder))
    table = read_table()
    if "--write" not in arguments:
        wrong = disagreements(table, found, kinds())
    elif not (wrong := stale_results(table, found)):
        rows = ",\n".join(f"  {json.dumps(kind)}: {json.dumps(row)}" for kind, row in sorted(found.items()))
        TABLE.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
