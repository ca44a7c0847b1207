"""Causal language models of transformers, loaded once and run on batches of equal cost.

Each row of a batch draws its own random numbers, so that a text does not depend on the rest of its batch.
"""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.errors import ComponentError
from components.pretrained.batches import batch_by_length
from components.pretrained.dtype import Dtype, cpu_supports
from components.pretrained.load_once import load_once
from components.pretrained.model_files import has_safetensors
from components.pretrained.model_folder import explain_load_errors, missing_package_errors, torch_device
from components.text.thoughts import thought_marks

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

PACKAGES = ("torch", "transformers")
_CPU_BATCH_TOKENS = 4096
_MAX_BATCH_TOKENS = 131_072
"""Tokens per batch. On an H200, a model of Qwen2-7B's size writes no faster with more."""

_SHARE_OF_FREE_MEMORY = 0.6


@dataclass(frozen=True)
class SamplingSettings:
    """The choice of tokens: the likeliest at temperature 0, else drawn from the likeliest ones that sum to `top_p`."""

    temperature: float
    top_p: float
    max_new_tokens: int
    stop: tuple[str, ...]


class ModelPrompt(NamedTuple):
    """The tokens that a model reads, and the seed of its random numbers."""

    token_ids: Sequence[int]
    seed: str


class GeneratedText(NamedTuple):
    """A model's text for the prompt at a position. `n_tokens` includes the end token."""

    position: int
    text: str
    is_truncated: bool
    n_tokens: int


@dataclass(frozen=True)
class CausalModel:
    """A model with the folder of its LoRA adapter, "" for none. See `TransformersChat` for the fields."""

    model: str
    revision: str
    adapter: str
    dtype: Dtype
    trust_remote_code: bool
    device: str

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers. Raises ComponentError if the model cannot be loaded."""
        return self._network_and_tokenizer[0]

    @property
    def window(self) -> int:
        """Maximum number of tokens of prompt and text together."""
        tokenizer, network = self._network_and_tokenizer
        positions = getattr(network.config.get_text_config(), "max_position_embeddings", None)
        return int(positions or tokenizer.model_max_length)

    def write(
        self, prompts: Sequence[ModelPrompt], drawing: SamplingSettings, batch_tokens: int | None
    ) -> Iterator[list[GeneratedText]]:
        """Yield the texts of all prompts batch by batch, the longest prompts first.

        A batch has at most `batch_tokens` tokens of prompts and texts, including padding, or a single prompt; None
        chooses a size for the device. Raises ComponentError if a batch does not fit into memory, or if the model
        computes numbers that are not finite.
        """
        import torch

        network = self._network_and_tokenizer[1]
        max_tokens = batch_tokens or max_batch_tokens(network)
        for rows in batch_by_length([len(prompt.token_ids) + drawing.max_new_tokens for prompt in prompts], max_tokens):
            try:
                yield self._batch([(row, prompts[row]) for row in rows.tolist()], drawing)
            except torch.OutOfMemoryError as error:
                raise ComponentError(
                    f"batch_tokens: a batch of {max_tokens} tokens does not fit into the memory of {network.device}. "
                    f"Try {max(max_tokens // 2, 1)} ({str(error).partition('. ')[0]})."
                ) from error

    def _batch(self, batch: Sequence[tuple[int, ModelPrompt]], drawing: SamplingSettings) -> list[GeneratedText]:
        import torch

        tokenizer, network = self._network_and_tokenizer
        longest = max(len(prompt.token_ids) for _, prompt in batch)
        ids = torch.full((len(batch), longest), tokenizer.pad_token_id)
        mask = torch.zeros_like(ids)
        for row, (_, prompt) in enumerate(batch):  # pad on the left, so that the text directly follows the prompt
            ids[row, longest - len(prompt.token_ids) :] = torch.tensor(prompt.token_ids)
            mask[row, longest - len(prompt.token_ids) :] = 1
        ends = _end_token_ids(network, tokenizer)
        processors: list[Any] = [FiniteLogitsCheck(self.model, self.dtype)]
        if drawing.temperature:
            processors.append(TokenSampler(drawing, [prompt.seed for _, prompt in batch]))
        with torch.inference_mode():
            written = network.generate(
                input_ids=ids.to(network.device),
                attention_mask=mask.to(network.device),
                max_new_tokens=drawing.max_new_tokens,
                do_sample=False,  # `TokenSampler` samples row by row
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
            _written_text(position, row, ends, tokenizer, drawing)
            for (position, _), row in zip(batch, rows, strict=True)
        ]

    @property
    def _network_and_tokenizer(self) -> tuple[Any, Any]:
        return _load(self.model, self.revision, self)


def _written_text(
    position: int, row: list[int], ends: Sequence[int], tokenizer: Any, drawing: SamplingSettings
) -> GeneratedText:
    n_text = next((index for index, token in enumerate(row) if token in ends), None)
    if n_text is None:  # a stop word ended this row early, and the rest is padding
        n_text = max((index + 1 for index, token in enumerate(row) if token != tokenizer.pad_token_id), default=0)
        n_tokens, is_ended = n_text, False
    else:
        n_tokens, is_ended = n_text + 1, True
    text = _decode(row[:n_text], tokenizer)
    if stops := [index for word in drawing.stop if (index := text.find(word)) >= 0]:
        text, is_ended = text[: min(stops)], True
    return GeneratedText(position, text, not is_ended, n_tokens)


def _decode(token_ids: list[int], tokenizer: Any) -> str:
    """Return the text without special tokens, except those that separate thoughts from the answer."""
    text: str = tokenizer.decode(token_ids, skip_special_tokens=False)
    if not (marks := thought_marks(text)):
        return str(tokenizer.decode(token_ids, skip_special_tokens=True))
    for token in sorted(set(tokenizer.all_special_tokens) - marks, key=len, reverse=True):
        text = text.replace(token, "")
    return text


def _end_token_ids(network: Any, tokenizer: Any) -> list[int]:
    """Return the tokens that end a text, according to the model's generation settings and its tokenizer."""
    ends = network.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    return sorted({*ends, tokenizer.eos_token_id} - {None})


class FiniteLogitsCheck:
    """A logits processor that only checks the logits. NaNs would silently choose the same token every time."""

    def __init__(self, model: str, dtype: Dtype) -> None:
        self._model, self._dtype = model, dtype

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Return the logits unchanged.

        Raises ComponentError if a row has a NaN or an infinite logit, or only minus infinity. Some models give minus
        infinity to tokens that they never write.
        """
        import torch

        if not torch.isfinite(scores.logsumexp(dim=-1)).all():
            raise ComponentError(
                f"model {self._model!r}: got logits that are not finite with dtype={self._dtype}, expected finite "
                "ones. float16 overflows in some models. Use bfloat16 or float32. If these fail too, the weights "
                "contain NaNs. Download or save them again."
            )
        return scores


class TokenSampler:
    """A logits processor that samples one token per row, and leaves only that one possible."""

    def __init__(self, drawing: SamplingSettings, seeds: Sequence[str]) -> None:
        self._drawing = drawing
        self._randoms = [
            np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest()[:8]))
            for seed in seeds
        ]

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Return minus infinity for all tokens except the sampled ones.

        Each row uses one random number, which NumPy generates, so that all devices sample alike.
        """
        import torch

        # Double precision: in a cumulative sum over 150,000 tokens, errors otherwise exceed the shares of rare tokens.
        shares, tokens = torch.softmax(scores.double() / self._drawing.temperature, dim=-1).sort(descending=True)
        sums = shares.cumsum(dim=-1)
        n_likeliest = ((sums - shares) < self._drawing.top_p).sum(dim=-1, keepdim=True)
        uniform = torch.tensor([[random.random()] for random in self._randoms], dtype=sums.dtype, device=sums.device)
        index = torch.searchsorted(sums, uniform * sums.gather(1, n_likeliest - 1), right=True)
        sampled = tokens.gather(1, torch.minimum(index, n_likeliest - 1))
        return torch.full_like(scores, -torch.inf).scatter(1, sampled, 0.0)


def max_batch_tokens(network: Any) -> int:
    """Return the tokens that fit into a share of a GPU's free memory, or a small number on a CPU."""
    import torch

    if network.device.type != "cuda":
        return _CPU_BATCH_TOKENS
    fitting = int(_SHARE_OF_FREE_MEMORY * torch.cuda.mem_get_info(network.device)[0] / _bytes_per_token(network))
    return min(max(fitting, _CPU_BATCH_TOKENS), _MAX_BATCH_TOKENS)


def _bytes_per_token(network: Any) -> int:
    """Return the memory that a token of a batch takes: keys and values in all layers, and the widest layer's inputs."""
    config = network.config.get_text_config()
    n_heads = config.num_attention_heads
    per_head = getattr(config, "head_dim", None) or config.hidden_size // n_heads
    n_cached = 2 * config.num_hidden_layers * (getattr(config, "num_key_value_heads", None) or n_heads) * per_head
    n_inner = 2 * (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    return int((n_cached + n_inner) * network.dtype.itemsize)


@load_once
def _load(model: str, revision: str, settings: CausalModel) -> tuple[Any, Any]:
    packages = (*PACKAGES, "peft") if settings.adapter else PACKAGES
    if missing := missing_package_errors(packages, "a local language model"):
        raise missing[0]
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    on_device = torch_device(settings.device)
    if settings.dtype is not Dtype.FLOAT32 and on_device == "cpu" and not cpu_supports(settings.dtype):
        log.warning(
            "model %s: this CPU has no instructions for %s, so the model is several times slower. Use dtype=float32",
            model,
            settings.dtype,
        )
    options = {"revision": revision or None, "trust_remote_code": settings.trust_remote_code}
    with explain_load_errors(model, revision, trusted=settings.trust_remote_code) as name:
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
        network: Any = AutoModelForCausalLM.from_pretrained(
            name,
            dtype=getattr(torch, settings.dtype.value),
            attn_implementation="sdpa",
            use_safetensors=has_safetensors(model, revision),
            **options,
        )
    if settings.adapter:
        from peft import PeftModel

        with explain_load_errors(settings.adapter, "", trusted=settings.trust_remote_code) as folder:
            network = PeftModel.from_pretrained(network, folder)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer, network.to(on_device).eval()
