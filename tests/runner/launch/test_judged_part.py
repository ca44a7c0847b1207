"""`judge.sample`: a judge of a random part of the samples, the same part in every cell."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import analysis
from components.errors import ConfigError
from components.records import Kind, Sample
from runner.launch.request import check_jobs
from runner.output.planned_metric import PlannedMetrics
from runner.pipeline.scoring.judging import JudgedPart, JudgedScores, PreparedJudge
from tests.runner.sweeping import (
    QUIET,
    SWEEP_ID,
    cells_in,
    compose_job,
    plan_small,
    run_small,
    small_graph,
    store_of,
)

N, N_JUDGED = 20, 6
JUDGED = (f"dataset.limit={N}", "metrics=qa", "metrics.interval.n_resamples=100", *QUIET,
          "judge=claims", "llm@judge.llm=rehearsal", "judge.scores.claims.use=[overall_f1,overall_recall]")  # fmt: skip
PART = (*JUDGED, f"judge.sample={N_JUDGED}")


def rows_of(folder: Path, place: int, sweep_id: str = SWEEP_ID) -> list[dict[str, Any]]:
    cell = cells_in(folder, sweep_id)[place]
    path = folder / "results" / sweep_id / cell.cell_id / "samples.parquet"
    return list(pq.read_table(path).to_pylist())


def drawn_in(folder: Path, place: int, sweep_id: str = SWEEP_ID) -> set[str]:
    rows = rows_of(folder, place, sweep_id)
    return {row["id"] for row in rows if row["score_state/overall_recall"] != "not_drawn"}


def keys(*overrides: str) -> set[str]:
    stages = small_graph(*overrides).result.upstream()
    return {stage.key for stage in stages if isinstance(stage, JudgedScores | PreparedJudge)}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cells that judge a part of the samples."""
    folder = tmp_path_factory.mktemp("judged")
    assert run_small(folder, (*PART, "top_k=1"), (*PART, "top_k=4")) == 0
    return folder


class TestSweep:
    def test_all_cells_judge_the_same_drawn_samples(self, swept: Path) -> None:
        assert drawn_in(swept, 0) == drawn_in(swept, 1)
        assert len(drawn_in(swept, 0)) == N_JUDGED
        for cell in cells_in(swept):
            entry = cell.metrics["overall"]["overall_recall"]
            assert (entry["n"], entry["n_excluded"]) == (N_JUDGED, {"not_drawn": N - N_JUDGED})
            assert entry["ci_low"] <= entry["value"] < entry["ci_high"]
            assert cell.metrics["overall"]["f1"]["n"] == N
            assert cell.judges["claims"]["n_judged"] == N_JUDGED

    def test_judged_part_mean_covers_only_the_drawn_samples(self, swept: Path, tmp_path: Path) -> None:
        assert run_small(tmp_path, (*JUDGED, "top_k=1")) == 0
        drawn = drawn_in(swept, 0)
        every = {row["id"]: row["score/overall_f1"] for row in rows_of(tmp_path, 0)}
        part = {row["id"]: row["score/overall_f1"] for row in rows_of(swept, 0) if row["id"] in drawn}
        assert part == {name: every[name] for name in drawn}

    def test_references_of_undrawn_samples_are_not_prepared(self, swept: Path) -> None:
        assert [cell.usage["judge/claims"]["n_requests"] <= N_JUDGED * 4 for cell in cells_in(swept)] == [True, True]

    def test_documented_prediction_powered_interval_covers_all_samples(self, swept: Path) -> None:
        """The lines of docs/judges.md."""
        page = (Path(__file__).parents[3] / "docs" / "judges.md").read_text(encoding="utf-8")
        (code,) = re.findall(r"```python\n([^`]*prediction_powered[^`]*)```", page)
        cell = cells_in(swept)[0].cell_id
        lines = code.replace('"SWEEP"', repr(str(swept / "results" / SWEEP_ID))).replace('"CELL"', repr(cell))
        names: dict[str, Any] = {"analysis": analysis}
        exec(lines, names)
        found = names["found"]
        assert (found.n, found.n_labelled) == (N, N_JUDGED)
        assert found.interval[0] <= found.mean < found.interval[1]


def test_plan_counts_requests_of_drawn_samples_only(tmp_path: Path) -> None:
    assert plan_small(tmp_path, JUDGED).summary()["requests"] == {"judge_preparation": N, "judged_scores": 3 * N}
    few = plan_small(tmp_path, PART).summary()["requests"]
    assert few == {"judge_preparation": N_JUDGED, "judged_scores": 3 * N_JUDGED}


def test_leaderboard_reports_the_number_of_judged_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_small(tmp_path, (*PART, "run.headline=overall_f1")) == 0
    assert f"{N_JUDGED} of {N} samples judged" in capsys.readouterr().out


def test_planned_metric_leaves_out_undrawn_samples(tmp_path: Path) -> None:
    (cell,) = plan_small(tmp_path, PART).cells
    metric = PlannedMetrics([cell], cell.graph.data, store_of(tmp_path)).plan_metric("overall_recall")
    assert (len(metric.rows), metric.left_out) == (N_JUDGED, Counter({"not_drawn": N - N_JUDGED}))


def test_stage_keys_change_only_if_a_part_is_judged() -> None:
    assert keys(*JUDGED) == keys(*JUDGED, f"judge.sample={N}") == keys(*JUDGED, "judge.sample_seed=3")
    assert not keys(*JUDGED) & keys(*PART)
    assert not keys(*PART) & keys(*PART, "judge.sample_seed=1")


def test_judged_part_has_samples_of_every_subset_in_proportion() -> None:
    sizes = {"long": 60, "short": 30, "rare": 2}
    samples = [Sample(f"{subset}{n}", subset, Kind.QA, "?", ()) for subset, size in sizes.items() for n in range(size)]
    drawn = np.array(JudgedPart(9, 0).drawn_mask(samples))
    assert Counter(samples[row].subset for row in np.flatnonzero(drawn)) == {"long": 5, "short": 3, "rare": 1}
    assert (drawn != np.array(JudgedPart(9, 1).drawn_mask(samples))).any()


def test_judged_part_of_zero_samples_is_rejected() -> None:
    with pytest.raises(ConfigError, match=re.escape("judge.sample: got 0, expected at least 1")):
        check_jobs([compose_job(*JUDGED, "judge.sample=0")])
