"""A pretrained model of natural language inference, which checks claims in place of a language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.judges.claim_checks import Check, Verdicts
from components.judges.claim_replies import ClaimVerdict, Support
from components.limits import too_small
from components.pretrained.load_once import load_once
from components.pretrained.model_files import sentence_transformers_options
from components.pretrained.model_folder import (
    checkpoint_problems,
    explain_load_errors,
    hash_folder,
    missing_package_errors,
    torch_device,
)

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_PACKAGES = ("sentence_transformers", "torch", "transformers")
_NEEDED_BY = "judge/entailment=cross_encoder"
_LABELS = {"entail": Support.SUPPORTED, "contradict": Support.CONTRADICTED, "neutral": Support.NEITHER}
"""Prefixes of the names that models give to the three labels."""


@dataclass(frozen=True)
class CrossEncoderEntailment:
    """A cross-encoder with the labels entailment, contradiction and neutral, which reads one passage and one claim.

    A claim is supported if any of the texts entails it, else contradicted if any contradicts it. So a claim that two
    passages support only together is not supported. Passage and claim together are cut to `max_length` tokens; the
    longer one is cut first. Equal pairs are read once. The model computes in float32. `model` is an id on the Hugging
    Face hub with its commit as `revision`, or a local folder with revision "". No code from the model's folder is run.
    """

    model: str
    revision: str = ""
    max_length: int = 512
    batch_size: int = runtime_only(32, "pairs are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model, and numbers that are too small."""
        problems = checkpoint_problems(self.model, self.revision, _PACKAGES, _NEEDED_BY)
        return problems + too_small(self, max_length=8, batch_size=1)

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def verdicts(self, checks: Sequence[Check]) -> list[Verdicts]:
        """Return one verdict per claim of each check, with the number of the deciding text as its reason.

        Raises ComponentError if the model cannot be loaded, or lacks one of the three labels.
        """
        pairs = list(dict.fromkeys((text, claim) for check in checks for text in check.texts for claim in check.claims))
        relations = dict(zip(pairs, self._relations(pairs), strict=True)) if pairs else {}
        return [
            tuple(_verdict([relations[text, claim] for text in check.texts]) for claim in check.claims)
            for check in checks
        ]

    def _relations(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        encoder = _load(self.model, self.revision, self.max_length, self.device)
        labels = _read_labels(self.model, encoder)
        scores: NDArray[np.float32] = encoder.predict(
            list(pairs), batch_size=self.batch_size, show_progress_bar=False, apply_softmax=True
        )
        if not np.isfinite(scores).all():
            raise ComponentError(
                f"model {self.model!r}: got NaN or infinite scores for "
                f"{int((~np.isfinite(scores)).any(axis=1).sum())} of {len(pairs)} pairs. Its weights are damaged. "
                "Download them again."
            )
        return [labels[column] for column in scores.argmax(axis=1).tolist()]


def _verdict(relations: Sequence[Support]) -> ClaimVerdict:
    """Return the strongest relation of several texts to a claim, with the number of the first text that has it."""
    for support in (Support.SUPPORTED, Support.CONTRADICTED):
        if support in relations:
            return ClaimVerdict(support, f"[{relations.index(support) + 1}]")
    return ClaimVerdict(Support.NEITHER)


def _read_labels(model: str, encoder: "CrossEncoder") -> list[Support]:
    """Return the meaning of each of the model's scores. Raises ComponentError unless it has each label once."""
    names = [str(name).lower() for _, name in sorted(encoder.config.id2label.items())]
    labels = [support for name in names for beginning, support in _LABELS.items() if name.startswith(beginning)]
    if sorted(labels) != sorted(Support) or len(names) != len(labels):
        raise ComponentError(
            f"model {model!r} has the labels {', '.join(names)}, expected entailment, contradiction and neutral: a "
            "cross-encoder that was trained for natural language inference"
        )
    return labels


@load_once
def _load(model: str, revision: str, max_length: int, device: str) -> "CrossEncoder":
    """Load the model, once per process. Raises ComponentError if a package is missing or the model cannot be loaded."""
    if missing := missing_package_errors(_PACKAGES, _NEEDED_BY):
        raise missing[0]
    import torch
    from sentence_transformers import CrossEncoder

    with explain_load_errors(model, revision) as name:
        encoder = CrossEncoder(
            name,
            device="cpu",
            revision=revision or None,
            trust_remote_code=False,
            # Weights in float16 would be computed in float16, which overflows in DeBERTa.
            model_kwargs={**sentence_transformers_options(model, revision), "dtype": torch.float32},
            activation_fn=torch.nn.Identity(),  # otherwise the model's files name a function of torch to call
        )
    encoder.max_seq_length = min(max_length, encoder.max_seq_length or max_length)
    on_device: CrossEncoder = encoder.to(torch_device(device)).eval()
    return on_device
