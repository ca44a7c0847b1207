"""Features of many texts: tensors of tokens, split into batches with little padding."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.pretrained.batches import batch_by_length

if TYPE_CHECKING:
    import torch

Features = dict[str, Any]
"""Features of a batch: tensors by name with a row per text, and a few values that all rows share."""


def split_into_batches(features: Features, batch_tokens: int) -> Iterator[tuple[NDArray[np.int64], Features]]:
    """Yield the rows of each batch and their features, without columns that are padding in all rows.

    A batch has at most `batch_tokens` tokens including the remaining padding, or a single text. The tokens that expand
    a query are not padding, even if no other token attends to them.
    """
    mask = features["attention_mask"]
    if (expanded := features.get("query_expansion_positions")) is not None:
        mask = mask | expanded
    for rows in batch_by_length(mask.sum(dim=1).numpy(), batch_tokens):
        columns = mask[rows].any(dim=0)
        yield (
            rows,
            {
                name: value[rows][:, columns] if getattr(value, "shape", ())[:2] == mask.shape else value
                for name, value in features.items()
            },
        )


def preprocess(encoder: Any, inputs: Sequence[Any], **options: Any) -> Features:
    """Return the features of texts or pairs of texts that `encoder`, a model of sentence-transformers, makes of them.

    transformers turns lists of tokens into tensors number by number, which takes four times as long as the tokens
    themselves and keeps a GPU waiting. Here whole lists become arrays, for models whose first module only tokenizes.
    """
    import torch

    if not _only_tokenizes(encoder, options.get("task")):
        features: Features = encoder.preprocess(inputs, **options)
        return features
    lists = encoder.preprocess(inputs, processing_kwargs={"common": {"return_tensors": None}}, **options)
    return {
        name: torch.from_numpy(np.array(value, dtype=np.int64)) if isinstance(value, list) else value
        for name, value in lists.items()
    }


def _only_tokenizes(encoder: Any, task: str | None) -> bool:
    """Return True if nothing after the tokenizer, such as the expansion of queries, reads the features as tensors."""
    from sentence_transformers.base.modules import Transformer

    first = encoder[0]
    return (
        type(first) is Transformer
        and (first.query_expansion is None or task == "document")
        and first.transformer_task in ("feature-extraction", "fill-mask", "sequence-classification")
        and "message" not in first.modality_config
    )


def default_batch_tokens(device: str) -> int:
    """Return a batch size in tokens for a type of device. On a CPU a larger batch exceeds the caches; a GPU needs a
    large one to be busy.
    """
    return 2048 if device == "cpu" else 16_384


def compute_batches(
    features: Features, n_rows: int, batch_tokens: int, encoder: Any, compute: "Callable[[Features], torch.Tensor]"
) -> NDArray[np.float32]:
    """Return float32[n_rows, ...], the results of `compute` for all features, in the order of the rows.

    `compute` runs batch by batch on the device of `encoder`. Features without an attention mask, as in static
    embeddings, have no padding and form one batch. Raises ComponentError if a batch does not fit into memory.
    """
    import torch

    is_padded = "attention_mask" in features
    batches = split_into_batches(features, batch_tokens) if is_padded else [(np.arange(n_rows), features)]
    outputs, row_blocks = [], []
    with explain_out_of_memory(batch_tokens, encoder.device), torch.inference_mode():
        for rows, batch in batches:
            outputs.append(compute(on_device(batch, encoder.device)))
            row_blocks.append(rows)
        # Copy at the end: a copy waits for the GPU, which would be idle in that time.
        joined = torch.cat(outputs).float().cpu().numpy()
    ordered: NDArray[np.float32] = np.empty_like(joined)
    ordered[np.concatenate(row_blocks)] = joined
    return ordered


@contextmanager
def explain_out_of_memory(batch_tokens: int, device: "torch.device") -> Iterator[None]:
    """Turn an out-of-memory error on the device into a ComponentError that says what to do."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ComponentError(
            f"batch_tokens: a batch of {batch_tokens} tokens does not fit into the memory of {device}. Try "
            f"{max(batch_tokens // 2, 1)} ({str(error).partition('. ')[0]})."
        ) from error


def on_device(features: Features, device: "torch.device") -> Features:
    """Return the features with their tensors on a device."""
    return {name: value.to(device) if hasattr(value, "to") else value for name, value in features.items()}


def max_input_tokens(network: Any, tokenizer: Any) -> int:
    """Return the maximum number of tokens that a transformers model reads, including special tokens.

    It is the tokenizer's limit, or the model's number of positions if that is smaller. RoBERTa and related models leave
    their first positions unused.
    """
    limits = [tokenizer.model_max_length, getattr(network.config.get_text_config(), "max_position_embeddings", None)]
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - unused)
    return int(min(count for count in limits if count))
