"""Runs a race before the sweep: answers the samples in rounds, and stops cells that can no longer win.

A round asks the next block of samples for all live cells and scores their answers. The replies are stored, and the
stages of the cells that finish read them later. The decisions are a pure function of the stored scores, so a race that
was interrupted stops the same cells when it is resumed.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from components.statistics import Races, Stop
from runner.engine.outcome import StageRun
from runner.engine.plan import make_plan
from runner.engine.stage import AnyStage, Stage
from runner.engine.store import Store
from runner.engine.worker import read_cached
from runner.launch.race_plan import PlannedRace
from runner.pipeline.race_blocks import build_round_scoring, select_round
from runner.pipeline.scoring.score_stages import Scoring

RunStages = Callable[[Sequence[AnyStage]], Iterable[StageRun]]
Floats = NDArray[np.float64]

_MAX_LISTED_CELLS = 10
"""Live cells that are listed if a budget ends the sweep."""


class SweepRace:
    """The race of one sweep: scores its samples in rounds, and stops cells that can no longer win."""

    def __init__(self, planned: PlannedRace, store: Store, announce: Callable[[str], None]) -> None:
        """`announce` receives a line per look."""
        self._planned = planned
        self._store = store
        self._announce = announce
        self._race = Races(
            len(planned.cells), planned.members, planned.settings.rules, planned.uses_model, planned.costs
        )
        self._n_failed = np.zeros(len(planned.cells), dtype=np.int64)
        self._n_saved = 0
        self.stopped: dict[str, dict[str, object]] = {}
        """Records of the stops, by id of the stopped cell: see `CellResult.race`."""

    def run(self, run_stages: RunStages, abandoned_cells: Collection[str] = ()) -> None:
        """Run all rounds. `run_stages` runs stages in dependency order, and yields their outcomes.

        Cells in `abandoned_cells`, which grows while the race runs, leave the race.
        """
        planned, n_samples = self._planned, len(self._planned.rows)
        for number, n_seen in enumerate(planned.settings.rules.looks(n_samples), 1):
            for index, cell in enumerate(planned.cells):
                if cell.cell_id in abandoned_cells:
                    self._race.leave(index)
            if self._race.live.sum() < 2:
                return
            scores = self._round(planned.rows[self._race.n_seen : n_seen], run_stages)
            for stop in self._race.look(scores):
                self.stopped[planned.cells[stop.cell].cell_id] = self._record(stop, number)
                self._n_saved += n_samples - n_seen
            self._announce(self._line())

    def _round(self, rows: Sequence[int], run_stages: RunStages) -> Floats:
        """Return the scores of the live cells on these samples, float64[n_rows, n_cells], larger ones better.

        A cell whose stages fail, or with too many failed answers, leaves the race. It runs to its end, which reports
        the failure.
        """
        planned, live = self._planned, np.flatnonzero(self._race.live).tolist()
        block = select_round(planned.cells[0].graph.data, rows)
        stages = {
            index: build_round_scoring(cell.request.cell, block, cell.pool, planned.metric)
            for index, cell in enumerate(planned.cells)
            if index in live
        }
        plan = make_plan([(stage, 1) for stage in stages.values()], self._store)
        failed = {run.key for run in run_stages(plan.order) if run.failed}
        scores = np.full((len(rows), len(planned.cells)), np.nan)
        for index, stage in stages.items():
            cell_scores = np.full(len(rows), np.nan) if stage.key in failed else self._scores(stage)
            scores[:, index] = np.nan_to_num(cell_scores)
            self._n_failed[index] += np.isnan(cell_scores).sum()
            limit = planned.cells[index].request.cell.run.max_failure_rate * len(planned.rows)
            if stage.key in failed or self._n_failed[index] > limit:
                self._race.leave(index)
        return scores

    def _scores(self, stage: Stage[Scoring]) -> Floats:
        """Return the scores of a cell; NaN for a failed answer, which counts as the worst score."""
        table = read_cached(stage, self._store, lambda entry: stage.codec.decode(entry.parts())).scores
        values: Floats = table[f"score/{self._planned.metric}"].to_numpy()
        scores: Floats = np.clip(values if self._planned.larger_is_better else 1 - values, 0, 1)
        return scores

    def _record(self, stop: Stop, look: int) -> dict[str, object]:
        rules = self._planned.settings.rules
        return {
            "metric": self._planned.metric,
            "n": stop.n_seen,
            "n_samples": len(self._planned.rows),
            "look": look,
            "wealth": stop.wealth if isfinite(stop.wealth) else None,
            "opponent": self._planned.cells[stop.opponent].cell_id,
            "behind": self._race.shortfall(stop.cell),
            "confidence": 1 - rules.alpha,
            "margin": rules.margin,
            "n_targets": len(self._planned.targets),
            "against": self._planned.settings.against.value,
        }

    def _line(self) -> str:
        n_cells, n_live = len(self._planned.cells), int(self._race.live.sum())
        return (
            f"race: {self._race.n_seen:,} of {len(self._planned.rows):,} samples, {n_live:,} of {n_cells:,} cells "
            f"live, {len(self.stopped):,} stopped, {self._n_saved:,} answers saved"
        )

    def live_lines(self) -> list[str]:
        """Return lines about how far the first live cells are behind, for a sweep that ends before the race does."""
        live = np.flatnonzero(self._race.live).tolist() if self._race.n_seen else []
        behind = sorted((self._race.shortfall(index), self._planned.cells[index].cell_id) for index in live)
        lines = [
            f"race: {cell_id} is live after {self._race.n_seen:,} samples, at least {shortfall:.4f} behind the winner"
            for shortfall, cell_id in behind[:_MAX_LISTED_CELLS]
        ]
        more = len(behind) - _MAX_LISTED_CELLS
        return [*lines, *([f"race: {more:,} more live cells are at least as far behind"] if more > 0 else [])]
