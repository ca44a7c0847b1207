"""Races over simulated and stored sweeps: how often they stop a winner, and the share of answers that they request.

A race (`components.statistics.racing`) promises that it stops the winner of the full run in at most 5 % of orders of
the samples. Simulated sweeps have the noise of `benchmarks.error_rates`. Stored sweeps are run first, without a race,
and replayed in many orders.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks import crud_rag, error_rates, sweep
from benchmarks.chat_endpoint import Behaviour, serving
from benchmarks.measure import Bound, Measure
from benchmarks.settings import SCALES, Settings
from components.statistics.racing import RaceRules, replay, share_before_stop
from runner.results import common_samples, load

ALPHA = 0.05
N_SWEEPS, N_ORDERS, _N_ORDERS_OF_MANY, _MANY_SCORES = 2000, 500, 100, 100_000
_N_SAMPLES, _N_CELLS = 300, 10
_N_SERVED = 400
_MARGINS = (0.005, 0.01, 0.02)

Scores = NDArray[np.float64]
Members = NDArray[np.bool_]


def equal(random: Generator, shape: tuple[int, ...]) -> Scores:
    """Return the same scores in all cells."""
    return np.broadcast_to(random.random((*shape[:-1], 1)), shape)


def draw_graded(random: Generator, shape: tuple[int, ...]) -> Scores:
    """Return noise, half of it shared by all cells, and a step of a tenth of its range from cell to cell."""
    shared = random.normal(size=(*shape[:-1], 1))
    return shared + random.normal(size=shape) + np.arange(shape[-1]) / shape[-1]


KINDS: dict[str, Callable[[Generator, tuple[int, ...]], Scores]] = {
    "normal noise": error_rates.normal,
    "skewed noise": error_rates.draw_skewed,
    "oppositely skewed noise": error_rates.oppositely_skewed,
    "exponential differences": error_rates.exponential,
    "two-point differences": error_rates.two_point,
    "log-normal noise, sigma 1.5": partial(error_rates.log_normal, sigma=1.5),
    "binary, .98": error_rates.rarely_wrong,
    "rare, bad failures": error_rates.rare_failures,
    "equal cells": equal,
    "graded cells": draw_graded,
}


@dataclass(frozen=True)
class RaceOutcome:
    """A finished race: by how much the best finisher is worse than the winner, for each target, and the share of
    requested answers.

    With costs, a loss is the largest one over the cells that cost no more than each.
    """

    losses: tuple[float, ...]
    share: float

    @property
    def loss(self) -> float:
        """The largest loss."""
        return max(self.losses)

    @property
    def is_lost(self) -> bool:
        """True if the race stopped a winner."""
        return self.loss > 0


def run_race(
    scores: Scores, rules: RaceRules, members: Members | None = None, costs: Scores | None = None
) -> RaceOutcome:
    """Return the race over scores in [0, 1], float64[n_samples, n_cells], in their order. See `Races`."""
    race = replay(scores, rules, members, costs)
    targets = [scores] if members is None else [scores[own] for own in members.T]
    levels = np.zeros(1) if costs is None else np.unique(costs)
    losses = []
    for means in (own.mean(axis=0) for own in targets):
        allowed = [np.ones(len(means), dtype=np.bool_) if costs is None else costs <= level for level in levels]
        losses.append(max(means[own].max() - means[own & race.live].max(initial=-1.0) for own in allowed))
    return RaceOutcome(tuple(losses), race.share)


def simulate_race(kind: str, random: Generator, rules: RaceRules, mode: str = "") -> RaceOutcome:
    """Return the race over one simulated sweep. The noise is scaled to [0, 1].

    `mode` is "targets" for three subsets in addition to all samples, and "cost" for two cells of every cost, the
    better ones more expensive, so that half of the cells are on the front.
    """
    values = KINDS[kind](random, (_N_SAMPLES, _N_CELLS))
    scaled = (values - values.min()) / max(float(np.ptp(values)), 1e-12)
    members = random.random((_N_SAMPLES, 4)) < (1, 0.5, 0.3, 0.1) if mode == "targets" else None
    costs = scaled.mean(axis=0).argsort().argsort() // 2.0 if mode == "cost" else None
    return run_race(scaled, rules, members, costs)


def forecast(scores: Scores) -> tuple[float, float]:
    """Return the median z by which cells trail the best, and the share of answers that the formula forecasts."""
    best = scores[:, [int(scores.mean(axis=0).argmax())]]
    difference = best - scores
    errors = difference.std(axis=0) / len(scores) ** 0.5
    behind = np.divide(difference.mean(axis=0), errors, out=np.zeros(len(errors)), where=errors > 0)
    return float(np.median(behind)), float(np.mean([share_before_stop(z, ALPHA) for z in behind]))


def replays(scores: Scores, rules: RaceRules, n_orders: int = N_ORDERS) -> list[RaceOutcome]:
    """Return races over the same scores in random orders."""
    random = np.random.default_rng(len(scores))
    return [run_race(random.permutation(scores), rules) for _ in range(n_orders)]


def measure(settings: Settings) -> list[Measure]:
    """Return the rates of simulated and of replayed races, and what a race over a server saved."""
    return [
        _measure_forecast(settings.scratch / "served"),
        *(each for kind in KINDS for margin in (0.0, _MARGINS[-1]) for each in _of_kind(kind, margin)),
        *(each for kind in KINDS for mode in ("targets", "cost") for each in _of_kind(kind, 0.0, mode)),
        *(each for stored in _read_stored(settings) for each in _of_sweep(*stored)),
    ]


def _of_kind(kind: str, margin: float, mode: str = "") -> Iterator[Measure]:
    random, rules = np.random.default_rng(1), RaceRules(ALPHA, margin)
    races = [simulate_race(kind, random, rules, mode) for _ in range(N_SWEEPS)]
    name = ", ".join(filter(None, (kind, mode, f"margin {margin:g}" if margin else "")))
    detail = f"of {N_SWEEPS} sweeps, {_N_SAMPLES} samples x {_N_CELLS} cells"
    yield from _rates(name, detail, races, margin)
    yield Measure(f"{name}: requested", float(np.mean([each.share for each in races])), "", "share of the answers")


def _of_sweep(name: str, scores: Scores, margins: Sequence[float]) -> Iterator[Measure]:
    behind, expected = forecast(scores)
    size = f"{len(scores)} samples x {scores.shape[1]} cells"
    n_orders = N_ORDERS if scores.size <= _MANY_SCORES else _N_ORDERS_OF_MANY
    for margin in (0.0, *margins):
        races = replays(scores, RaceRules(ALPHA, margin), n_orders)
        own = f"{name}, margin {margin:g}" if margin else name
        yield from _rates(own, f"of {n_orders} orders, {size}", races, margin)
        bound = Bound(round(expected + 0.1, 2)) if len(scores) >= 200 else None
        detail = f"share of the answers; median z {behind:.1f}, forecast {expected:.2f}"
        yield Measure(f"{own}: requested", float(np.mean([each.share for each in races])), "", detail, bound)


def _rates(name: str, detail: str, races: Sequence[RaceOutcome], margin: float) -> Iterator[Measure]:
    if margin:
        worse = float(np.mean([each.loss > margin for each in races]))
        largest = max(each.loss for each in races)
        yield Measure(f"{name}: lost more", worse, "", f"{detail}; largest loss {largest:.4f}", Bound(ALPHA))
    else:
        lost = max(np.mean([[loss > 0 for loss in each.losses] for each in races], axis=0).tolist())
        yield Measure(f"{name}: winner lost", lost, "", detail, Bound(ALPHA))


def _measure_forecast(folder: Path) -> Measure:
    """Return by how much the saving of a race differs from the forecast of its plan, from other models' answers."""
    folder.mkdir()
    for name, of in (("documents", _document), ("samples", _sample)):
        lines = (json.dumps(of(number)) + "\n" for number in range(_N_SERVED))
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    files = (f"dataset.{name}={folder / name}.jsonl" for name in ("documents", "samples"))
    with serving(Behaviour(has_grades=True)) as endpoint:
        llm = ("llm=openai", f"llm.base_url={endpoint.url}", "llm.api_key_env=''", "top_k=2")
        shared = ("dataset=jsonl", *files, *llm, *_FAST)
        first, then = (f"llm.model={','.join(f'm{grade}{each}' for grade in range(50, 90))}" for each in "ab")
        sweep.run(folder, None, *shared, first)
        n_earlier = len(endpoint.log())
        output = sweep.run(folder, None, *shared, then, "race=betting", "race.metric=em").output
        saved = 1 - (len(endpoint.log()) - n_earlier) / n_earlier
    found = re.search(r"about (\d+)% of the answers would be saved", " ".join(output.split()))
    assert found, "the plan has a forecast"
    detail = f"40 cells x {_N_SERVED} samples: {saved:.2f} saved, forecast {int(found[1]) / 100:.2f}"
    return Measure("a server's race, saving - forecast", abs(saved - int(found[1]) / 100), "", detail, Bound(0.1))


def _document(number: int) -> dict[str, object]:
    return {"id": f"d{number}", "text": f"About number {number}: word {number}."}


def _sample(number: int) -> dict[str, object]:
    return {"id": f"s{number}", "question": f"What about number {number}?", "references": [f"word {number}"]}


_GRID = {
    "chunk.size": ("64", "128", "256", "512"),
    "retriever": ("bm25", "hybrid"),
    "top_k": ("2", "4", "6", "8", "10"),
}
_FAST = ("tracking=none", "run.progress=false", "run.pictures=none", "metrics.interval.n_resamples=100")


def _read_stored(settings: Settings) -> Iterator[tuple[str, Scores, Sequence[float]]]:
    """Yield the names and the scores of stored sweeps, and the margins to try."""
    demo, part = settings.scratch / "demo", settings.scratch / "crud_rag"
    sweep.run(demo, None, *_FAST, *sweep.format_overrides(_GRID))
    rouge_l = _scores(demo, "rouge_l")
    yield "demo, ROUGE-L", rouge_l, _MARGINS
    yield "demo, passage coverage", _scores(demo, "passage_coverage"), ()
    for n_samples in (1000, 4000):
        drawn = np.random.default_rng(n_samples).integers(len(rouge_l), size=n_samples)
        yield f"demo drawn to {n_samples:,}, ROUGE-L", rouge_l[drawn], ()
    scale, data, name = settings.scale, settings.crud_rag, "CRUD-RAG"
    if scale is not SCALES["full"]:
        data, name = part / "data", "CRUD-RAG, a part"
        crud_rag.write_subset(settings.crud_rag, data, scale.n_subset_documents, scale.n_subset_items)
    grid = {"chunk.size": ("128", "512"), "retriever": ("bm25", "hybrid"), "top_k": ("2", "8")}
    sweep.run(part, data, *_FAST, *sweep.format_overrides(grid))
    yield f"{name}, ROUGE-L", _scores(part, "rouge_l"), _MARGINS[1:]
    yield f"{name}, passage coverage", _scores(part, "passage_coverage"), ()


def _scores(folder: Path, metric: str) -> Scores:
    """Return the scores of the samples that all cells of a sweep score, float64[n_samples, n_cells]."""
    (file,) = (folder / "results").glob("*/sweep.json")
    stored = load(file.parent)
    return common_samples(stored.cells, stored.folder_of, metric, "overall").statistics[:, :, 0]
