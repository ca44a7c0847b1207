import json
import os
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from components.errors import DataError
from runner.engine.store import locks
from runner.engine.store.part_files import write_part
from runner.results import (
    CellResult,
    SweepResult,
    combiner,
    find_sweep,
    larger_is_better,
    open_samples,
    read_cell,
    read_cells,
    read_rows,
    read_samples,
    read_sweep,
    sealed_json,
    write_cell,
    write_sweep,
)
from tests.runner.sweeping import read_unsealed

CELL = CellResult(
    cell_id="0123456789ab",
    status="OK",
    axes={"retriever": "bm25", "top_k": 5, "embedder": None},
    overrides=("top_k=5",),
    config={"top_k": 5},
    dataset={"name": "demo", "key": "k", "n_samples": 2},
    metrics={
        "overall": {
            "ndcg@10": {"value": 0.1 + 0.2, "n": 2, "n_excluded": {}, "ci_low": 0.25, "ci_high": 0.5},
            "bleu": {"value": None, "n": 0, "n_excluded": {"failed": 2}, "ci_low": None, "ci_high": None},
        },
        "topic/funds": {"ndcg@10": {"value": 1.0, "n": 1, "n_excluded": {}, "ci_low": 1.0, "ci_high": 1.0}},
    },
    larger_is_better={"ndcg@10": True, "bleu": True, "length": None},
    counts={"ok": 2},
    seconds={"answers": 0.25},
    reused={"answers": False},
)
SWEEP = SweepResult(
    sweep_id="a-sweep",
    name="试验",
    status="OK",
    command="python -m runner",
    overrides=("top_k=2,5",),
    started="2026-01-01T00:00:00+00:00",
    finished="",
    cells=({"cell_id": "0123456789ab"}, {"cell_id": "never-ran"}),
    plan={"n_cells": 2},
)


class TestCells:
    def test_written_cell_is_read_back_equal(self, tmp_path: Path) -> None:
        folder = write_cell(tmp_path, CELL, {"samples.parquet": b"PAR1"})
        assert folder == tmp_path / CELL.cell_id
        assert read_cell(folder) == CELL
        assert sorted(path.name for path in folder.iterdir()) == ["cell.json", "samples.parquet"]
        assert (folder / "samples.parquet").read_bytes() == b"PAR1"

    def test_cell_can_be_overwritten(self, tmp_path: Path) -> None:
        write_cell(tmp_path, CELL, {})
        failed = replace(CELL, status="FAILED", reason="no")
        assert read_cell(write_cell(tmp_path, failed, {})) == failed

    def test_cell_json_is_missing_after_an_interrupted_write(self, tmp_path: Path) -> None:
        """`cell.json` is written last, so an interrupted cell has no such file."""
        with pytest.raises(TypeError):
            write_cell(tmp_path, CELL, {"a.csv": b"a", "b.csv": None})  # type: ignore[dict-item]
        assert not (tmp_path / CELL.cell_id / "cell.json").exists()

    def test_cell_value_is_found_by_metric_and_subset(self) -> None:
        assert CELL.value("ndcg@10") == 0.1 + 0.2
        assert CELL.value("ndcg@10", "topic/funds") == 1.0
        assert CELL.value("bleu") is None
        assert CELL.value("unknown") is None
        assert CELL.value("ndcg@10", "unknown") is None


class TestSweeps:
    def test_written_sweep_is_read_back_equal(self, tmp_path: Path) -> None:
        write_sweep(tmp_path / "a-sweep", SWEEP)
        assert read_sweep(tmp_path / "a-sweep") == SWEEP

    def test_process_waiting_for_the_sweep_lock_reports_the_wait(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(locks, "_WARN_AFTER_S", 0.05)
        lock = FileLock(tmp_path / ".sweep.lock")
        lock.acquire()
        waiting = threading.Thread(target=write_sweep, args=(tmp_path, SWEEP))
        waiting.start()
        waiting.join(0.3)
        lock.release()
        waiting.join(20)
        assert read_sweep(tmp_path) == SWEEP
        message = f"waiting for another process, which is writing sweep.json (it holds {tmp_path / '.sweep.lock'})"
        assert [record.getMessage() for record in caplog.records] == [message]

    def test_request_counts_of_several_processes_are_added(self, tmp_path: Path) -> None:
        plans: list[dict[str, Any]] = [
            {"n_requests": 2, "groups": {"a": {"n_tokens": 3, "is_exact": True}, "b": {"n_tokens": None}}},
            {"n_requests": 3, "groups": {"a": {"n_tokens": None, "is_exact": False}, "c": {"n_tokens": 7}}},
        ]
        for number, plan in enumerate(plans):
            write_sweep(tmp_path, replace(SWEEP, cells=({"cell_id": f"cell-{number}", "status": "OK"},), plan=plan))
        assert read_sweep(tmp_path).plan == {
            "n_requests": 5,
            "groups": {"a": {"n_tokens": None, "is_exact": False}, "b": {"n_tokens": None}, "c": {"n_tokens": 7}},
        }

    def test_result_files_contain_unescaped_chinese(self, tmp_path: Path) -> None:
        write_sweep(tmp_path, SWEEP)
        assert "试验" in (tmp_path / "sweep.json").read_text(encoding="utf-8")

    def test_read_cells_lists_finished_cells(self, tmp_path: Path) -> None:
        write_sweep(tmp_path, SWEEP)
        write_cell(tmp_path, CELL, {})
        assert list(read_cells(tmp_path)) == [CELL]


class TestErrors:
    def test_folder_without_sweep_json_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"sweep\.json: does not exist, expected the folder of a sweep"):
            read_sweep(tmp_path)

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", "3"])
    def test_file_that_is_not_a_result_is_an_error(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "cell.json").write_text(text)
        with pytest.raises(DataError, match=r"cell\.json: is not a result file"):
            read_cell(tmp_path)

    def test_newer_schema_version_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "cell.json").write_text('{"schema_version": 3}')
        with pytest.raises(DataError, match="got schema_version 3, expected 2"):
            read_cell(tmp_path)

    @pytest.mark.parametrize("name", ["sweep.json", "cell.json"])
    def test_result_file_with_missing_fields_is_an_error(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text('{"schema_version": 2, "cells": [], "overrides": []}')
        with pytest.raises(DataError, match=name):
            (read_sweep if name == "sweep.json" else read_cell)(tmp_path)

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("axes", [], "axes: got a list, expected an object"),
            ("overrides", "top_k=5", "overrides: got a string, expected a list"),
            ("overrides", [5], r"overrides\.0: got a number, expected a string"),
            ("metrics", {"overall": {"mrr": 0.5}}, r"metrics\.overall\.mrr: got a number, expected an object"),
            ("seconds", {"answers": None}, r"seconds\.answers: got null, expected a number"),
            ("larger_is_better", {"mrr": "yes"}, r"larger_is_better\.mrr: got a string, expected a boolean or null"),
            ("counts", {"ok": True}, r"counts\.ok: got a boolean, expected a number"),
        ],
    )
    def test_result_field_of_a_wrong_type_is_an_error(
        self, tmp_path: Path, field: str, value: object, message: str
    ) -> None:
        path = write_cell(tmp_path, CELL, {}) / "cell.json"
        path.write_text(json.dumps({**json.loads(read_unsealed(path)), field: value}))
        with pytest.raises(DataError, match=rf"cell\.json: is not a result file \({message}\)"):
            read_cell(path.parent)

    @pytest.mark.parametrize("cells", [[{}], [{"cell_id": 5}], ["a cell"], {}])
    def test_sweep_file_with_invalid_cells_is_an_error(self, tmp_path: Path, cells: object) -> None:
        write_sweep(tmp_path, SWEEP)
        path = tmp_path / "sweep.json"
        path.write_text(json.dumps({**json.loads(read_unsealed(path)), "cells": cells}))
        with pytest.raises(DataError, match=r"sweep\.json: is not a result file \(cells"):
            read_sweep(tmp_path)

    def test_nan_is_rejected_in_results(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="not JSON compliant"):
            write_cell(tmp_path, replace(CELL, seconds={"answers": float("nan")}), {})


def test_cell_file_is_plain_json(tmp_path: Path) -> None:
    raw = json.loads((write_cell(tmp_path, CELL, {}) / "cell.json").read_text(encoding="utf-8"))
    assert raw["schema_version"] == 2
    assert raw["metrics"]["overall"]["ndcg@10"]["value"] == 0.1 + 0.2
    assert raw["axes"] == CELL.axes


def test_result_files_have_one_field_per_line(tmp_path: Path) -> None:
    lines = (write_cell(tmp_path, CELL, {}) / "cell.json").read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("{", '"cell_id": "0123456789ab",', "}")


class TestDirection:
    def test_metric_direction_is_read_from_the_cells(self) -> None:
        judged = replace(CELL, larger_is_better={"hallucination": False})
        assert [larger_is_better(name, [CELL, judged]) for name in ("bleu", "hallucination", "length", "gone")] == [
            True,
            False,
            None,
            None,
        ]

    def test_metric_without_a_common_direction_cannot_be_ranked(self) -> None:
        turned = replace(CELL, larger_is_better={"bleu": False})
        assert larger_is_better("bleu", [CELL, turned]) is None


class TestCombiner:
    BLEU: ClassVar = {"_target_": "components.metrics.bleu.Bleu", "language": "zh"}

    def cell(self, **scores: object) -> CellResult:
        return CellResult("c", "OK", {}, (), {"metrics": {"scores": scores}}, {})

    def test_combiner_is_built_from_the_component_that_declares_the_metric(self) -> None:
        broken = {"_target_": "components.metrics.gone.Gone"}
        combine = combiner(self.cell(gone=broken, bleu=self.BLEU), "bleu")
        perfect = np.array([4.0, 4, 4, 3, 2, 1, 4, 3, 2, 1])
        assert combine(np.stack([perfect, np.zeros(10)]))[0] == pytest.approx(1.0)

    def test_combiner_for_an_unconfigured_metric_is_an_error(self) -> None:
        with pytest.raises(DataError, match="c: its configuration names no component that computes rouge_l"):
            combiner(self.cell(bleu=self.BLEU), "rouge_l")


@pytest.mark.parametrize("name", ["cell.json", "sweep.json"])
@pytest.mark.parametrize("is_fifo", [True, False])
def test_non_regular_result_files_are_rejected(name: str, is_fifo: bool, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name) if is_fifo else (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(DataError, match=rf"{name}: is not a result file \(it is not a file\)"):
        (read_cell if name == "cell.json" else read_sweep)(tmp_path)


def test_samples_file_that_is_a_fifo_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "samples.parquet")
    with (
        pytest.raises(DataError, match=r"samples\.parquet: cannot be read \(it is not a file\)"),
        open_samples(tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        (pa.array([b"a", b"b"]), "its column answer is of type binary, not strings"),
        (pa.array(["a", None]), "its column answer lacks 1 of 2 texts"),
    ],
)
def test_samples_without_readable_answers_are_refused(answers: pa.Array, problem: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["1", "2"], "answer": answers}), tmp_path / "samples.parquet")
    for read in (read_samples, lambda folder, columns: read_rows(folder, columns, [0])):
        with pytest.raises(DataError, match=f"cannot be read .{problem}"):
            read(tmp_path, ["id", "answer"])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "riddle"),
        ("state", "asleep"),
        ("history", "{no json"),
        ("history", "[" * 100_000),
        ("history", '{"question": "a", "answer": "b"}'),
        ("history", '[{"question": "a"}]'),
        ("history", '[{"question": 1, "answer": "b"}]'),
    ],
)
def test_samples_with_unknown_kinds_states_or_histories_are_refused(column: str, value: str, tmp_path: Path) -> None:
    good = {"kind": "qa", "state": "ok", "history": '[{"question": "a", "answer": "b"}]'}[column]
    pq.write_table(pa.table({"id": ["1", "2"], column: [good, good]}), tmp_path / "samples.parquet")
    assert len(read_samples(tmp_path, [column])) == 2
    pq.write_table(pa.table({"id": ["1", "2"], column: [good, value]}), tmp_path / "samples.parquet")
    with pytest.raises(DataError, match=rf"cannot be read \(its column {column} has .*, expected "):
        read_samples(tmp_path, [column])


def test_unreadable_result_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cell.json").symlink_to("cell.json")
    with pytest.raises(DataError, match=r"cell\.json: cannot be read"):
        read_cell(tmp_path)


def test_deeply_nested_result_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cell.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"cell\.json: is not a result file"):
        read_cell(tmp_path)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"dataset": {"n_gold_units_not_in_corpus": "many"}}, "dataset.n_gold_units_not_in_corpus: got 'many'"),
        ({"dataset": {"n_samples": None}}, "dataset.n_samples: got None"),
        (
            {"metrics": {"overall": {"em": {"value": "1", "n": 1, "n_excluded": {}}}}},
            "metrics.overall.em.value: got '1'",
        ),
        (
            {"metrics": {"overall": {"em": {"value": None, "n": None, "n_excluded": {}}}}},
            "metrics.overall.em.n: got None",
        ),
        (
            {"metrics": {"overall": {"em": {"value": 1, "n": 1, "n_excluded": {"no_gold": "1"}}}}},
            "metrics.overall.em.n_excluded.no_gold: got '1'",
        ),
        ({"judges": {"quest": {"n_judged": [3]}}}, "judges.quest.n_judged: got [3]"),
        ({"cut_texts": ({"n_cut": True},)}, "cut_texts.0.n_cut: got True"),
    ],
)
def test_non_numeric_count_is_named_in_the_error(changes: dict[str, Any], where: str, tmp_path: Path) -> None:
    folder = write_cell(tmp_path, replace(CELL, **changes), {})
    with pytest.raises(DataError, match=re.escape(f"{folder / 'cell.json'}: {where}, expected a number. The file was")):
        read_cell(folder)


def test_dataset_note_may_have_any_value(tmp_path: Path) -> None:
    folder = write_cell(tmp_path, replace(CELL, dataset={"n_of_authors": "many"}), {})
    assert read_cell(folder).dataset["n_of_authors"] == "many"


def test_overlong_sweep_name_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be read \(File name too long\), expected the folder of a sweep"):
        find_sweep("x" * 300, tmp_path)


def test_unknown_cell_and_sweep_status_is_refused(tmp_path: Path) -> None:
    folder = write_cell(tmp_path, replace(CELL, status="ok"), {})
    with pytest.raises(DataError, match=r"cell\.json: .*status: got 'ok', expected one of OK, FAILED"):
        read_cell(folder)
    write_sweep(tmp_path, replace(SWEEP, status="DONE"))
    with pytest.raises(DataError, match=r"sweep\.json: .*status: got 'DONE', expected one of OK, FAILED, RUNNING"):
        read_sweep(tmp_path)


def test_lists_and_mappings_of_axes_are_read_as_text(tmp_path: Path) -> None:
    axes = {"refiner.use": ["dedupe", "headings"], "llm.extra_body": {"seed": 1, "stop": ["a"]}, "top_k": 5}
    folder = write_cell(tmp_path, replace(CELL, axes=axes), {})
    assert read_cell(folder).axes == {
        "refiner.use": "[dedupe,headings]",
        "llm.extra_body": "{seed:1,stop:[a]}",
        "top_k": 5,
    }


def test_result_moved_to_the_folder_of_another_cell_is_rejected(tmp_path: Path) -> None:
    folder = write_cell(tmp_path, CELL, {}).rename(tmp_path / "another")
    with pytest.raises(DataError, match=r"cell\.json: got the result of cell '0123456789ab', expected the cell"):
        read_cell(folder)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"spent": {"n_requests": {"a": 1}}}, "spent.n_requests: got"),
        ({"spent": {"cost": "x"}}, "spent.cost: got 'x', expected a number"),
        ({"search": {"n_cells": 2}}, "search.seed: got None, expected a number"),
        ({"search": {"seed": 0, "n_cells": 2, "n_space": 4, "n_tried": 2}}, "search: lacks strategy or is_whole"),
    ],
)
def test_malformed_amounts_and_searches_are_rejected(changed: dict[str, Any], problem: str, tmp_path: Path) -> None:
    write_sweep(tmp_path, replace(SWEEP, **changed))
    with pytest.raises(DataError, match=re.escape(problem)):
        read_sweep(tmp_path)


def test_sweep_file_that_lists_a_cell_twice_is_refused(tmp_path: Path) -> None:
    write_sweep(tmp_path, replace(SWEEP, cells=(*SWEEP.cells, SWEEP.cells[0])))
    with pytest.raises(DataError, match=r"sweep\.json: .*'0123456789ab' is listed twice"):
        read_sweep(tmp_path)


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ('"n": 2, ', "", r"metrics\.overall\.ndcg@10: has no n\."),
        ('"n_excluded": {}', '"excluded": {}', r"metrics\.overall\.ndcg@10: has no n_excluded\."),
        ('"n_excluded": {}', '"n_excluded": null', r"n_excluded: got None, expected counts by reason"),
        ('"value": null', '"value": NaN', "got NaN"),
    ],
)
def test_metric_entry_without_valid_numbers_is_refused(
    tmp_path: Path, written: str, instead: str, message: str
) -> None:
    file = write_cell(tmp_path, CELL, {}) / "cell.json"
    file.write_text(read_unsealed(file).replace(written, instead, 1), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_cell(file.parent)


def test_every_changed_byte_of_a_result_file_is_an_error(tmp_path: Path) -> None:
    write_sweep(tmp_path, SWEEP)
    cell = write_cell(tmp_path, CELL, {}) / "cell.json"
    for path, read in ((cell, lambda: read_cell(cell.parent)), (tmp_path / "sweep.json", lambda: read_sweep(tmp_path))):
        whole = path.read_bytes()
        for place in range(0, len(whole), 3):
            for bit in (1, 4, 16, 64):
                path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
                with pytest.raises(DataError, match=re.escape(str(path))):
                    read()
        for changed in (whole[:-1], whole + b" ", whole[len(whole) // 2 :], json.dumps(json.loads(whole)).encode()):
            path.write_bytes(changed)
            with pytest.raises(DataError, match=re.escape(str(path))):
                read()


def test_result_file_without_a_checksum_is_read(tmp_path: Path) -> None:
    path = write_cell(tmp_path, CELL, {}) / "cell.json"
    path.write_text(read_unsealed(path), encoding="utf-8")
    assert read_cell(path.parent) == CELL


def test_flipped_bit_in_the_values_of_a_samples_file_is_an_error(tmp_path: Path) -> None:
    """Without checksums of pages, most flipped bits of scores would be read as other scores."""
    path = tmp_path / "samples.parquet"
    write_part(path, pa.table({"id": ["1", "2"], "score/f1": [0.25, 0.5]}))
    whole = path.read_bytes()
    column = pq.ParquetFile(path).metadata.row_group(0).column(1)
    start = column.dictionary_page_offset
    for place in range(start + column.total_compressed_size - 4, start + column.total_compressed_size):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DataError, match="Run the sweep's command again"):
            read_samples(tmp_path, ["score/f1"])


@pytest.mark.parametrize("name", ["cell.json", "sweep.json"])
def test_oversized_result_file_is_rejected_before_parsing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_json, "_MAX_BYTES", 1000)
    (tmp_path / name).write_bytes(b"{}" + b" " * 1000)
    with pytest.raises(DataError, match=rf"{name}: is not a result file \(it is longer than 1,000 bytes\)"):
        (read_cell if name == "cell.json" else read_sweep)(tmp_path)
