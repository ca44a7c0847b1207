"""Files of sparse encoders: a model may read queries and documents with modules in separate folders.

It does not import torch, after which worker processes could not be forked.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.pretrained.sentence_encoder import Side
from components.pretrained.token_limit import count_tokens, model_json, token_limit

_ROUTER = "router_config.json"
_TABLE = "SparseStaticEmbedding"
"""Kind of a module that looks up the weights of tokens, and reads no special tokens."""


def document_token_limit(model: str, revision: str) -> int | None:
    """Return the maximum number of tokens of a document, including special tokens; None if it is not stated.

    Raises ComponentError if the model cannot be reached.
    """
    return token_limit(model, revision, first_module(model, revision, Side.PASSAGE)[0])


def count_side_tokens(model: str, revision: str, texts: Sequence[str], side: Side) -> NDArray[np.int64]:
    """Return int64[n_texts], the tokens that the model reads on a side before it cuts a text.

    Raises ComponentError if the tokenizer cannot be loaded.
    """
    folder, kind = first_module(model, revision, side)
    return count_tokens(model, revision, texts, folder, with_special=not kind.endswith(_TABLE))


def first_module(model: str, revision: str, side: Side) -> tuple[str, str]:
    """Return the folder and the class of the module that tokenizes; "" for the model's folder.

    Raises ComponentError if the model cannot be reached.
    """
    folder, first = "", ""
    modules: Json = model_json(model, revision, "modules.json")
    if isinstance(modules, list) and modules:
        folder, first = modules[0].get("path", ""), modules[0].get("type", "")
    router = model_json(model, revision, f"{folder}/{_ROUTER}" if folder else _ROUTER)
    route = router.get("structure", {}).get(side.value)
    if not route:
        return folder, first
    within = "/".join(part for part in (folder, route[0]) if part)
    return within, router.get("types", {}).get(route[0], "")
