"""Bad input: one clear error before any work, with the place, the value and what was expected."""

import errno
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner import results
from runner.engine.store.part_files import write_part
from runner.engine.store.stored_results import FORMAT
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_NOT_RUN, EXIT_OK
from tests.datasets.test_crud_rag import CORPUS, SPLIT
from tests.datasets.test_crud_rag import write as write_crud_rag
from tests.datasets.test_omnieval import NODES, item
from tests.datasets.test_omnieval import write as write_omnieval
from tests.runner.sweeping import QUIET, SMALL, cells_in, run_command, run_small, sweep_in

FINANCE_FILE = "银行业务/零售银行/抽取类问答"


def no_results(folder: Path) -> bool:
    return not any((folder / "results").rglob("sweep.json")) and not any((folder / "results").rglob("cell.json"))


class Refusal:
    """Runs a cell in this process and returns the error that it was refused with."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def __call__(self, *overrides: str) -> str:
        assert run_small(self._folder, overrides) == EXIT_NOT_RUN
        assert no_results(self._folder)
        error = self._capsys.readouterr().err
        assert "Traceback" not in error
        return error


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refusal:
    return Refusal(tmp_path, capsys)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data"


def crud(root: Path, *overrides: str) -> tuple[str, ...]:
    return ("dataset=crud_rag", f"dataset.root={root}", *overrides)


def omnieval(root: Path, *overrides: str) -> tuple[str, ...]:
    return ("dataset=omnieval", f"dataset.root={root}", *overrides)


class TestCommandLine:
    """Errors of Hydra and our own, through a process."""

    def run(self, folder: Path, *arguments: str) -> tuple[int, str]:
        done = run_command(folder, *SMALL, *QUIET, *arguments)
        assert no_results(folder)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    def test_unknown_group_option_lists_the_known_options(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "retriever=bm26")
        assert code == EXIT_NOT_RUN
        assert error.startswith("retriever: got 'bm26', expected one of all, arms, ")
        assert "hybrid_rerank" in error
        assert error.endswith("; did you mean bm25?\n")

    @pytest.mark.parametrize(
        ("override", "problem"),
        [
            ("retriever=[bm25", "retriever=[bm25: cannot be read as key=value. Close every bracket and quote."),
            (
                "chunk.size=64,128",
                "chunk.size=64,128: got several values. For a sweep over them, add -m. If one list is meant: ",
            ),
        ],
    )
    def test_unreadable_value_says_how_to_write_it(self, override: str, problem: str, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, override)
        assert code == EXIT_NOT_RUN
        assert error.startswith(problem)

    def test_sweep_preset_without_multirun_flag_suggests_the_flag(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "+sweeps=smoke")
        assert (code, error) == (
            EXIT_NOT_RUN,
            "+sweeps: a preset needs -m, even if it has one cell. Add -m.\n",
        )

    @pytest.mark.parametrize(
        ("typed", "meant"), [("retriver=bm25", "retriever"), ("top_kk=3", "top_k"), ("top-k=3", "top_k")]
    )
    def test_misspelt_name_suggests_the_nearest_name(self, tmp_path: Path, typed: str, meant: str) -> None:
        code, error = self.run(tmp_path, typed)
        assert code == EXIT_NOT_RUN
        assert error == f"{typed.partition('=')[0]}: unknown; did you mean {meant}?\n"

    @pytest.mark.parametrize("arguments", [["run=null"], ["-m", "run=null", "run.plan_only=true"]])
    def test_value_in_place_of_a_mapping_is_rejected(self, tmp_path: Path, arguments: list[str]) -> None:
        code, error = self.run(tmp_path, *arguments)
        assert code == EXIT_NOT_RUN
        assert error == "run: got null, expected a mapping. Set one of its fields, e.g. run.results_dir=...\n"

    def test_overlong_option_name_is_rejected(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, f"prompt={'x' * 5000}")
        assert code == EXIT_NOT_RUN
        assert "a path or an option of a group that is too long for the file system. Shorten it." in error
        assert len(error) < 500

    def test_unknown_key_suggests_the_nearest_key(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "chunk.sise=64")
        assert code == EXIT_NOT_RUN
        assert error == "chunk.sise: unknown; did you mean chunk.size?\n"

    def test_added_option_that_depends_on_language_is_rejected(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "reranker=selected", "+reranker@reranker.candidates.own=llm_listwise")
        assert code == EXIT_NOT_RUN
        assert error.startswith("an added option (+group@place=option) cannot depend on `language`. Choose it at")

    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            (
                ["-m", "vector_index=flat,hnsw", "vector_index.oversampling=2,4"],
                "vector_index.oversampling: no chosen vector_index has this field. Options that have it: binary, "
                "int8, truncated\n",
            ),
            (
                ["-m", "reranker=none,lexical", "reranker.dept=5"],
                "reranker.dept: unknown; did you mean reranker.depth?\n",
            ),
            (
                ["-m", "reranker=none,lexical", "reranker.depth=5,10", "hydra.sweeper.one_at_a_time=true"],
                "reranker.depth=10: applies to no cell, because no reranker that it is combined with has this field\n",
            ),
            (
                ["executor=processes", "executor.partition=gpu"],
                "executor.partition: executor=processes does not have this field. Options that have it: slurm\n",
            ),
            (["executor=slurm", "executor.clutser=local"], "executor.clutser: unknown; did you mean executor.cluster?"),
            (["embedder=hashing", "embedder.max_ngrams=3"], "embedder.max_ngrams: unknown; did you mean "),
            (
                ["-m", "reranker=none,lexical", "reranker.steps.precise.depth=10,20"],
                "reranker.steps.precise.depth: no chosen reranker has this field. Options that have it: cascade\n",
            ),
            (
                ["-m", "examples=none", "examples.dataset.samples=x"],
                "examples.dataset.samples: examples=none does not have this field. Options that have it: "
                "from_dataset, ",
            ),
            (
                ["reranker=cascade", "reranker.steps.light.depht=5"],
                "reranker.steps.light.depht: unknown; did you mean ",
            ),
            (
                ["filter=metadata", "filter.where={year: {at_least: 2021}}"],
                "filter.where: filter.where.year does not exist yet; to add it, begin with a plus: ",
            ),
            (
                ["judge=faithfulness", "+llm@judge.llm=openai"],
                "+llm@judge.llm: the chosen option has a value for it already. Leave out the plus: llm@judge.llm=...",
            ),
            (
                ["judge=faithfulness", "+llm@judge.llm=transformers"],
                "+llm@judge.llm: the chosen option has a value for it already. Leave out the plus: llm@judge.llm=...",
            ),
        ],
    )
    def test_field_of_another_option_is_rejected(self, tmp_path: Path, typed: list[str], expected: str) -> None:
        code, error = self.run(tmp_path, *typed)
        assert code == EXIT_NOT_RUN
        assert error.startswith(expected)
        assert "max_terms" not in error

    def test_option_that_needs_a_missing_field_is_rejected(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "examples=held_out")
        assert code == EXIT_NOT_RUN
        wanted = "examples.dataset.of: takes the value of dataset.of, which does not exist, expected dataset=part\n"
        assert error.endswith(wanted)

    def test_glob_over_a_field_is_rejected(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "-m", "top_k=glob(*)")
        assert code == EXIT_NOT_RUN
        assert "top_k=glob(*): matches no option; only groups have options" in error
        assert "Traceback" not in error

    def test_override_without_a_key_exits_with_an_error(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "=5")
        assert code == EXIT_NOT_RUN
        assert "=5: no key before the =" in error
        assert "Traceback" not in error

    def test_path_in_chinese_needs_no_quotes(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "dataset=crud_rag", f"dataset.root={tmp_path}/数据 (新)")
        assert code == EXIT_NOT_RUN
        assert error.startswith(f"{tmp_path}/数据 (新)/80000_docs: does not exist")

    def test_unknown_config_group_is_rejected(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "chunker=token")
        assert code == EXIT_NOT_RUN
        assert "chunker" in error

    def test_errors_of_all_grid_cells_are_reported_together(self, tmp_path: Path) -> None:
        code, error = self.run(tmp_path, "-m", "top_k=2,x,500", "chunk.overlap=0,30")
        assert code == EXIT_NOT_RUN
        assert error.startswith("3 errors in the configuration:")
        assert all(each in error for each in ("top_k: got 'x'", "top_k: got 500", "chunk.overlap: got 30"))

    @pytest.mark.parametrize("multirun", [[], ["-m"]], ids=["single", "multirun"])
    def test_uncreatable_results_folder_is_an_error_of_its_setting(self, tmp_path: Path, multirun: list[str]) -> None:
        (tmp_path / "a-file").touch()
        code, error = self.run(tmp_path, *multirun, "run.results_dir=a-file/results")
        assert code == EXIT_NOT_RUN
        assert "run.results_dir" in error

    @pytest.mark.parametrize("how", [["-m"], [], ["-m", "hydra/launcher=basic"]], ids=["grid", "single", "basic"])
    def test_rejected_configuration_leaves_no_file(self, tmp_path: Path, how: list[str]) -> None:
        """The configuration may hold a secret in an unexpected place."""
        secret = ["llm=openai", "llm.model=m", "llm.api_key_env=", "llm.base_url='http://host/v1?key=sk-secret'"]
        code, error = self.run(tmp_path, *how, "top_k=3", *secret)
        assert code == EXIT_NOT_RUN
        assert "llm.base_url: contains a user name or password, a key or a token" in error
        assert "sk-secret" not in error
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("axis", ["run.workers=1,2", "language=zh,en"])
    def test_sweep_wide_settings_that_differ_between_cells_are_rejected(self, tmp_path: Path, axis: str) -> None:
        code, error = self.run(tmp_path, "-m", axis)
        assert code == EXIT_NOT_RUN
        (line,) = (line for line in error.splitlines() if "differs between cells" in line)
        assert line.startswith(f"  - {re.split('[.=]', axis)[0]}.*: ")
        assert line.endswith("apply to the whole sweep. Start a separate sweep for each value.")


class TestConfiguration:
    @pytest.mark.parametrize(
        ("overrides", "expected"),
        [
            (
                ["+chunk.sise=3"],
                "chunk.sise: unknown, expected one of size, overlap, unit, tokenizer; did you mean size?",
            ),
            (["chunk.size=abc"], "chunk.size: got 'abc' (str), expected a whole number"),
            (["chunk.unit=word"], "chunk.unit: got 'word' (str), expected one of token, char"),
            (["chunk.overlap=1"], "chunk.overlap: got 1.0, expected a fraction of the size in [0, 1)"),
            (["chunk.overlap=-0.1"], "chunk.overlap: got -0.1"),
            (["chunk.size=1"], "chunk.size: got 1, expected at least 4"),
            (["chunk.unit=char", "chunk.size=0"], "chunk.size: got 0, expected at least 1"),
            (["top_k=101"], "top_k: got 101, more than retriever.depth=100"),
            (["dataset.limit=0"], "dataset.limit:"),
            (["run.results_dir="], "run.results_dir: got '', expected a folder that is only for results"),
            (["run.results_dir=/"], "run.results_dir: got '/', expected a folder that is only for results"),
            (["run.workers=-1"], "run.workers: got -1, expected at least 1"),
            (["tracking.uri=https://me:secret@mlflow.example"], "tracking.uri: contains a user name or password"),
            (["tracking.uri='postgresql://host/db?password=x'"], "tracking.uri: contains a user name or password"),
            (
                ["+metrics.scores.again={_target_: components.metrics.em.ExactMatch}"],
                "metrics.scores: 'em' is computed by em and by again",
            ),
            (["llm._target_=os.system"], "llm._target_: got 'os.system'"),
            (["dataset=crud_rag"], "dataset.root: is empty, expected the folder"),
            (
                ["retriever=bm25", "retriever.sparse_index.k1=1e308"],
                "k1: got 1e+308, expected a number in [0, 1,000,000]",
            ),
            (["experiment.name='\udc80x'"], "experiment.name: got '\\udc80x' (str), expected text in UTF-8"),
            (["run.store_dir='\udc80x'"], "run.store_dir: got '\\udc80x' (str), expected text in UTF-8"),
            (
                ["retriever=dense", "embedder=sentence_transformers", f"embedder.model={'x' * 5000}"],
                "embedder: cannot look for 'xxx",
            ),
        ],
        ids=lambda value: value[-1][:60].encode("ascii", "replace").decode() if isinstance(value, list) else "",
    )
    def test_single_configuration_error_is_reported_in_the_singular(
        self, refused: Refusal, overrides: list[str], expected: str
    ) -> None:
        error = refused(*overrides)
        assert error.startswith("1 error in the configuration:\n")
        assert expected in error

    def test_all_configuration_errors_are_reported_together(self, refused: Refusal) -> None:
        error = refused("chunk.overlap=1.5", "top_k=200", "+llm.temprature=1", "run.progress=maybe")
        assert error.startswith("4 errors in the configuration:\n")
        for path in ("chunk.overlap", "top_k", "llm.temprature", "run.progress"):
            assert f"  - {path}:" in error


class TestData:
    def test_missing_data_folder_is_reported(self, refused: Refusal, root: Path) -> None:
        error = refused(*crud(root))
        assert f"{root / '80000_docs'}: does not exist" in error
        assert "one document per line" in error

    def test_missing_split_file_is_reported(self, refused: Refusal, root: Path) -> None:
        (write_crud_rag(root) / "crud_split" / "split_merged.json").unlink()
        error = refused(*crud(root))
        assert "split_merged.json: does not exist" in error
        assert "questanswer_1doc" in error

    def test_truncated_json_error_names_the_setting_that_accepts_it(self, refused: Refusal, root: Path) -> None:
        path = write_crud_rag(root) / "crud_split" / "split_merged.json"
        content = path.read_bytes()[:-40]
        path.write_bytes(content)
        error = refused(*crud(root))
        assert f"{path}: the JSON is cut off at byte offset {len(content)}" in error
        assert "the 5 records before it are complete" in error
        assert "accept_truncated=true" in error
        assert run_small(root.parent, (*crud(root, "dataset.accept_truncated=true"), "metrics=retrieval")) == EXIT_OK
        assert cells_in(root.parent)[0].dataset["n_split_files_cut_off"] == 1

    def test_data_of_invalid_utf8_is_an_error(self, refused: Refusal, root: Path) -> None:
        path = write_crud_rag(root) / "80000_docs" / "part_1"
        first_line = "好\n".encode()
        path.write_bytes(first_line + b"\xff\n")
        error = refused(*crud(root))
        assert f"{path}: byte 0xff at byte offset {len(first_line)} (line 2) is not UTF-8" in error

    def test_corpus_without_text_is_rejected(self, refused: Refusal, root: Path) -> None:
        write_crud_rag(root, corpus={"part_1": ["", "  "]})
        error = refused(*crud(root, "dataset.add_gold=false"))
        assert "no document of the corpus has text (2 empty ones)" in error

    def test_empty_crud_documents_are_counted_and_skipped(self, root: Path, tmp_path: Path) -> None:
        write_crud_rag(root, corpus={**CORPUS, "part_3": ["", "   "]})
        any_hits = "retriever.sparse_index.max_share_without_hits=1"
        assert run_small(tmp_path, (*crud(root), "metrics=retrieval", any_hits)) == EXIT_OK
        assert cells_in(tmp_path)[0].dataset["n_empty_documents"] == 3

    def test_duplicate_sample_ids_stop_the_command(self, refused: Refusal, root: Path) -> None:
        twice = SPLIT["questanswer_1doc"] * 2
        write_crud_rag(root, split={**SPLIT, "questanswer_1doc": twice})
        assert "the sample id 'read/qa_1doc/1' occurs twice" in refused(*crud(root))

    def test_item_without_references_is_rejected_with_its_line(self, refused: Refusal, root: Path) -> None:
        write_omnieval(root, items={FINANCE_FILE: [item(), item(answer=[" "])]})
        error = refused(*omnieval(root))
        assert "抽取类问答.jsonl, line 2" in error
        assert "no reference" in error

    def test_gold_of_another_corpus_is_rejected(self, refused: Refusal, root: Path) -> None:
        write_omnieval(root, items={FINANCE_FILE: [item(relevant_node=["node-99"])]}, nodes=NODES)
        assert "the gold belongs to another corpus: none of its 1 documents, such as 'node-99'" in refused(
            *omnieval(root)
        )

    def test_data_error_is_a_single_line(self, refused: Refusal, root: Path) -> None:
        assert len(refused(*crud(root)).strip().splitlines()) == 1


class TestStoreAndDisk:
    def test_unwritable_store_stops_the_command(self, refused: Refusal, tmp_path: Path) -> None:
        (tmp_path / "a-file").touch()
        error = refused(f"run.store_dir={tmp_path / 'a-file'}")
        assert error.startswith(f"run.store_dir: cannot write in {tmp_path / 'a-file'}")
        assert "Choose another run.store_dir" in error

    def test_unwritable_results_folder_stops_the_command(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "results").mkdir()
        (tmp_path / "results" / "a-sweep").touch()
        assert run_small(tmp_path, ()) == EXIT_NOT_RUN
        assert "run.results_dir: cannot write to" in capsys.readouterr().err

    def test_full_results_disk_fails_the_cell_with_one_message(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def refuse(source: Path, path: Path) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", str(source), None, str(path))

        monkeypatch.setattr(os, "link", refuse)
        monkeypatch.setattr(shutil, "copy2", refuse)
        assert run_small(tmp_path, ()) == EXIT_CELL_FAILED
        error = capsys.readouterr().err
        assert error.startswith("run.results_dir: cannot write to")
        assert "No space left on device" in error

    def test_folder_in_place_of_a_manifest_is_replaced(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, ("metrics=retrieval",)) == EXIT_OK
        (manifest, *_) = (tmp_path / "results" / "store" / "entries" / "chunks").rglob("manifest.json")
        manifest.unlink()
        manifest.mkdir()
        assert run_small(tmp_path, ("metrics=retrieval", "top_k=3"), sweep_id="again") == EXIT_OK
        assert manifest.is_file()

    def test_results_deleted_during_the_sweep_are_reported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written = results.write_cell

        def only_remove(sweep_dir: Path, *arguments: Any) -> Path:
            folder = written(sweep_dir, *arguments)
            shutil.rmtree(folder)
            return folder

        monkeypatch.setattr(results, "write_cell", only_remove)
        assert run_small(tmp_path, ("metrics=retrieval",)) == EXIT_CELL_FAILED
        assert "the results of 1 of 1 cells were deleted from" in capsys.readouterr().err
        assert sweep_in(tmp_path).status == "FAILED"

    def test_store_of_a_newer_version_is_rejected(self, refused: Refusal, tmp_path: Path) -> None:
        store = tmp_path / "results" / "store"
        store.mkdir(parents=True)
        (store / "store.json").write_text(json.dumps({"format": FORMAT + 1}))
        assert f"the store has format {FORMAT + 1}, this version reads format {FORMAT}" in refused()

    def test_full_disk_keeps_finished_stages(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        n_written = 0

        def fill_up(path: Path, value: object) -> None:
            nonlocal n_written
            n_written += 1
            if n_written > 20:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write_part(path, value)

        with monkeypatch.context() as full:
            full.setattr("runner.engine.store.stored_results.write_part", fill_up)
            assert run_small(tmp_path, ("metrics=retrieval", "run.workers=1")) == EXIT_CELL_FAILED
        error = capsys.readouterr().err
        assert "the disk is full" in error
        assert "run the same command again" in error
        assert not any((tmp_path / "results").rglob("cell.json"))
        manifests = sorted((tmp_path / "results" / "store" / "entries").rglob("manifest.json"))
        assert manifests
        times = [path.stat().st_mtime_ns for path in manifests]
        assert run_small(tmp_path, ("metrics=retrieval",), sweep_id="again") == EXIT_OK
        assert [path.stat().st_mtime_ns for path in manifests] == times
