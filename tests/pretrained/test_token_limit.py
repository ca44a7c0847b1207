"""Limits and counts from a model's small files agree with its network and its tokenizer."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.errors import ComponentError
from components.pretrained.features import max_input_tokens
from components.pretrained.token_limit import count_tokens, token_limit
from tests.extras import skip_without
from tests.models.tiny import save_bert, save_sentence_encoder, save_xlm_roberta

skip_without("sentence_transformers")

TEXTS = ["", " ", "北京", "abc 123", "Ünïcode — “quotes”", "会议在北京举行，共有12人参加。" * 30]
_SETTINGS = {"sentence_bert_config.json": {"max_seq_length": 256}}
SAVERS = {"bert": save_bert, "xlm_roberta": save_xlm_roberta}


@pytest.fixture(scope="module", params=[(kind, knows) for kind in SAVERS for knows in (True, False)], ids=str)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models whose tokenizers know how much they read, and models whose tokenizers do not."""
    kind, knows = request.param
    return SAVERS[kind](tmp_path_factory.mktemp(kind), tokenizer_knows_maximum=knows)


def test_token_limit_equals_sentence_transformers(folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(folder), device="cpu")
    assert token_limit(str(folder), "") == max_input_tokens(encoder.transformers_model, encoder.tokenizer)


def test_token_counts_equal_transformers(folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    expected = [len(tokenizer(text)["input_ids"]) for text in TEXTS]
    assert count_tokens(str(folder), "", TEXTS).tolist() == expected
    assert max(expected) > 300, "more than the model reads, and not cut off"


def test_token_counts_do_not_depend_on_the_number_of_texts(folder: Path) -> None:
    assert count_tokens(str(folder), "", TEXTS * 1000).tolist() == count_tokens(str(folder), "", TEXTS).tolist() * 1000


def test_old_model_folder_without_tokenizer_json_counts_equal_tokens(tmp_path: Path) -> None:
    folder = save_bert(tmp_path)
    expected = count_tokens(str(folder), "", TEXTS).tolist()
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)), encoding="utf-8")
    (folder / "tokenizer.json").rename(tmp_path / "gone")
    from components.pretrained.load_once import release_all_but

    release_all_but(())
    assert count_tokens(str(folder), "", TEXTS).tolist() == expected


def test_sentence_transformers_limit_overrides_the_transformers_limit(tmp_path: Path) -> None:
    bert = save_bert(tmp_path / "bert")
    assert token_limit(str(save_sentence_encoder(tmp_path / "encoder", bert, max_tokens=128)), "") == 128


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"config.json": {"max_position_embeddings": 512}}, 512),
        ({"config.json": {"text_config": {"max_position_embeddings": 2048}}}, 2048),
        ({"config.json": {"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}}, 512),
        ({"tokenizer_config.json": {"model_max_length": 1e30}}, None),
        ({"tokenizer_config.json": {"model_max_length": 512}}, 512),
        ({"tokenizer_config.json": {"model_max_length": 512}, **_SETTINGS}, 256),
        ({"tokenizer_config.json": {"model_max_length": 512}, "sentence_bert_config.json": {}}, 512),
    ],
)
def test_token_limit_is_read_from_old_model_folders(
    tmp_path: Path, files: dict[str, Any], expected: int | None
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    assert token_limit(str(tmp_path), "") == expected


def test_unreadable_tokenizer_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ComponentError, match="cannot be loaded"):
        count_tokens(str(tmp_path), "", ["text"])
