"""Vectors of tiny encoders, compared with vectors of the package FlagEmbedding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.embedders.flag_embedding import FlagEmbeddings, FlagPooling
from components.errors import ComponentError
from components.pretrained.dtype import Dtype
from components.records import Passages
from tests.contracts.embedder_contract import EmbedderContract
from tests.extras import skip_without
from tests.models.tiny import MAX_TOKENS

skip_without("FlagEmbedding", "torch")

TEXTS = ["北京", "上海是中国的首都。", "abc 123", "杭州是浙江的省会，" * 60, *("获奖" * n for n in range(1, 40))]


def embedder(folder: Path, **fields: Any) -> FlagEmbeddings:
    return FlagEmbeddings(str(folder), "", device="cpu", **fields)


def vectors(component: FlagEmbeddings, texts: list[str]) -> NDArray[np.float32]:
    return component.embed_chunks(Passages(texts), {})


class TestFlagEmbeddings(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, bert: Path) -> None:
        self.component = embedder(bert)


@pytest.mark.parametrize("pooling", FlagPooling)
def test_flag_vectors_equal_flag_model(bert: Path, pooling: FlagPooling) -> None:
    from FlagEmbedding import FlagModel

    own = FlagModel(str(bert), use_fp16=False, devices="cpu", pooling_method=pooling.value)
    expected = own.encode(TEXTS, max_length=100)
    np.testing.assert_allclose(vectors(embedder(bert, pooling=pooling, max_length=100), TEXTS), expected, atol=1e-5)


def test_flag_query_instruction_equals_the_package(bert: Path) -> None:
    from FlagEmbedding import FlagModel

    own = FlagModel(str(bert), use_fp16=False, devices="cpu", query_instruction_for_retrieval="上海：")
    found = embedder(bert, query_prefix="上海：").embed_queries(Passages(["北京"]), {})
    np.testing.assert_allclose(found, own.encode_queries(["北京"]), atol=1e-5)


def test_flag_embedder_caps_max_length_at_the_model_positions(bert: Path) -> None:
    longest = "北" * (2 * MAX_TOKENS)
    expected = vectors(embedder(bert, max_length=MAX_TOKENS), [longest])
    np.testing.assert_array_equal(vectors(embedder(bert, max_length=10_000), [longest]), expected)
    assert embedder(bert, max_length=10_000).token_limit() == MAX_TOKENS
    assert embedder(bert, passage_prefix="北京").count_chunk_tokens(["北京"]).tolist() == [6]


def test_flag_embedder_on_a_cpu_refuses_float16(bert: Path) -> None:
    with pytest.raises(ComponentError, match=r"dtype: float16 requires a GPU with FlagModel\. Use float32."):
        vectors(embedder(bert, dtype=Dtype.FLOAT16), ["北京"])


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16])
def test_flag_embedder_check_refuses_half_precision_on_a_cpu(bert: Path, dtype: Dtype) -> None:
    (problem,) = embedder(bert, dtype=dtype).check()
    assert problem == f"dtype: {dtype} requires a GPU with FlagModel. Use float32."


def test_flag_embedder_rejects_short_max_length_and_zero_batch_size(bert: Path) -> None:
    problems = embedder(bert, max_length=2, batch_size=0).check()
    assert [problem.partition(",")[0] for problem in problems] == ["max_length: got 2", "batch_size: got 0"]


def test_flag_embedder_hides_progress_bars(bert: Path, capfd: pytest.CaptureFixture[str]) -> None:
    vectors(embedder(bert, batch_size=2), ["北京"])
    capfd.readouterr()
    vectors(embedder(bert, batch_size=2), TEXTS)
    assert capfd.readouterr().err == ""
