"""Classes of failures: a planted corpus with a sample of every class."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.report.report_record import Report
from analysis.report.sample_classes import CLASSES, RIGHT, name_class
from analysis.report.samples_section import MAX_CHARACTERS, shorten_around
from components.forensics.failures import Failure
from runner import results
from runner.results.loaded_sweep import LoadedSweep
from tests.analysis.report.pages import Page, rendered, report_on

LONG = "<script>alert(1)</script>\u202e\"'\x00" + "x" * 100_000


@pytest.fixture(scope="module")
def report(planted: LoadedSweep) -> Report:
    return report_on(planted.folder)


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return rendered(report)[0]


def test_every_failure_class_has_a_reader_facing_name() -> None:
    assert {failure.value for failure in Failure} - {""} <= set(CLASSES)
    assert name_class("", "right", "in_context") == RIGHT


def test_report_counts_every_sample_in_one_class(report: Report, planted: LoadedSweep) -> None:
    assert report.failures
    assert [sum(row.counts.values()) for row in report.failures.rows] == [row.n for row in report.failures.rows]
    assert {row.cell_id for row in report.failures.rows} == {cell.cell_id for cell in planted.cells}
    assert {"not_retrieved", "ranked_low", "right"} <= set(report.failures.classes)


def test_report_shows_samples_of_every_failure_class_with_marked_gold(report: Report, page: Page) -> None:
    assert report.samples
    first = report.samples.views[0].answers[0]
    assert {view.answers[0].class_name for view in report.samples.views} == set(
        next(row for row in report.failures.rows if row.cell_id == report.answer.take).counts  # type: ignore[union-attr]
    )
    assert first.hits
    assert report.samples.has_texts
    marked = [piece for view in report.samples.views for hit in view.answers[0].hits for piece in hit.text.pieces[1::2]]  # type: ignore[union-attr]
    gold = [str(text.pieces[0]) for view in report.samples.views for _, text in view.gold if text]
    assert marked
    assert all(any(piece in whole or whole in piece for whole in gold) for piece in marked)
    assert page.text.count("shown because it is") == len(report.samples.views)


def test_cut_text_keeps_the_gold_and_counts_removed_characters() -> None:
    assert shorten_around("short").n_cut == 0
    assert shorten_around("x" * 5_000).n_cut == 5_000 - MAX_CHARACTERS
    far = shorten_around("a" * 3_000 + "gold" + "b" * 3_000, [(3_000, 3_004)])
    assert far.pieces[1] == "gold"
    assert sum(map(len, far.pieces)) == MAX_CHARACTERS + 1
    assert shorten_around("abcdef", [(1, 3), (2, 5), (9, 12)]).pieces == ("a", "bc", "", "de", "f")


def write_rows(planted: LoadedSweep, folder: Path, **columns: object) -> Path:
    """Write a copy of the sweep with changed columns in its tables, over the same store."""
    shutil.copytree(planted.folder, folder)
    for file in folder.glob("*/samples.parquet"):
        table = pq.read_table(file)
        for name, value in columns.items():
            own = pa.array([value] * len(table), table.schema.field(name).type)
            table = table.set_column(table.schema.get_field_index(name), name, own)
        file.unlink()  # the file may be a hard link to the store's file
        pq.write_table(table, file)
    return folder


def test_report_shows_markup_and_long_texts_as_plain_text(planted: LoadedSweep, tmp_path: Path) -> None:
    folder = write_rows(planted, tmp_path / "nasty", question=LONG, answer=LONG)
    page, text, record = rendered(report_on(folder))
    assert page.text.count("<script>alert(1)</script>") > 20
    assert "\u202e" not in page.text
    assert "99,4" in page.text
    assert max(map(len, page.texts)) < 2_000
    assert len(text) + len(record) < 2_000_000


def test_samples_without_found_gold_drop_only_the_samples_and_failures_sections(
    planted: LoadedSweep, tmp_path: Path
) -> None:
    shutil.copytree(planted.folder, tmp_path / "old")
    for file in (tmp_path / "old").glob("*/samples.parquet"):
        table = pq.read_table(file).drop_columns(["found_gold"])
        file.unlink()
        pq.write_table(table, file)
    report = report_on(tmp_path / "old")
    page, _, _ = rendered(report)
    assert report.failures is None
    assert report.samples is None
    assert "samples.parquet" in report.why_no_failures
    assert report.why_no_failures in page.text


def test_report_gives_positions_of_hits_without_the_store(planted: LoadedSweep, tmp_path: Path) -> None:
    folder = tmp_path / "alone" / "results" / "sweep"
    shutil.copytree(planted.folder, folder)
    for cell in planted.cells:
        moved = {**cell.config, "run": {**cell.config["run"], "store_dir": str(tmp_path / "gone")}}
        results.write_cell(folder, replace(cell, config=moved), {})
    report = report_on(folder)
    page, _, record = rendered(report)
    assert report.samples
    assert not report.samples.has_texts
    assert "The texts of passages are not stored" in page.text
    assert json.loads(record)["samples"]["views"][0]["answers"][0]["hits"][0]["text"] is None
