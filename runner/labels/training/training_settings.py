"""Settings of a training, with their descriptions on the command line and their limits."""

from dataclasses import dataclass, field

from components.json_value import Json
from components.pretrained.chat_template import folder_template
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import missing_package_errors, model_problems, tokenizer_problems

PACKAGES = ("torch", "transformers", "peft", "trl", "datasets", "accelerate")


def _option(default: Json, display_name: str) -> Json:
    """Return a field with its description for the command line."""
    return field(default=default, metadata={"help": display_name})


def _flag(name: str) -> str:
    """Return the name of a setting on the command line."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Settings:
    """Settings of a training.

    `model` is an id on the Hugging Face hub and `revision` its commit, or a local folder with revision "". A step
    learns from `batch_size` pairs. `micro_batch_size` pairs are in memory together. `rank`, `alpha` and
    `dropout` are LoRA's (Hu et al. 2022, "LoRA"), on all linear layers. `max_length` is in tokens, None for the model's
    window. `dtype` is the type of the frozen model, None for the default of the device.
    """

    model: str
    revision: str
    epochs: int = _option(3, "passes over all pairs")
    learning_rate: float = _option(1e-4, "learning rate of the first step; it decays to 0 along a cosine")
    rank: int = _option(16, "rank of the adapter; vLLM serves 8, 16, 32, 64 and so on")
    alpha: int = _option(32, "LoRA's alpha: the adapter is scaled by alpha / rank")
    dropout: float = _option(0.05, "dropout of the input of the adapter")
    batch_size: int = _option(16, "pairs per step")
    micro_batch_size: int = _option(1, "pairs in memory at a time; gradients accumulate to --batch-size")
    max_length: int | None = _option(None, "tokens of a pair; longer pairs are left out (default: the model's window)")
    dtype: Dtype | None = _option(
        None, "type of the frozen model: float32, bfloat16 or float16 (default: depends on the device)"
    )
    device: str = _option("auto", "device: auto, cpu or cuda; CUDA_VISIBLE_DEVICES chooses the GPU")
    seed: int = _option(0, "seed of the adapter's initial weights, the order of pairs and dropout")

    def check(self) -> list[str]:
        """Return error messages for missing packages, a model that is invalid or lacks a chat template, and numbers out
        of range.
        """
        problems = [
            str(error) for error in missing_package_errors(PACKAGES, "python -m runner.judge_training train", "train")
        ]
        problems += (
            model_problems(self.model, self.revision) or tokenizer_problems(self.model) or self._template_errors()
        )
        whole = {"epochs": 1, "rank": 1, "alpha": 1, "batch_size": 1, "micro_batch_size": 1, "max_length": 1}
        for name, least in whole.items():
            if (value := getattr(self, name)) is not None and value < least:
                problems.append(f"{_flag(name)}: got {value:,}, expected at least {least}")
        if self.device not in ("auto", "cpu", "cuda"):
            problems.append(
                f"--device: got {self.device!r}, expected auto, cpu or cuda. "
                "CUDA_VISIBLE_DEVICES selects one of several GPUs."
            )
        if not 0 < self.learning_rate < 1:
            problems.append(f"--learning-rate: got {self.learning_rate}, expected a number in (0, 1), such as 1e-4")
        if not 0 <= self.dropout < 1:
            problems.append(f"--dropout: got {self.dropout}, expected a number in [0, 1)")
        if self.micro_batch_size > 0 and self.batch_size % self.micro_batch_size:
            problems.append(
                f"--micro-batch-size: got {self.micro_batch_size}, expected a divisor of --batch-size={self.batch_size}"
            )
        return problems

    def _template_errors(self) -> list[str]:
        if folder_template(self.model) == "":
            return [f"--model: {self.model!r} has no chat template, expected a chat model"]
        return []
