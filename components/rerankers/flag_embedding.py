"""Loading and calling the rerankers of the package FlagEmbedding."""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.pretrained.dtype import Dtype
from components.pretrained.load_once import load_once
from components.pretrained.model_files import fetch_folder
from components.pretrained.model_folder import explain_load_errors, missing_package_errors, torch_device
from components.rerankers.heads import require_one_score
from components.rerankers.query_chunk_pairs import TextPair

PACKAGES = ("FlagEmbedding", "torch", "transformers")
_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


@load_once
def load_flag_reranker(
    model: str, revision: str, class_name: str, dtype: Dtype, device: str, options: tuple[tuple[str, object], ...]
) -> Any:
    """Load the reranker of FlagEmbedding with this class name, and pass it the options.

    Raises ComponentError if the model cannot be loaded, or for a data type that it does not support on the device.
    """
    if missing := missing_package_errors(PACKAGES, class_name):
        raise missing[0]
    import FlagEmbedding

    resolved_device = torch_device(device)
    if dtype is Dtype.FLOAT16 and resolved_device == "cpu":
        raise ComponentError(f"dtype: float16 requires a GPU with {class_name}. Use float32.")
    precision = {"use_fp16": dtype is Dtype.FLOAT16} | ({"use_bf16": True} if dtype is Dtype.BFLOAT16 else {})
    with explain_load_errors(model, revision):
        folder = str(_folder(model, revision))
        reranker = getattr(FlagEmbedding, class_name)(folder, devices=resolved_device, **precision, **dict(options))
        config = reranker.model.config
        is_causal = config.architectures and config.architectures[0].endswith("ForCausalLM")
        require_one_score(model, reranker.model, 1 if is_causal else config.num_labels)
    return reranker


def _folder(model: str, revision: str) -> Path:
    """Return the model's folder. FlagEmbedding ignores revisions, and would fall back to pickled weights."""
    folder = fetch_folder(model, revision, _FILES)
    if not any((folder / file).is_file() for file in _WEIGHTS):
        raise FileNotFoundError(f"{folder} has no {_WEIGHTS[0]}")
    return folder


def flag_scores(reranker: Any, texts: Sequence[TextPair], max_length: int, batch_size: int) -> NDArray[np.float32]:
    """Return float32[n_pairs], computed by `compute_score`."""
    with redirect_stderr(io.StringIO()):  # FlagEmbedding's progress bars would overwrite the sweep's
        scores = reranker.compute_score(list(texts), batch_size=batch_size, max_length=max_length)
    return np.asarray(scores, dtype=np.float32)
