"""What a model reads of many texts: tensors of tokens, cut into batches without needless padding."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
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


def suitable_batch_tokens(device: str) -> int:
    """As many tokens as a device of that type likes best at once: on a CPU what its caches hold is soon too small for
    more, a GPU is busy only with many.
    """
    return 2048 if device == "cpu" else 16_384


def computed(
    features: Features, n_rows: int, batch_tokens: int, encoder: Any, compute: "Callable[[Features], torch.Tensor]"
) -> NDArray[np.float32]:
    """float32[n_rows, ...]: what `compute` makes of the features on the device of `encoder`, batch by batch, in the
    order of the rows. Features without an attention mask, as those of static embeddings, have no padding: they are one
    batch.

    Raises ComponentError if a batch does not fit into memory.
    """
    import torch

    is_padded = "attention_mask" in features
    batches = feature_batches(features, batch_tokens) if is_padded else [(np.arange(n_rows), features)]
    made, places = [], []
    with fitting_into_memory(batch_tokens, encoder.device), torch.inference_mode():
        for rows, batch in batches:
            made.append(compute(on_device(batch, encoder.device)))
            places.append(rows)
        # Copied at the end: a copy waits for the GPU, which meanwhile would have nothing to do.
        found = torch.cat(made).float().cpu().numpy()
    ordered: NDArray[np.float32] = np.empty_like(found)
    ordered[np.concatenate(places)] = found
    return ordered


@contextmanager
def fitting_into_memory(batch_tokens: int, device: "torch.device") -> Iterator[None]:
    """For what is computed on a device: if its memory is short, raises a ComponentError that says what to do."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ComponentError(
            f"batch_tokens: {batch_tokens} tokens at once do not fit into the memory of {device}, expected fewer: try "
            f"{max(batch_tokens // 2, 1)} ({str(error).partition('. ')[0]})"
        ) from error


def on_device(features: Features, device: "torch.device") -> Features:
    """The features with their tensors on a device."""
    return {name: value.to(device) if hasattr(value, "to") else value for name, value in features.items()}


def readable_tokens(network: Any, tokenizer: Any) -> int:
    """Tokens that a model of transformers can read at once, special ones included: what its tokenizer says, and no more
    than it has positions. RoBERTa and its kin leave the first few of these unused.
    """
    known = [tokenizer.model_max_length, getattr(network.config.get_text_config(), "max_position_embeddings", None)]
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            known.append(module.num_embeddings - unused)
    return int(min(count for count in known if count))
