"""How many tokens a model reads of a text, and how many a text has: known from the small files of a model, before its
weights are fetched or loaded. Without torch, which would keep worker processes from being forked.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.pretrained.load_once import load_once
from components.pretrained.model_files import fetched_folder
from components.pretrained.model_folder import loading

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LEAST_TOKENS = 3
"""Up to two are special ones. Where these alone have room, all texts read alike."""

_SMALL = ("*.json", "*.txt", "*.model")
"""What is fetched of a model to know how it reads texts."""

_NO_LIMIT = 10**6
"""Tokenizers that know no limit name a number that is larger."""

_FEW = 4096
"""So many texts are split one by one: the threads of a larger batch would get in the way of workers forked later."""

_WITH_UNUSED_POSITIONS = {
    "camembert", "data2vec-text", "longformer", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta",
    "xlm-roberta-xl", "xmod",
}  # fmt: skip
"""Kinds of models whose positions begin behind that of the padding, as RoBERTa's do."""


def model_json(model: str, revision: str, name: str) -> dict[str, Json]:
    """A JSON file of a model; {} if it has none of that name. Raises ComponentError if the model cannot be reached."""
    path = fetched_folder(model, revision, _SMALL) / name
    content: dict[str, Json] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content


def token_limit(model: str, revision: str) -> int | None:
    """How many tokens the model reads at once, special ones included; None if it does not say. What its folder says for
    sentence-transformers goes before what it says for transformers; more than its positions cannot be read.

    Raises ComponentError if the model cannot be reached.
    """
    config = model_json(model, revision, "config.json")
    config = config.get("text_config", config)
    positions = config.get("max_position_embeddings")
    if positions and config.get("model_type") in _WITH_UNUSED_POSITIONS:
        positions -= config.get("pad_token_id", 1) + 1
    said = model_json(model, revision, "sentence_bert_config.json").get("max_seq_length")
    said = said or model_json(model, revision, "tokenizer_config.json").get("model_max_length")
    known = [int(number) for number in (said, positions) if number and 0 < number < _NO_LIMIT]
    return min(known, default=None)


def max_length_mistakes(max_length: int) -> list[str]:
    """Of the tokens that are read of a single text."""
    if max_length >= _LEAST_TOKENS:
        return []
    return [f"max_length: got {max_length}, expected at least {_LEAST_TOKENS}: two tokens are the model's own"]


def count_tokens(model: str, revision: str, texts: Sequence[str]) -> NDArray[np.int64]:
    """int64[n_texts]: tokens of each text, special ones included, as the model's own tokenizer splits it. Raises
    ComponentError if the tokenizer cannot be loaded.
    """
    tokenizer = _tokenizer(model, revision)
    if len(texts) <= _FEW:
        return np.array([len(tokenizer.encode(text)) for text in texts], dtype=np.int64)
    windows = [texts[first : first + _FEW] for first in range(0, len(texts), _FEW)]
    counts = [len(split) for window in windows for split in tokenizer.encode_batch_fast(list(window))]
    return np.array(counts, dtype=np.int64)


def special_tokens(model: str, revision: str, *, of_pair: bool) -> int:
    """How many tokens the model's tokenizer puts around a text, or around two that are read together. Raises
    ComponentError if the tokenizer cannot be loaded.
    """
    return int(_tokenizer(model, revision).num_special_tokens_to_add(of_pair))


@load_once
def _tokenizer(model: str, revision: str) -> "Tokenizer":
    from tokenizers import Tokenizer

    with loading(model, revision) as name:
        path = fetched_folder(model, revision, _SMALL) / "tokenizer.json"
        if not path.is_file():  # an old folder, from whose vocabulary transformers makes one
            from transformers import AutoTokenizer

            loaded = AutoTokenizer.from_pretrained(name, revision=revision or None, trust_remote_code=False)
            tokenizer: Tokenizer = loaded.backend_tokenizer
        else:
            tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
