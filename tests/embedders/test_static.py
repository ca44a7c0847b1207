"""Means of token vectors, compared with StaticEmbedding of sentence-transformers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.embedders.static import StaticEmbeddings
from components.errors import ComponentError
from components.records import Passages
from tests.contracts.embedder_contract import EmbedderContract
from tests.extras import skip_without
from tests.models.tiny import save_static_table

skip_without("sentence_transformers", "safetensors")

TEXTS = ["北京", "上海是中国的首都。", "abc 123", "杭州是浙江的省会，" * 200, "€ 不 北京"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_static_table(tmp_path_factory.mktemp("static"))


def vectors(folder: Path, texts: list[str], **fields: Any) -> NDArray[np.float32]:
    return StaticEmbeddings(str(folder), "", **fields).embed_chunks(Passages(texts), {})


def as_model2vec(folder: Path, target: Path, **tensors: NDArray[Any]) -> Path:
    """The same tokenizer with other tensors, under model2vec's names."""
    from safetensors.numpy import save_file

    (tokenizer,) = folder.rglob("tokenizer.json")
    target.mkdir(exist_ok=True)
    (target / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    save_file(tensors, target / "model.safetensors")
    return target


def table_of(folder: Path) -> NDArray[np.float32]:
    from safetensors.numpy import load_file

    (path,) = folder.rglob("model.safetensors")
    table: NDArray[np.float32] = load_file(path)["embedding.weight"]
    return table


class TestStaticEmbeddings(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, folder: Path) -> None:
        self.component = StaticEmbeddings(str(folder), "")


@pytest.mark.parametrize("normalize", [True, False])
def test_static_vectors_equal_sentence_transformers(folder: Path, normalize: bool) -> None:
    from sentence_transformers import SentenceTransformer

    own = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, normalize_embeddings=normalize)
    np.testing.assert_allclose(vectors(folder, TEXTS, normalize=normalize), own, atol=1e-5)


def test_model2vec_leaves_out_unknown_tokens(folder: Path, tmp_path: Path) -> None:
    table = table_of(folder)
    model = as_model2vec(folder, tmp_path, embeddings=table)
    known = vectors(model, ["北京"])
    np.testing.assert_allclose(vectors(model, ["€北京€"]), known, atol=1e-6)
    np.testing.assert_allclose(known, vectors(folder, ["北京"]), atol=1e-6)
    assert not vectors(model, ["€"]).any()


def test_model2vec_applies_weights_and_row_mapping(folder: Path, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    table = table_of(folder)
    rows, weights = generator.integers(0, 9, size=len(table)), generator.random(len(table))
    folded = as_model2vec(
        folder, tmp_path / "a", embeddings=table[:9].astype(np.float16), mapping=rows, weights=weights
    )
    plain = table[:9].astype(np.float16)[rows].astype(np.float32) * weights[:, None]
    expected = as_model2vec(folder, tmp_path / "b", embeddings=plain.astype(np.float32))
    np.testing.assert_allclose(vectors(folded, TEXTS), vectors(expected, TEXTS), atol=1e-5)


def test_unknown_tensors_and_short_tables_are_rejected(folder: Path, tmp_path: Path) -> None:
    other = as_model2vec(folder, tmp_path / "other", weight=np.zeros(3))
    with pytest.raises(ComponentError, match="has the tensors weight, expected a table of static embeddings"):
        vectors(other, TEXTS)
    short = as_model2vec(folder, tmp_path / "short", embeddings=np.zeros((5, 2), dtype=np.float32))
    with pytest.raises(
        ComponentError, match=r"of shape \(5, 2\) for tokens with ids up to \d+, expected one row per id"
    ):
        vectors(short, TEXTS)


def test_token_ids_with_gaps_need_a_row_for_the_largest(folder: Path, tmp_path: Path) -> None:
    model = as_model2vec(folder, tmp_path / "gaps", embeddings=table_of(folder))
    path = model / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["北"] = 2 * len(vocabulary)  # one token's id is behind the last row
    path.write_text(json.dumps(tokenizer), encoding="utf-8")
    with pytest.raises(ComponentError, match=f"ids up to {2 * len(vocabulary)}, expected one row per id"):
        vectors(model, TEXTS)


def test_static_table_with_non_numeric_values_is_rejected(folder: Path, tmp_path: Path) -> None:
    table = table_of(folder)
    table[[3, 7], 0] = [np.nan, np.inf]
    with pytest.raises(ComponentError, match="2 rows with NaN or infinite numbers"):
        vectors(as_model2vec(folder, tmp_path / "damaged", embeddings=table), TEXTS)


def test_static_embeddings_do_not_import_torch(folder: Path) -> None:
    code = f"""
import sys
from components.embedders.static import StaticEmbeddings
from components.records import Passages
vectors = StaticEmbeddings({str(folder)!r}, "").embed_chunks(Passages(["北京"]), {{}})
print(vectors.shape[1], "torch" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["24", "False"]
