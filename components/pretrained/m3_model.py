"""The network of BGE-M3: an encoder, and heads that compute token weights and token vectors."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.pretrained.dtype import Dtype
from components.pretrained.features import Features, max_input_tokens, on_device
from components.pretrained.load_once import load_once
from components.pretrained.model_files import has_safetensors
from components.pretrained.model_folder import explain_load_errors, local_folder, missing_package_errors, torch_device

PACKAGES = ("torch", "transformers")


class HeadsOfText(NamedTuple):
    """Outputs of the heads for the tokens of one text.

    `ids` are the distinct tokens with a weight above zero, without special ones, and `weights` their weights.
    `vectors`, float16[n_tokens, d], are the unit vectors of all tokens but the first, in the order of the text. A text
    without tokens has none.
    """

    ids: NDArray[np.int32]
    weights: NDArray[np.float32]
    vectors: NDArray[np.float16] | None


class M3Model(NamedTuple):
    """The encoder, its two heads and its tokenizer.

    `sparse_linear` computes a token's weight, and `colbert_linear` its vector. Texts are cut at `max_length` tokens.
    `special_ids` are the tokens without a weight, such as padding.
    """

    network: Any
    sparse_linear: Any
    colbert_linear: Any
    tokenizer: Any
    max_length: int
    special_ids: NDArray[np.int32]

    @property
    def n_dimensions(self) -> int:
        """Length of the vector of a text."""
        return int(self.network.config.hidden_size)

    @property
    def n_token_dimensions(self) -> int:
        """Length of the vector of a token."""
        return int(self.colbert_linear.out_features)

    def tokenize(self, texts: list[str]) -> Features:
        """Return the features of the texts as tensors, padded to the longest one."""
        return dict(
            self.tokenizer(texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt")
        )

    def forward(self, batch: Features, *, dense_alone: bool) -> tuple[NDArray[np.float32], list[HeadsOfText]]:
        """Return the unit vectors of the texts, float32[n_texts, d], and the outputs of the heads for each text.

        With `dense_alone`, the heads are not run, and the second list is empty.
        """
        import torch
        from torch.nn.functional import normalize

        with torch.inference_mode():
            moved = on_device(batch, self.network.device)
            hidden = self.network(**moved).last_hidden_state
            dense = normalize(hidden[:, 0].float(), dim=-1).cpu().numpy()
            if dense_alone:
                return dense, []
            weights = torch.relu(self.sparse_linear(hidden)).squeeze(-1).float().cpu().numpy()
            # The first token represents the whole text, and has no token vector.
            has_vector = moved["attention_mask"][:, 1:].bool()
            vectors = normalize(self.colbert_linear(hidden[:, 1:][has_vector]).float(), dim=-1)
            all_vectors = vectors.half().cpu().numpy()
        ids = batch["input_ids"].numpy().astype(np.int32)
        ends = np.cumsum(batch["attention_mask"][:, 1:].sum(dim=1).numpy())
        vectors_by_text = np.split(all_vectors, ends[:-1])
        return dense, [
            HeadsOfText(*_keep_largest(text_ids, text_weights, self.special_ids), text_vectors)
            for text_ids, text_weights, text_vectors in zip(ids, weights, vectors_by_text, strict=True)
        ]


def _keep_largest(
    ids: NDArray[np.int32], weights: NDArray[np.float32], special_ids: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return each token with a weight above zero once, with its largest weight. Special tokens are left out."""
    counts = (weights > 0) & ~np.isin(ids, special_ids)
    tokens, inverse = np.unique(ids[counts], return_inverse=True)
    largest = np.zeros(len(tokens), dtype=np.float32)
    np.maximum.at(largest, inverse, weights[counts])
    return tokens, largest


@load_once
def load_m3(model: str, revision: str, dtype: Dtype, max_length: int, device: str) -> M3Model:
    """Load the model, once per process. Raises ComponentError if a package is missing or the model cannot be loaded."""
    if missing := missing_package_errors(PACKAGES, "the embedder bge-m3-heads"):
        raise missing[0]
    import torch
    from transformers import AutoModel, AutoTokenizer

    resolved_device = torch_device(device)
    pinned = {"revision": revision or None, "trust_remote_code": False}
    number = getattr(torch, dtype.value)
    with explain_load_errors(model, revision) as name:
        tokenizer = AutoTokenizer.from_pretrained(name, **pinned)
        network = AutoModel.from_pretrained(
            name, use_safetensors=has_safetensors(model, revision), dtype=number, **pinned
        )
        sparse, colbert = (_head(name, revision, f"{head}_linear.pt") for head in ("sparse", "colbert"))
    special = {tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id}
    return M3Model(
        network.to(resolved_device).eval(),
        sparse.to(device=resolved_device, dtype=number).eval(),
        colbert.to(device=resolved_device, dtype=number).eval(),
        tokenizer,
        min(max_length, max_input_tokens(network, tokenizer)),
        np.array(sorted(special - {None}), dtype=np.int32),
    )


def _head(name: str, revision: str, file: str) -> Any:
    """Return the linear layer in `file`, in the folder of weights `name` or a repository of that name."""
    import torch
    from huggingface_hub import hf_hub_download

    folder = local_folder(name)
    path = folder / file if folder else hf_hub_download(name, file, revision=revision)
    weights = torch.load(path, map_location="cpu", weights_only=True)
    n_out, n_in = weights["weight"].shape
    head = torch.nn.Linear(n_in, n_out)
    head.load_state_dict(weights)
    return head
