"""A whole sweep in which every model is on this machine."""

from pathlib import Path

import pytest
from pyarrow.parquet import read_table

from runner.results import read_cells, read_sweep
from runner.serving.folder_description import CHECK, PIPELINE
from runner.serving.pipeline import load_pipeline
from runner.serving.replay_check import check
from tests.extras import skip_without
from tests.models.tiny import CHAT_TEMPLATE, save_bert, save_lora, save_qwen2
from tests.runner.serving.exporting.exporting import export
from tests.runner.sweeping import FEW_METRICS, QUIET, only_sweep, own_data, run_command

skip_without("sentence_transformers", "FlagEmbedding", "peft", "transformers", "torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models: an encoder, and a language model with an adapter."""
    folder = tmp_path_factory.mktemp("local-models")
    save_bert(folder / "bert")
    save_lora(folder / "lora", save_qwen2(folder / "qwen2", chat_template=CHAT_TEMPLATE, max_tokens=4000))
    return folder


def test_local_model_sweep_prints_no_package_messages(folder: Path) -> None:
    texts = {f"d{i}": f"The pump number {i} was built in 19{i}0. It is red." for i in range(1, 6)}
    questions = ["When was pump number 1 built?", "When was pump number 2 built?", "why " * 1000]  # no room for that
    samples = [{"id": str(i), "question": q, "references": ["no"]} for i, q in enumerate(questions)]
    done = run_command(
        folder,
        "-m", *own_data(folder, texts, samples), *FEW_METRICS, *QUIET, "language=en", "top_k=2",
        "retriever=hybrid_rerank", "retriever.sparse_index.max_share_without_hits=1", "run.max_failure_rate=0.5",
        "embedder=sentence_transformers", f"embedder.model={folder / 'bert'}",
        "reranker=flag_llm_reranker", f"reranker.model={folder / 'qwen2'}", "reranker.depth=2",
        "llm=transformers", f"llm.model={folder / 'qwen2'}", f"llm.adapter=\"\",{folder / 'lora'}",
        "llm.max_new_tokens=6", "llm.dtype=float32",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "cost" not in done.stdout, "nobody charges for what runs here"
    sweep = only_sweep(folder)
    assert read_sweep(sweep).spent["cost"] == 0
    cells = list(read_cells(sweep))
    assert [cell.cost for cell in cells] == [0.0, 0.0]
    assert [(cell.status, cell.errors) for cell in cells] == [("OK", {"too_long": 1})] * 2
    plain, adapted = (read_table(sweep / cell.cell_id / "samples.parquet")["answer"].to_pylist() for cell in cells)
    assert all(plain[:-1])
    assert all(adapted[:-1])
    assert plain != adapted
    exports_with_its_models(folder, cells[1].cell_id)


def exports_with_its_models(folder: Path, cell_id: str) -> None:
    """The cell answers in another folder, without the models' own ones."""
    assert export(folder, cell_id, folder / "first", sweep=only_sweep(folder).name) == 0
    (folder / "first").rename(folder / "moved")
    for name in ("bert", "qwen2", "lora"):
        (folder / name).rename(folder / f"{name}-elsewhere")
    names = {path.name for path in (folder / "moved" / PIPELINE / "models").iterdir()}
    assert names == {"1-bert", "2-qwen2", "3-lora"}
    report = check(load_pipeline(folder / "moved"), folder / "moved" / CHECK)
    assert (report.n_rankings_equal, report.n_answers, report.n_answers_equal) == (3, 2, 2)
    needed = (folder / "moved" / "requirements.txt").read_text(encoding="utf-8")
    assert all(f"\n{name}==" in needed for name in ("torch", "transformers", "peft", "sentence-transformers"))
