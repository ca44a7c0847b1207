from pathlib import Path

import pytest

from components.embedders.bge_m3 import BgeM3
from components.embedders.flag_embedding import FlagEmbeddings
from components.embedders.sentence_transformers import SentenceTransformers
from components.rerankers.cross_encoder import PretrainedCrossEncoder
from components.rerankers.flag_llm_reranker import FlagLanguageModel
from components.rerankers.flag_reranker import FlagCrossEncoder
from tests.extras import skip_without

skip_without("FlagEmbedding", "sentence_transformers", "torch", "transformers")


@pytest.mark.parametrize(
    "build",
    [SentenceTransformers, FlagEmbeddings, BgeM3, PretrainedCrossEncoder, FlagCrossEncoder, FlagLanguageModel],
)
def test_model_folder_without_a_tokenizer_is_rejected(build: type, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "tokenizer_config.json").touch()  # names the kind of tokenizer, but not its tokens
    (problem,) = build(str(tmp_path), "").check()
    assert problem.startswith(f"model: {tmp_path} has no tokenizer")
    (tmp_path / "vocab.txt").touch()
    assert build(str(tmp_path), "").check() == []
