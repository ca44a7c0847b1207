"""Causal language models of transformers: loaded once, and given prompts in batches of equal cost.

Every row of a batch draws with random numbers of its own, so that a text does not depend on what it is batched with.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.errors import ComponentError
from components.pretrained.batches import length_batches
from components.pretrained.dtype import Dtype
from components.pretrained.load_once import load_once
from components.pretrained.model_files import has_safetensors
from components.pretrained.model_folder import loading, missing_packages, torch_device

if TYPE_CHECKING:
    import torch

PACKAGES = ("torch", "transformers")
_BATCH_TOKENS = {"cpu": 4096}
_BATCH_TOKENS_OF_GPUS = 32_768
"""What a batch holds in memory grows with its tokens: up to 0.8 MB for each in a model of 13 billion parameters."""


@dataclass(frozen=True)
class Drawing:
    """How tokens are chosen: the likeliest one at temperature 0, else drawn from the likeliest that make up `top_p`."""

    temperature: float
    top_p: float
    max_new_tokens: int
    stop: tuple[str, ...]


class ModelPrompt(NamedTuple):
    """The tokens that a model reads, and what its random numbers begin with."""

    token_ids: Sequence[int]
    seed: str


class WrittenText(NamedTuple):
    """What a model wrote to the prompt at a position. `n_tokens` include the one that ends it."""

    position: int
    text: str
    is_truncated: bool
    n_tokens: int


@dataclass(frozen=True)
class CausalModel:
    """A model, and the folder of a LoRA adapter upon it, "" for none. See `TransformersChat` for the fields."""

    model: str
    revision: str
    adapter: str
    dtype: Dtype
    trust_remote_code: bool
    device: str

    @property
    def tokenizer(self) -> Any:
        """That of transformers. Raises ComponentError if the model cannot be loaded."""
        return self._loaded[0]

    @property
    def window(self) -> int:
        """Tokens of prompt and text that it can hold together."""
        tokenizer, network = self._loaded
        positions = getattr(network.config.get_text_config(), "max_position_embeddings", None)
        return int(positions or tokenizer.model_max_length)

    def write(
        self, prompts: Sequence[ModelPrompt], drawing: Drawing, batch_tokens: int | None
    ) -> Iterator[list[WrittenText]]:
        """The texts of all prompts, batch by batch, the longest first. A batch has at most `batch_tokens` tokens of
        prompts and texts, padding included, or one prompt; None for what suits the device. Raises ComponentError if it
        does not fit into memory, or if the model computes numbers that are not finite.
        """
        import torch

        network = self._loaded[1]
        most = batch_tokens or _BATCH_TOKENS.get(network.device.type, _BATCH_TOKENS_OF_GPUS)
        for rows in length_batches([len(prompt.token_ids) + drawing.max_new_tokens for prompt in prompts], most):
            try:
                yield self._batch([(row, prompts[row]) for row in rows.tolist()], drawing)
            except torch.OutOfMemoryError as error:
                raise ComponentError(
                    f"batch_tokens: {most} tokens at once do not fit into the memory of {network.device}, expected "
                    f"fewer: try {max(most // 2, 1)} ({str(error).partition('. ')[0]})"
                ) from error

    def _batch(self, batch: Sequence[tuple[int, ModelPrompt]], drawing: Drawing) -> list[WrittenText]:
        import torch

        tokenizer, network = self._loaded
        longest = max(len(prompt.token_ids) for _, prompt in batch)
        ids = torch.full((len(batch), longest), tokenizer.pad_token_id)
        mask = torch.zeros_like(ids)
        for row, (_, prompt) in enumerate(batch):  # on the left: what is written follows the prompt at once
            ids[row, longest - len(prompt.token_ids) :] = torch.tensor(prompt.token_ids)
            mask[row, longest - len(prompt.token_ids) :] = 1
        ends = _ids_of_ends(network, tokenizer)
        processors: list[Any] = [RefuseNotFinite(self.model, self.dtype)]
        if drawing.temperature:
            processors.append(Draw(drawing, [prompt.seed for _, prompt in batch]))
        with torch.inference_mode():
            written = network.generate(
                input_ids=ids.to(network.device),
                attention_mask=mask.to(network.device),
                max_new_tokens=drawing.max_new_tokens,
                do_sample=False,  # `Draw` does it, row by row
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=ends,
                logits_processor=processors,
                **({"stop_strings": list(drawing.stop), "tokenizer": tokenizer} if drawing.stop else {}),
            )
        rows = written[:, longest:].tolist()
        return [
            _written(position, row, ends, tokenizer, drawing) for (position, _), row in zip(batch, rows, strict=True)
        ]

    @property
    def _loaded(self) -> tuple[Any, Any]:
        return _load(self.model, self.revision, self)


def _written(position: int, row: list[int], ends: Sequence[int], tokenizer: Any, drawing: Drawing) -> WrittenText:
    n_text = next((place for place, token in enumerate(row) if token in ends), None)
    if n_text is None:  # a row that a stop word ended before the others was filled up
        n_text = max((place + 1 for place, token in enumerate(row) if token != tokenizer.pad_token_id), default=0)
        n_tokens, is_ended = n_text, False
    else:
        n_tokens, is_ended = n_text + 1, True
    text: str = tokenizer.decode(row[:n_text], skip_special_tokens=True)
    if places := [place for word in drawing.stop if (place := text.find(word)) >= 0]:
        text, is_ended = text[: min(places)], True
    return WrittenText(position, text, not is_ended, n_tokens)


def _ids_of_ends(network: Any, tokenizer: Any) -> list[int]:
    """Tokens that end a text: those that the model's settings for generation name, and that of its tokenizer."""
    ends = network.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    return sorted({*ends, tokenizer.eos_token_id} - {None})


class RefuseNotFinite:
    """A processor of logits that leaves them as they are. Tokens chosen by NaN would be one and the same, without a
    word.
    """

    def __init__(self, model: str, dtype: Dtype) -> None:
        self._model, self._dtype = model, dtype

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Raises ComponentError if a row has a NaN, an infinite logit, or none that is above minus infinity, which some
        models give to tokens that they never write.
        """
        import torch

        if not torch.isfinite(scores.logsumexp(dim=-1)).all():
            raise ComponentError(
                f"model {self._model!r}: its logits are not finite with dtype={self._dtype}, expected finite ones; "
                "float16 overflows in some models: try bfloat16 or float32. If these are not finite either, there are "
                "NaNs among its weights: fetch or save them again"
            )
        return scores


class Draw:
    """A processor of logits that leaves a single token in each row: the one that is drawn."""

    def __init__(self, drawing: Drawing, seeds: Sequence[str]) -> None:
        self._drawing = drawing
        self._randoms = [
            np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest()[:8]))
            for seed in seeds
        ]

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Minus infinity for all tokens but the drawn ones. One random number for each row, made without the device, so
        that all devices draw alike.
        """
        import torch

        # In double precision: a cumulative sum over 150,000 tokens is otherwise off by more than rare ones are worth.
        shares, tokens = torch.softmax(scores.double() / self._drawing.temperature, dim=-1).sort(descending=True)
        sums = shares.cumsum(dim=-1)
        n_kept = ((sums - shares) < self._drawing.top_p).sum(dim=-1, keepdim=True)
        uniform = torch.tensor([[random.random()] for random in self._randoms], dtype=sums.dtype, device=sums.device)
        place = torch.searchsorted(sums, uniform * sums.gather(1, n_kept - 1), right=True)
        drawn = tokens.gather(1, torch.minimum(place, n_kept - 1))
        return torch.full_like(scores, -torch.inf).scatter(1, drawn, 0.0)


@load_once
def _load(model: str, revision: str, wanted: CausalModel) -> tuple[Any, Any]:
    packages = (*PACKAGES, "peft") if wanted.adapter else PACKAGES
    if missing := missing_packages(packages, "a local language model"):
        raise missing[0]
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    on_device = torch_device(wanted.device)
    options = {"revision": revision or None, "trust_remote_code": wanted.trust_remote_code}
    with loading(model, revision) as name:
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
        network: Any = AutoModelForCausalLM.from_pretrained(
            name,
            dtype=getattr(torch, wanted.dtype.value),
            attn_implementation="sdpa",
            use_safetensors=has_safetensors(model, revision),
            **options,
        )
    if wanted.adapter:
        from peft import PeftModel

        with loading(wanted.adapter, "") as folder:
            network = PeftModel.from_pretrained(network, folder)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer, network.to(on_device).eval()
