"""Token limits of models and token counts of texts, read from small files before the weights are loaded.

It does not import torch, because worker processes cannot be forked after that.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.pretrained.load_once import load_once
from components.pretrained.model_files import fetch_folder
from components.pretrained.model_folder import open_model_files

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MIN_TOKENS = 3
"""Minimum `max_length`. Up to two tokens are special, and with these alone all texts would look the same."""

_SMALL = ("*.json", "*.txt", "*.model", "*.metadata")
"""Patterns of the small files that describe how a model reads texts."""

_NO_LIMIT = 10**6
"""Tokenizers without a limit state a larger number."""

_FEW = 4096
"""Number of texts up to which texts are tokenized one by one. The threads of larger batches would disturb workers that
are forked later."""

_WITH_UNUSED_POSITIONS = {
    "camembert", "data2vec-text", "longformer", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta",
    "xlm-roberta-xl", "xmod",
}  # fmt: skip
"""Model types whose positions begin after the padding position, as in RoBERTa."""


def model_json(model: str, revision: str, name: str) -> dict[str, Json]:
    """Return a JSON file of a model, {} if it does not exist. Raises ComponentError if the model cannot be reached."""
    path = fetch_folder(model, revision, _SMALL) / name
    content: dict[str, Json] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content


def token_limit(model: str, revision: str, folder: str = "") -> int | None:
    """Return the maximum number of tokens that the model reads, including special tokens; None if it is not stated.

    The limit for sentence-transformers takes precedence over that for transformers. The number of positions bounds
    both. `folder` is the folder of a module within the model's. Raises ComponentError if the model cannot be reached.
    """
    within = f"{folder}/" if folder else ""
    positions = find_max_positions(model, revision, folder)
    stated = model_json(model, revision, f"{within}sentence_bert_config.json").get("max_seq_length")
    stated = stated or model_json(model, revision, f"{within}tokenizer_config.json").get("model_max_length")
    limits = [int(number) for number in (stated, positions) if number and 0 < number < _NO_LIMIT]
    return min(limits, default=None)


def find_max_positions(model: str, revision: str, folder: str = "") -> int | None:
    """Return the number of positions at which the model can read a token; None if it is not stated.

    `folder` is the folder of a module within the model's. Raises ComponentError if the model cannot be reached.
    """
    config = model_json(model, revision, f"{folder}/config.json" if folder else "config.json")
    config = config.get("text_config", config)
    positions: int | None = config.get("max_position_embeddings")
    if positions and config.get("model_type") in _WITH_UNUSED_POSITIONS:
        positions -= config.get("pad_token_id", 1) + 1
    return positions


def max_length_problems(max_length: int | None) -> list[str]:
    """Return an error message if the tokens read per text are too few. None leaves their number to the model."""
    if max_length is None or max_length >= _MIN_TOKENS:
        return []
    return [f"max_length: got {max_length}, expected at least {_MIN_TOKENS}: two of them are special tokens"]


def count_tokens(
    model: str, revision: str, texts: Sequence[str], folder: str = "", *, with_special: bool = True
) -> NDArray[np.int64]:
    """Return int64[n_texts], the tokens of each text by the model's tokenizer, by default including special tokens.

    `folder` is the folder of a module within the model's. Raises ComponentError if the tokenizer cannot be loaded.
    """
    tokenizer = _tokenizer(model, revision, folder)
    if len(texts) <= _FEW:
        return np.array([len(tokenizer.encode(text, None, False, with_special)) for text in texts], dtype=np.int64)
    windows = [list(texts[first : first + _FEW]) for first in range(0, len(texts), _FEW)]
    counts = [len(split) for window in windows for split in tokenizer.encode_batch_fast(window, False, with_special)]
    return np.array(counts, dtype=np.int64)


def is_token(model: str, revision: str, text: str, folder: str = "") -> bool:
    """Return True if the text is a token of the model's vocabulary.

    Raises ComponentError if the tokenizer cannot be loaded.
    """
    return _tokenizer(model, revision, folder).token_to_id(text) is not None


def special_tokens(model: str, revision: str, *, of_pair: bool) -> int:
    """Return the number of special tokens that the tokenizer adds to a text, or to a pair.

    Raises ComponentError if the tokenizer cannot be loaded.
    """
    return int(_tokenizer(model, revision, "").num_special_tokens_to_add(of_pair))


@load_once
def _tokenizer(model: str, revision: str, within: str) -> "Tokenizer":
    from tokenizers import Tokenizer

    with open_model_files(model, revision) as name:
        path = fetch_folder(model, revision, _SMALL) / within / "tokenizer.json"
        if not path.is_file():  # an old folder: transformers builds one from its vocabulary
            from transformers import AutoTokenizer

            pinned = {"revision": revision or None, "trust_remote_code": False, "subfolder": within}
            loaded = AutoTokenizer.from_pretrained(name, **pinned)
            tokenizer: Tokenizer = loaded.backend_tokenizer
        else:
            tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
