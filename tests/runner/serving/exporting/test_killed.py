"""Killed exports: the target is always a whole export, and the next export or prune frees the space."""

import logging
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.engine.store import Store
from runner.engine.store.unfinished_exports import UnfinishedExport
from runner.results.loaded_sweep import load
from runner.serving.exporting.exported_cell import ExportedCell, collect_export
from runner.serving.exporting.exported_folder import write_folder
from runner.store import main as store_main
from tests.conftest import MakeOnce
from tests.runner.serving.exporting.dying import die, end_of, quick_exports, start
from tests.runner.serving.exporting.exporting import texts_in
from tests.runner.sweeping import FEW_METRICS, SWEEP_ID, run_small, store_of

SMALL, LARGE = "llm=none", "llm=extractive"


Files = dict[str, bytes]


@pytest.fixture(scope="session")
def sweep(make_once: MakeOnce) -> Path:
    """Two cells, whose exports differ."""

    def fill(folder: Path) -> None:
        cells = (("retriever=bm25", "llm=none", "metrics=retrieval"), (*FEW_METRICS, "retriever=hybrid_rerank"))
        assert run_small(folder, *cells) == 0

    return make_once("sweep-of-killed-exports", fill)


@pytest.fixture
def folder(sweep: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy, whose store no other test uses."""
    with quick_exports():
        yield shutil.copytree(sweep, tmp_path / "sweep")


@pytest.fixture
def cells(folder: Path) -> dict[str, ExportedCell]:
    found = load(folder / "results" / SWEEP_ID)
    store = store_of(folder).root
    return {name: collect_export(found, found.cell(name), store) for name in (SMALL, LARGE)}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "outs").mkdir()
    return tmp_path / "outs" / "W"


@pytest.fixture
def whole(cells: dict[str, ExportedCell], tmp_path: Path) -> dict[str, Files]:
    """Return the files of both cells as an uninterrupted export writes them."""
    found = {}
    for name, cell in cells.items():
        write_folder(cell, tmp_path / "whole")
        found[name] = texts_in(tmp_path / "whole")
        shutil.rmtree(tmp_path / "whole")
    return found


def n_links(folder: Path) -> int:
    """Return the number of links to the files of the store's results, wherever they are."""
    return sum(path.stat().st_nlink for path in (store_of(folder).root / "entries").rglob("*") if path.is_file())


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def records(folder: Path) -> list[Path]:
    return list((store_of(folder).root / "exports").iterdir())


def prune(folder: Path, *options: str) -> int:
    return store_main(["--store-dir", str(store_of(folder).root), "prune", *options])


@pytest.mark.parametrize("can_swap", [True, False])
@pytest.mark.parametrize("by", ["export", "prune"])
def test_export_killed_at_any_step_leaves_no_permanent_files(
    can_swap: bool, by: str, folder: Path, cells: dict[str, ExportedCell], whole: dict[str, Files], out: Path
) -> None:
    before = n_links(folder)
    write_folder(cells[SMALL], out)
    n_steps = die(cells[LARGE], out, can_swap=can_swap)
    assert n_steps >= 8
    n_away = 0
    for fatal in range(n_steps):
        write_folder(cells[SMALL], out)
        with_small = n_links(folder)
        assert die(cells[LARGE], out, fatal, can_swap=can_swap) == fatal
        n_away += not out.exists()
        assert not out.exists() or texts_in(out) in whole.values(), fatal
        if by == "export":
            write_folder(cells[SMALL], out)
            assert (texts_in(out), n_links(folder)) == (whole[SMALL], with_small)
        else:
            assert prune(folder) == 0
            assert texts_in(out) in whole.values(), fatal
        assert (hidden(out.parent), records(folder)) == ([], [])
    assert n_away == (not can_swap)
    shutil.rmtree(out)
    assert n_links(folder) == before


def test_export_survives_kills_at_random_moments(
    folder: Path, cells: dict[str, ExportedCell], whole: dict[str, Files], out: Path
) -> None:
    write_folder(cells[LARGE], out)
    began = time.perf_counter()
    write_folder(cells[LARGE], out)
    longest_s = time.perf_counter() - began
    drawn, ends = random.Random(5), []
    for _ in range(10):
        ends.append(end_of(start(cells[LARGE], out, killed_after_s=drawn.uniform(0.001, longest_s))))
        assert texts_in(out) == whole[LARGE]
    assert -signal.SIGALRM in ends
    assert set(ends) <= {0, -signal.SIGALRM}
    write_folder(cells[SMALL], out)
    assert (texts_in(out), hidden(out.parent), records(folder)) == (whole[SMALL], [], [])


def test_prune_reports_an_abandoned_export_and_a_dry_run_keeps_it(
    folder: Path, cells: dict[str, ExportedCell], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = n_links(folder)
    die(cells[LARGE], out, fatal=die(cells[LARGE], out) // 2)
    shutil.rmtree(out)
    assert n_links(folder) > before
    (name,) = hidden(out.parent)
    for option, said in (("--dry-run", "would remove"), ("--older-than-days=9", "removed")):
        assert prune(folder, option) == 0
        told = capsys.readouterr().out
        assert f"left by a killed export: {out.parent / name} (" in told
        assert f"{said} 0 results, 0 B, and 1 leftovers of killed runs" in told
    assert (hidden(out.parent), n_links(folder)) == ([], before)


def test_prune_keeps_an_export_that_is_being_written(
    folder: Path,
    cells: dict[str, ExportedCell],
    whole: dict[str, Files],
    out: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A stopped process keeps its folder for as long as it exists."""
    child = start(cells[LARGE], out)
    while not hidden(out.parent):
        time.sleep(0.0005)
    os.kill(child, signal.SIGSTOP)
    (name,) = hidden(out.parent)
    there = texts_in(out.parent / name)
    assert prune(folder, "--older-than-days", "99") == 0
    with caplog.at_level(logging.WARNING):
        write_folder(cells[SMALL], out)
    assert texts_in(out.parent / name) == there
    os.kill(child, signal.SIGCONT)
    assert end_of(child) == 0
    assert (texts_in(out), hidden(out.parent)) == (whole[LARGE], [])
    assert "removed" not in caplog.text


def test_prune_names_leftovers_without_a_record(
    cells: dict[str, ExportedCell], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, owner in ((".W.a_b3c4d5", ""), (".W.01234567", "x.1\n/another store\n")):
        (tmp_path / name / "new").mkdir(parents=True)
        if owner:
            (tmp_path / name / "owner").write_text(owner)
    with caplog.at_level(logging.WARNING):
        write_folder(cells[SMALL], tmp_path / "W")
    assert f"{tmp_path / '.W.a_b3c4d5'}: belongs to an export by an earlier version. Remove it, unless" in caplog.text
    assert "python -m runner.store --store-dir '/another store' prune removes it" in caplog.text
    assert len(hidden(tmp_path)) == 2


@pytest.mark.parametrize(
    "record",
    [
        "{",
        "[]",
        "{}",
        '{"folder": "THESIS", "out": "OUT", "host": ""}',
        '{"folder": "BESIDE", "out": "OUT", "host": ""}',
    ],
)
def test_export_record_never_removes_a_folder_without_its_name(
    record: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A store may come from somebody else."""
    store, out = Store(tmp_path / "store"), tmp_path / "W"
    thesis, beside = tmp_path / "thesis", tmp_path / ".W.01234567"
    for folder in (thesis, beside):
        (folder / "new").mkdir(parents=True)
        (folder / "new" / "text").write_text("years of work")
    (thesis / "owner").write_text("gone.1\n")
    (store.root / "exports").mkdir()
    names = {"THESIS": str(thesis), "BESIDE": str(beside), "OUT": str(out)}
    for name, path in names.items():
        record = record.replace(name, path)
    (store.root / "exports" / "gone.1").write_text(record)
    assert store_main(["--store-dir", str(store.root), "prune", "--older-than-days", "0"]) == 0
    assert "0 leftovers" in capsys.readouterr().out
    assert (thesis / "new" / "text").exists()
    assert (beside / "new" / "text").exists()


def test_folder_of_another_record_is_not_the_half_export(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with store.unfinished_exports.begin(tmp_path / "W") as half:
        assert half.exists
        other = UnfinishedExport(half.record.with_name("other"), half.folder, half.out, half.host)
        assert not other.exists
        assert store.unfinished_exports.left() == []
    assert not half.folder.exists()
