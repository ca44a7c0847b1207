"""Sampling of tokens. Texts of models are tested with the component."""

from math import exp

import pytest

from components.pretrained.causal_model import Draw, Drawing
from tests.extras import skip_without

skip_without("torch")

N_ROWS = 20_000
LOGITS = [2.0, 1.0, 0.0, -1.0, -20.0]


def softmax(logits: list[float], temperature: float = 1.0) -> list[float]:
    weights = [exp(logit / temperature) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def drawn_shares(temperature: float, top_p: float) -> list[float]:
    """Return the share of each token."""
    import torch

    draw = Draw(Drawing(temperature, top_p, 1, ()), [str(row) for row in range(N_ROWS)])
    scores = draw(torch.zeros((N_ROWS, 1)), torch.tensor(LOGITS).expand(N_ROWS, -1))
    assert (torch.isfinite(scores).sum(dim=1) == 1).all()
    return (torch.bincount(scores.argmax(dim=1), minlength=len(LOGITS)) / N_ROWS).tolist()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_the_model_says(temperature: float) -> None:
    assert drawn_shares(temperature, 1.0) == pytest.approx(softmax(LOGITS, temperature), abs=0.015)


def test_top_p_keeps_the_likeliest_that_reach_it() -> None:
    wanted = softmax(LOGITS[:2])  # 64 % and 24 %: together more than 80 %
    assert drawn_shares(1.0, 0.8) == pytest.approx([*wanted, 0.0, 0.0, 0.0], abs=0.015)


def test_the_next_token_has_another_random_number() -> None:
    import torch

    draw = Draw(Drawing(1.0, 1.0, 1, ()), ["a"])
    assert len({int(draw(torch.zeros((1, 1)), torch.zeros((1, 100))).argmax()) for _ in range(5)}) > 1
