"""What a training is told."""

from dataclasses import dataclass, field

from components.json_value import Json
from components.pretrained.chat_template import folder_template
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import missing_packages, model_mistakes, tokenizer_mistakes

PACKAGES = ("torch", "transformers", "peft", "trl", "datasets", "accelerate")


def _told(default: Json, in_words: str) -> Json:
    """A field with what the command line says of it."""
    return field(default=default, metadata={"help": in_words})


@dataclass(frozen=True)
class Settings:
    """`model` is an id on the Hugging Face hub, `revision` its commit; or a local folder, with revision "". A step
    learns from `batch_size` pairs, `at_once` of which are in memory together. `rank`, `alpha` and `dropout` are LoRA's
    (Hu et al. 2022, "LoRA"), on all linear layers. `max_length` is in tokens, None for the model's window. `dtype` is
    that of the model that is not trained; None for what suits the device.
    """

    model: str
    revision: str
    epochs: int = _told(3, "how often every pair is seen")
    learning_rate: float = _told(1e-4, "at the first step; it falls to 0 along a cosine")
    rank: int = _told(16, "of the adapter: vLLM serves 8, 16, 32, 64 and so on")
    alpha: int = _told(32, "the adapter's weight, times its rank")
    dropout: float = _told(0.05, "of what the adapter reads")
    batch_size: int = _told(16, "pairs that a step learns from")
    at_once: int = _told(1, "of these, in memory together")
    max_length: int | None = _told(None, "tokens of a pair; longer ones are left out (default: the model's window)")
    dtype: Dtype | None = _told(None, "of the model: float32, bfloat16, float16 (default: what suits the device)")
    device: str = _told("auto", "auto, cpu or cuda; one GPU, which CUDA_VISIBLE_DEVICES chooses")
    seed: int = _told(0, "of the adapter's first weights, the order of pairs and dropout")

    def check(self) -> list[str]:
        """Missing packages, a model that cannot be meant or has no chat template, numbers out of range."""
        mistakes = [
            str(error) for error in missing_packages(PACKAGES, "python -m runner.judge_training train", "train")
        ]
        mistakes += model_mistakes(self.model, self.revision) or tokenizer_mistakes(self.model) or self._no_template()
        whole = {"epochs": 1, "rank": 1, "alpha": 1, "batch_size": 1, "at_once": 1, "max_length": 1}
        for name, least in whole.items():
            if (value := getattr(self, name)) is not None and value < least:
                mistakes.append(f"{name}: got {value}, expected at least {least}")
        if self.device not in ("auto", "cpu", "cuda"):
            mistakes.append(
                f"device: got {self.device!r}, expected auto, cpu or cuda; CUDA_VISIBLE_DEVICES chooses one of several"
            )
        if not 0 < self.learning_rate < 1:
            mistakes.append(f"learning_rate: got {self.learning_rate}, expected a number between 0 and 1, such as 1e-4")
        if not 0 <= self.dropout < 1:
            mistakes.append(f"dropout: got {self.dropout}, expected 0 or more and less than 1")
        if self.at_once > 0 and self.batch_size % self.at_once:
            mistakes.append(f"at_once: got {self.at_once}, expected a divisor of batch_size={self.batch_size}")
        return mistakes

    def _no_template(self) -> list[str]:
        if folder_template(self.model) == "":
            return [f"model: {self.model!r} has no chat template; expected a model that was tuned for chats"]
        return []
