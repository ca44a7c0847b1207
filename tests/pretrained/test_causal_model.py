"""Sampling of tokens, and the size of batches. Texts of models are tested with the component."""

from math import exp
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from components.pretrained.causal_model import SamplingSettings, TokenSampler, max_batch_tokens
from tests.extras import skip_without
from tests.models.tiny import save_qwen2

skip_without("torch")

N_ROWS = 20_000
LOGITS = [2.0, 1.0, 0.0, -1.0, -20.0]


def softmax(logits: list[float], temperature: float = 1.0) -> list[float]:
    weights = [exp(logit / temperature) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def drawn_shares(temperature: float, top_p: float) -> list[float]:
    """Return the share of each token."""
    import torch

    draw = TokenSampler(SamplingSettings(temperature, top_p, 1, ()), [str(row) for row in range(N_ROWS)])
    scores = draw(torch.zeros((N_ROWS, 1)), torch.tensor(LOGITS).expand(N_ROWS, -1))
    assert (torch.isfinite(scores).sum(dim=1) == 1).all()
    return (torch.bincount(scores.argmax(dim=1), minlength=len(LOGITS)) / N_ROWS).tolist()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_drawn_token_shares_equal_the_model_probabilities(temperature: float) -> None:
    assert drawn_shares(temperature, 1.0) == pytest.approx(softmax(LOGITS, temperature), abs=0.015)


def test_top_p_keeps_the_likeliest_tokens_that_reach_the_share() -> None:
    wanted = softmax(LOGITS[:2])  # 64 % and 24 %: together more than 80 %
    assert drawn_shares(1.0, 0.8) == pytest.approx([*wanted, 0.0, 0.0, 0.0], abs=0.015)


def test_consecutive_draws_use_different_random_numbers() -> None:
    import torch

    draw = TokenSampler(SamplingSettings(1.0, 1.0, 1, ()), ["a"])
    assert len({int(draw(torch.zeros((1, 1)), torch.zeros((1, 100))).argmax()) for _ in range(5)}) > 1


class OnDevice(NamedTuple):
    """The properties of a model that determine the batch size: configuration, dtype and device."""

    config: object
    dtype: object
    device: object


@pytest.fixture
def config(tmp_path: Path) -> object:
    """Configuration of a model with 2 layers, 2 key-value heads of 16 dimensions each, and 64 inner dimensions."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(save_qwen2(tmp_path))


@pytest.mark.parametrize(
    ("free_bytes", "n_tokens"),
    [
        pytest.param(1_024 * 10_000, 6_000, id="60 % of the free memory, at 4 x (2 x 2 x 2 x 16 + 2 x 64) bytes"),
        pytest.param(1_000, 4_096, id="hardly any"),
        pytest.param(10**12, 131_072, id="more than helps"),
    ],
)
def test_gpu_batch_fits_into_the_free_memory(
    monkeypatch: pytest.MonkeyPatch, config: object, free_bytes: int, n_tokens: int
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free_bytes, 10**12))
    network = OnDevice(config, torch.float32, SimpleNamespace(type="cuda"))
    assert max_batch_tokens(network) == n_tokens


def test_cpu_batch_has_4096_tokens(config: object) -> None:
    import torch

    assert max_batch_tokens(OnDevice(config, torch.float32, torch.device("cpu"))) == 4096
