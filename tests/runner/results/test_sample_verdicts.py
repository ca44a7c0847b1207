"""Why samples fail, in a sweep in which each sample fails in a different way."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow.parquet import read_table

from components.errors import DataError
from components.forensics.failures import Failure
from components.forensics.stages import EvidenceStage
from components.forensics.verdicts import Verdict
from runner.results import FAILED, documents_file, read_samples
from runner.results.forensic_verdicts import sample_verdicts
from runner.results.hit_texts import corpus_texts
from runner.results.loaded_sweep import LoadedSweep, load
from tests.analysis import tiny_sweep
from tests.forensics.planted import CASES, TEXTS


def verdicts_of(sweep: LoadedSweep, place: int) -> dict[str, Verdict]:
    return {own.id: own.verdict for own in sample_verdicts(sweep, sweep.cells[place])}


def test_planted_samples_have_their_failure_classes(planted: LoadedSweep) -> None:
    expected = {case.sample.id: (case.from_context, case.from_question) for case in CASES}
    found = [verdicts_of(planted, place) for place in range(2)]
    got = {an_id: tuple(own[an_id].failure.value for own in found) for an_id in expected}
    assert got == expected


def test_planted_samples_cover_every_failure_class(planted: LoadedSweep) -> None:
    found = {own.failure for place in range(2) for own in verdicts_of(planted, place).values()}
    elsewhere = {Failure.INVENTED, Failure.COMPRESSED}  # found only by a judge of claims, and only with a compressor
    assert found == set(Failure) - elsewhere


def test_verdict_reports_the_rank_that_would_be_needed(planted: LoadedSweep) -> None:
    found = verdicts_of(planted, 0)
    assert [found[an_id].rank_needed for an_id in ("right", "dropped", "low", "hidden", "absent")] == [
        1,
        2,
        3,
        None,
        None,
    ]


def test_arrived_evidence_equals_passage_coverage(planted: LoadedSweep) -> None:
    cell = planted.cells[0]
    n_seen = 0
    for row in read_samples(planted.folder_of(cell), ["gold", "score/passage_coverage"]):
        units = [unit for unit in row["gold"] if unit["n_characters"]]
        if row["score/passage_coverage"] is not None:
            share = sum(unit["n_in_context"] for unit in units) / sum(unit["n_characters"] for unit in units)
            assert share == pytest.approx(row["score/passage_coverage"])
            n_seen += 0 < share < 1
    assert n_seen, "a unit that arrived in part is among them"


def test_sufficient_share_of_evidence_is_configurable(planted: LoadedSweep) -> None:
    half = {own.id: own.verdict for own in sample_verdicts(planted, planted.cells[0], theta=0.4)}
    assert half["cut"].stage is EvidenceStage.IN_CONTEXT


def test_verdict_without_stored_texts_does_not_explain_a_wrong_answer(planted: LoadedSweep, tmp_path: Path) -> None:
    folder = shutil.copytree(planted.folder, tmp_path / "moved")
    cell = planted.cells[0]
    gone = replace(cell, config={**cell.config, "run": {"store_dir": str(tmp_path / "none")}})
    verdict = {own.id: own.verdict for own in sample_verdicts(LoadedSweep(folder, (gone,)), gone)}["distracted"]
    assert (verdict.failure, verdict.doubts) == (Failure.WRONG_WITH_EVIDENCE, ("texts not stored",))
    with pytest.raises(DataError, match=r"missing.*Run the sweep's command again"):
        corpus_texts(gone, folder)


def test_searched_documents_are_listed_once(planted: LoadedSweep) -> None:
    (path,) = planted.folder.glob("documents_*.parquet")
    assert path == documents_file(planted.folder, planted.cells[0].dataset["corpus"])
    assert read_table(path).to_pylist() == [
        {"id": an_id, "title": f"About {an_id}", "n_characters": len(TEXTS[an_id])} for an_id in sorted(TEXTS)
    ]


def test_samples_without_evidence_columns_suggest_to_run_again(tmp_path: Path) -> None:
    sweep = load(tiny_sweep.write(tmp_path / "tiny"))
    with pytest.raises(DataError, match=r"samples.parquet.*Run the sweep's command again"):
        sample_verdicts(sweep, sweep.cells[0])


def test_failed_cell_does_not_affect_verdicts_of_other_cells(planted: LoadedSweep) -> None:
    failed = replace(planted.cells[0], cell_id="failed", status=FAILED, metrics={})
    together = LoadedSweep(planted.folder, (*planted.cells, failed))
    assert sample_verdicts(together, planted.cells[0]) == sample_verdicts(planted, planted.cells[0])
    with pytest.raises(DataError, match="cannot be read"):
        sample_verdicts(together, failed)
