"""Memory that the plan announces, compared with what encoders then store."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.pretrained.load_once import release_all_but
from runner.pipeline.search.token_vectors import ChunkTokenVectors
from tests.extras import skip_without
from tests.models.tiny import save_bge_m3, save_colbert, save_splade, save_stanford_colbert
from tests.runner.sweeping import plan_small, run_small, store_of

skip_without("sentence_transformers", "torch")


@pytest.fixture(autouse=True)
def _release() -> Iterator[None]:
    yield
    release_all_but(())


def lines_of(folder: Path, *overrides: str) -> tuple[str, ...]:
    (cell,) = plan_small(folder, overrides).cells
    return cell.lines


def test_cell_without_models_has_no_memory_line(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "retriever=bm25") == ()


@pytest.mark.parametrize("save", [save_colbert, save_stanford_colbert])
@pytest.mark.parametrize("overlap", [0.0, 0.5])
def test_planned_disk_size_of_token_vectors_is_about_right(tmp_path: Path, save: object, overlap: float) -> None:
    model = save(tmp_path / "model")  # type: ignore[operator]
    cell = ("retriever=colbert", f"retriever.encoder.model={model}", "metrics=retrieval", f"chunk.overlap={overlap}")
    weights, vectors = lines_of(tmp_path, *cell)
    assert re.fullmatch(rf"memory: 0\.13 MB \(32,0\d\d parameters in float32\) for the weights of {model}, .*", weights)
    announced = re.search(r"^disk: about ([\d.]+) MB .* \(32 bytes for each of about ([\d,]+) tokens", vectors)
    assert announced, vectors
    assert run_small(tmp_path, cell) == 0
    (entry,) = (own for own in store_of(tmp_path).entries() if own.manifest.kind == ChunkTokenVectors.kind)
    n_tokens = len(entry.parts()["vectors"])
    assert 0.75 < int(announced[2].replace(",", "")) / n_tokens < 1.34
    assert 0.75 < float(announced[1]) * 1e6 / (n_tokens * 32) < 1.34


def test_disk_size_of_an_absent_model_is_unknown(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "retriever=bge_m3", "embedder=bge-m3-heads") == (
        "disk: unknown for the token vectors of BAAI/bge-m3, because the model is not on this machine",
    )


def test_memory_plan_covers_encoders_with_three_outputs(tmp_path: Path) -> None:
    model = save_bge_m3(tmp_path / "model")
    weights, vectors = lines_of(
        tmp_path, "retriever=bge_m3", "embedder=bge-m3-heads", f"embedder.model={model}", "embedder.revision=''"
    )
    assert re.fullmatch(rf"memory: about [\d.]+ MB for the weights of {model}, .*", weights)
    assert "(64 bytes for each of about" in vectors


@pytest.mark.parametrize(
    ("given", "number"),
    [((), "the number is known only after encoding"), (("retriever.encoder.max_weights=20",), "at most 20 of each")],
)
def test_token_weight_memory_uses_the_configured_limit(tmp_path: Path, given: tuple[str, ...], number: str) -> None:
    model = save_splade(tmp_path / "model")
    _, weights = lines_of(tmp_path, "retriever=splade", f"retriever.encoder.model={model}", *given)
    assert weights.startswith(f"memory: 8 bytes for each token weight of {model}; {number}")


def test_damaged_model_ends_no_plan(tmp_path: Path) -> None:
    model = save_colbert(tmp_path / "model")
    (model / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1")
    weights, _ = lines_of(tmp_path, "retriever=colbert", f"retriever.encoder.model={model}")
    assert weights.startswith("memory: about")


def test_cells_share_a_line_until_all_is_stored(tmp_path: Path) -> None:
    model = save_colbert(tmp_path / "model")
    cell = ("retriever=colbert", f"retriever.encoder.model={model}", "metrics=retrieval")
    first, second = plan_small(tmp_path, (*cell, "chunk.size=64"), (*cell, "chunk.size=128")).cells
    assert first.lines == second.lines
    assert "for each chunking" in first.lines[1]
    assert run_small(tmp_path, (*cell, "chunk.size=64")) == 0
    assert lines_of(tmp_path, *cell, "chunk.size=64") == ()
