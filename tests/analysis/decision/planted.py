"""Sweeps whose better levels, and the size of their effects, are known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tests.analysis import tiny_sweep
from tests.analysis.tiny_sweep import TinyCell

N = 60


def write(
    folder: Path,
    axes: Mapping[str, Sequence[Any]],
    effects: Mapping[str, Mapping[Any, float]],
    *,
    n: int = N,
    only: str = "",
    pairs: Mapping[tuple[Any, ...], float] | None = None,
    one_at_a_time: bool = False,
    failed: Sequence[tuple[Any, ...]] = (),
    same: Sequence[str] = (),
    seed: int = 0,
) -> Path:
    """A cell per combination of `axes`; a level adds its effect (0 unless named), in `only` one subset if given;
    `pairs` add to single cells, by all of their levels.
    Cells that differ only in axes that are the `same` have the same values. The cost in tokens grows with k, the
    seconds fall with the size.
    """
    random = np.random.default_rng(seed)
    subsets = [("read/qa_1doc", "create")[i % 2] for i in range(n)]
    is_in = np.array([not only or subset == only for subset in subsets])
    hard = 0.4 + random.normal(0, 0.15, n)
    noise: dict[tuple[Any, ...], Any] = {}
    cells = []
    for place, levels in enumerate(product(*axes.values())):
        named = dict(zip(axes, levels, strict=True))
        if one_at_a_time and sum(level != own[0] for level, own in zip(levels, axes.values(), strict=True)) > 1:
            continue
        key = tuple(level for axis, level in named.items() if axis not in same)
        if key not in noise:
            noise[key] = random.normal(0, 0.05, n)
        added = sum(effects.get(axis, {}).get(level, 0.0) for axis, level in named.items())
        added += (pairs or {}).get(levels, 0.0)
        values = np.clip(hard + noise[key] + added * is_in, 0, 1).tolist()
        facts: dict[str, Any] = {
            "status": "FAILED" if levels in failed else "OK",
            "tokens": {"prompt": 100 * n * int(named.get("k", 1)), "completion": 0},
            "latency_s": {"p50": 100 / float(named.get("size", 1)), "p95": 110 / float(named.get("size", 1))},
        }
        samples = {
            "ids": [f"s{i}" for i in range(n)],
            "documents": [[f"d{i}"] for i in range(n)],
            "subsets": subsets,
            "topics": [("funds", "bonds", None)[i % 3] for i in range(n)],
            "tasks": [("extractive", "long_form")[i % 2] for i in range(n)],
        }
        cell = TinyCell(f"{place:012x}", named, values, facts, **samples)
        cells.append(replace(cell, measured=list(dict.fromkeys(name for own in cell.groups() for name in own))))
    return tiny_sweep.write(folder, cells)
