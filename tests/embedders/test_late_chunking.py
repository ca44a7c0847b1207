"""Late chunking by tiny encoders, compared with a plain implementation over transformers' own model and tokenizer."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.embedders.sentence_transformers import SentenceTransformers
from components.errors import ComponentError
from components.pretrained.sentence_encoder import Pooling
from components.protocols import DocumentEmbedder
from components.records import Passages, Spans
from tests.contracts.embedder_contract import EmbedderContract
from tests.extras import skip_without
from tests.models.tiny import MAX_TOKENS, save_sentence_encoder, save_static_table
from tests.runner.sweeping import RANKING_ONLY, cells_in, run_small

skip_without("sentence_transformers", "torch")

_DRAW = random.Random(1)
CHINESE = "北京是中国的首都，上海杭州浙江省会共有人参加。"
ENGLISH = "abc de fghij klm no pqrs tuvw xyz 12 345 "


def _drawn(signs: str, n: int) -> str:
    return "".join(_DRAW.choices(signs, k=n))


DOCUMENTS = [
    _drawn(CHINESE, 120),
    _drawn(ENGLISH, 200),
    "",
    _drawn(CHINESE + ENGLISH, 1500),
    " \n  " + _drawn(ENGLISH, 900),
    "北京" + "\u200b" * 20 + "abc",
]


def spans_of(rows: Sequence[tuple[int, int, int]]) -> Spans:
    document, start, end = np.array(sorted(rows), dtype=np.int32).reshape(-1, 3).T
    return Spans(document, start, end)


def chunks_of(documents: Sequence[str], size: int = 37, step: int = 25) -> Spans:
    """Chunks that overlap, and begin and end at any character, also in the middle of a token."""
    return spans_of(
        [
            (document, start, min(start + size, len(text)))
            for document, text in enumerate(documents)
            for start in range(0, len(text), step)
        ]
    )


def embedder(folder: Path, **fields: Any) -> SentenceTransformers:
    return SentenceTransformers(str(folder), "", device="cpu", pooling=Pooling.LATE, **fields)


def plain(
    folder: Path, documents: Sequence[str], chunks: Spans, *, n_read: int = MAX_TOKENS, overlap: float = 0.25
) -> NDArray[np.float64]:
    """The unit vectors of the chunks, token by token and window by window."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    network, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    size = n_read - 2
    vectors = np.zeros((len(chunks), 32))
    for document, text in enumerate(documents):
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids, first = found["input_ids"], 0
        outputs: list[NDArray[np.float64]] = []
        while len(outputs) < len(ids):
            window = ids[first : first + size]
            whole = torch.tensor([[tokenizer.cls_token_id, *window, tokenizer.sep_token_id]])
            with torch.no_grad():
                states = network(whole).last_hidden_state[0, 1:-1].double().numpy()
            outputs += list(states[len(outputs) - first :])
            first += size - int(size * overlap)
        for row in np.flatnonzero(chunks.document == document).tolist():
            own = [
                output
                for output, (start, end) in zip(outputs, found["offset_mapping"], strict=True)
                if any(chunks.start[row] <= place < chunks.end[row] for place in range(start, end))
            ]
            if own:
                mean = np.mean(own, axis=0)
                vectors[row] = mean / np.linalg.norm(mean)
    return vectors


@pytest.fixture(params=["bert", "xlm_roberta"])
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


class TestLateChunking(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, bert: Path) -> None:
        self.component = embedder(bert)


@pytest.mark.parametrize(("n_read", "overlap"), [(MAX_TOKENS, 0.25), (50, 0.0), (64, 0.5), (20, 0.9)])
def test_late_chunking_vectors_equal_a_plain_implementation(folder: Path, n_read: int, overlap: float) -> None:
    chunks = chunks_of(DOCUMENTS)
    component = embedder(folder, max_length=n_read, window_overlap=overlap)
    found = component.embed_in_documents(DOCUMENTS, chunks)
    np.testing.assert_allclose(found, plain(folder, DOCUMENTS, chunks, n_read=n_read, overlap=overlap), atol=1e-5)
    assert (component.count_chunk_tokens(DOCUMENTS) > n_read).any()


def test_chunk_that_begins_within_a_token_reads_the_whole_token(folder: Path) -> None:
    """A cut through a token gives the token to both neighbours."""
    texts = ["北京 abcabc 上海"]
    chunks = spans_of([(0, 0, 5), (0, 5, 11)])
    np.testing.assert_allclose(
        embedder(folder).embed_in_documents(texts, chunks), plain(folder, texts, chunks), atol=1e-5
    )


def test_late_vector_of_equal_words_depends_on_the_document(bert: Path) -> None:
    texts = ["北京是首都。上海人", "杭州省会共。上海人"]
    late = embedder(bert).embed_in_documents(texts, spans_of([(0, 6, 9), (1, 6, 9)]))
    assert late[0] @ late[1] < 0.999
    alone = embedder(bert).embed_chunks(Passages(["上海人", "上海人"]), {})
    np.testing.assert_allclose(alone[0], alone[1], atol=1e-6)


def test_chunk_without_a_token_has_a_zero_vector(bert: Path) -> None:
    texts = ["北京   \n\n  上海"]
    found = embedder(bert).embed_in_documents(texts, spans_of([(0, 0, 2), (0, 2, 9), (0, 9, 11)]))
    assert found.any(axis=1).tolist() == [True, False, True]


def test_late_chunking_without_chunks_gives_no_vectors(bert: Path) -> None:
    assert embedder(bert).embed_in_documents([], spans_of([])).shape == (0, 32)
    assert embedder(bert).embed_in_documents(["北京"], spans_of([])).shape == (0, 32)


@pytest.mark.parametrize("batch_tokens", [1, 100_000])
def test_late_chunking_batch_size_changes_only_rounding(bert: Path, batch_tokens: int) -> None:
    chunks = chunks_of(DOCUMENTS)
    expected = embedder(bert).embed_in_documents(DOCUMENTS, chunks)
    found = embedder(bert, batch_tokens=batch_tokens).embed_in_documents(DOCUMENTS, chunks)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_passage_prefix_precedes_every_window_outside_of_chunks(bert: Path) -> None:
    texts, chunks = ["北京上海"], spans_of([(0, 0, 2), (0, 2, 4)])
    found = embedder(bert, passage_prefix="abc ").embed_in_documents(texts, chunks)
    expected = plain(bert, ["abc 北京上海"], spans_of([(0, 4, 6), (0, 6, 8)]))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert abs(found - embedder(bert).embed_in_documents(texts, chunks)).max() > 0.01


def test_late_query_vector_is_the_mean_over_all_tokens(bert: Path) -> None:
    mean = SentenceTransformers(str(bert), "", device="cpu", pooling=Pooling.MEAN)
    queries = Passages(["北京", "abc 上海"])
    np.testing.assert_allclose(embedder(bert).embed_queries(queries, {}), mean.embed_queries(queries, {}), atol=1e-6)


def test_projection_after_late_pooling_is_applied(bert: Path, tmp_path: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    plain_model = SentenceTransformer(str(bert), device="cpu")
    torch.manual_seed(0)
    dense = modules.Dense(32, 8, activation_function=torch.nn.Tanh())
    SentenceTransformer(modules=[*plain_model, dense], device="cpu").save(str(tmp_path), create_model_card=False)
    chunks = chunks_of(DOCUMENTS[:2])
    means = embedder(bert, normalize=False).embed_in_documents(DOCUMENTS[:2], chunks)
    with torch.no_grad():
        expected = dense({"sentence_embedding": torch.from_numpy(means)})["sentence_embedding"].numpy()
    found = embedder(tmp_path, normalize=False).embed_in_documents(DOCUMENTS[:2], chunks)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_only_late_pooling_reads_documents(bert: Path) -> None:
    component = embedder(bert)
    assert isinstance(component, DocumentEmbedder)
    assert component.reads_documents
    assert not SentenceTransformers(str(bert), "").reads_documents


def test_late_chunking_rejects_full_overlap_and_several_processes(bert: Path) -> None:
    assert embedder(bert, window_overlap=1.0, n_processes=2).check() == [
        "window_overlap: got 1.0, expected a fraction in [0, 1)",
        "n_processes: got 2 with pooling=late, expected 1",
    ]


def test_model_without_token_outputs_is_refused_by_late_chunking(tmp_path: Path) -> None:
    folder = save_static_table(tmp_path)
    with pytest.raises(ComponentError, match=r"pooling: got late, but model .* has a custom pooling"):
        embedder(folder).embed_in_documents(["北京"], spans_of([(0, 0, 2)]))


def test_prefix_that_leaves_no_token_is_an_error(bert: Path) -> None:
    component = embedder(bert, passage_prefix="北京上海", max_length=6)
    with pytest.raises(ComponentError, match="reads 6 tokens, and the prefix and special tokens take all of them"):
        component.embed_in_documents(["北京"], spans_of([(0, 0, 2)]))


LATE = ("retriever=dense", "llm=none", *RANKING_ONLY, "embedder=sentence_transformers", "embedder.pooling=late")


@pytest.mark.parametrize("chunk", ["sentence", "token", "structure", "parents"])
def test_late_chunking_sweep_reads_chunks_in_their_documents(
    bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], chunk: str
) -> None:
    """No chunk exceeds the limit, but queries may."""
    folder = save_sentence_encoder(tmp_path / "model", bert, max_tokens=MAX_TOKENS)
    model = (f"embedder.model={folder}", "embedder.max_length=50", "embedder.device=cpu")
    assert run_small(tmp_path, (*LATE, *model, f"chunk={chunk}")) == 0
    assert [cut["texts"] for cut in cells_in(tmp_path)[0].cut_texts] == ["queries"]
    shown = " ".join(capsys.readouterr().out.split())
    assert "reads 50 tokens of a document at a time" in shown
    assert "read in overlapping windows" in shown


def test_late_chunking_rejects_headers(bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_small(tmp_path, (*LATE, f"embedder.model={bert}", "header=title")) == 2
    assert "expected header=none, or another pooling" in " ".join(capsys.readouterr().err.split())
