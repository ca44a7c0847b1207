"""What a model reads of many texts: tensors of tokens, cut into batches without needless padding."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.pretrained.batches import length_batches

if TYPE_CHECKING:
    import torch

Features = dict[str, Any]
"""Of a batch: tensors by name, with a row per text, and a few values that all rows share."""


def feature_batches(features: Features, batch_tokens: int) -> Iterator[tuple[NDArray[np.int64], Features]]:
    """The rows of each batch, and their features without the columns that are padding to all of them: `batch_tokens`
    tokens with what padding is left, or one text.
    """
    mask = features["attention_mask"]
    for rows in length_batches(mask.sum(dim=1).numpy(), batch_tokens):
        columns = mask[rows].any(dim=0)
        yield (
            rows,
            {
                name: value[rows][:, columns] if getattr(value, "shape", ())[:2] == mask.shape else value
                for name, value in features.items()
            },
        )


def on_device(features: Features, device: "torch.device") -> Features:
    """The features with their tensors on a device."""
    return {name: value.to(device) if hasattr(value, "to") else value for name, value in features.items()}


def readable_tokens(encoder: Any) -> int:
    """Tokens that a model of sentence-transformers can read at once: what its tokenizer says, and no more than it has
    positions. RoBERTa and its kin leave the first few of these unused.
    """
    network = encoder.transformers_model
    known = [encoder.max_seq_length, getattr(network.config.get_text_config(), "max_position_embeddings", None)]
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            known.append(module.num_embeddings - unused)
    return int(min(count for count in known if count))
