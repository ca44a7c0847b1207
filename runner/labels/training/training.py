"""Trains a judge: reads a folder of prepared labels and writes a folder with the adapter."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

from components.errors import ConfigError, DataError
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import hash_folder, open_model_files, torch_device
from components.pretrained.package_logs import hide_deprecation_warnings
from runner.engine.store.locks import hold_lock
from runner.labels.training.prepared_folder import read_manifest, read_pairs
from runner.labels.training.trained_judge import CHECKPOINTS, Training, begin_training, finish
from runner.labels.training.trainer import make_trainer, run, save_adapter
from runner.labels.training.training_examples import TrainingSets, make_examples
from runner.labels.training.training_settings import PACKAGES, Settings

_WEIGHTS = "adapter_model.safetensors"


def train(settings: Settings, data: Path, folder: Path, *, strict: bool) -> Training:
    """Train on the prepared labels in `data`, and keep the epoch with the least validation loss.

    Without a validation split, the last epoch is kept. A training that was killed continues after its last epoch. If
    the training has ended, its result is read. On a CPU, the same settings give the same bytes, interrupted or not.

    Raises ConfigError for invalid settings and, with `strict`, for pairs that are too long. Raises DataError if no pair
    is left, ComponentError if the model cannot be loaded or trained.
    """
    if problems := settings.check():
        raise ConfigError(problems)
    manifest = read_manifest(data)
    device = torch_device(settings.device)
    settings = replace(settings, device=device, dtype=settings.dtype or _default_dtype(device))
    training_sets = _build_training_sets(settings, data)
    if training_sets.too_long and strict:
        raise ConfigError(
            f"--strict: {len(training_sets.too_long)} pairs are longer than the model's window or --max-length, e.g. "
            f"{training_sets.too_long[0]}"
        )
    full_settings = {
        **asdict(settings),
        "dtype": str(settings.dtype),
        "content": hash_folder(settings.model),
        "data": manifest.key,
    }
    folder = folder.resolve()
    if ended := begin_training(folder, full_settings):
        return ended
    with hold_lock(folder / CHECKPOINTS / ".lock", "training this judge"), hide_deprecation_warnings():
        if ended := begin_training(folder, full_settings):
            return ended  # the process that held the lock has trained the judge
        trainer = make_trainer(settings, training_sets, folder / CHECKPOINTS)
        run(trainer, folder / CHECKPOINTS, settings.micro_batch_size)
        saved = save_adapter(trainer, folder / ".adapter")
        losses = _losses(trainer.state.log_history)
        training = Training(
            settings=full_settings,
            n_pairs={"train": len(training_sets.learned.rows), "validation": len(training_sets.validated.rows)},
            too_long=training_sets.too_long,
            losses=losses,
            kept=_best_epoch(losses),
            adapter_sha256=hashlib.sha256((saved / _WEIGHTS).read_bytes()).hexdigest(),
            versions={package: version(package) for package in PACKAGES},
        )
        finish(folder, training, saved)
    return training


def _default_dtype(device: str) -> Dtype:
    import torch

    is_fit = device.startswith("cuda") and torch.cuda.is_bf16_supported()
    return Dtype.BFLOAT16 if is_fit else Dtype.FLOAT32


def _build_training_sets(settings: Settings, data: Path) -> TrainingSets:
    """Return the pairs as tokens of the model."""
    with open_model_files(settings.model, settings.revision) as name:
        from transformers import AutoConfig, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(name, revision=settings.revision or None)
        config = AutoConfig.from_pretrained(name, revision=settings.revision or None).get_text_config()
    if not tokenizer.chat_template:
        raise ConfigError(f"model: {settings.model!r} has no chat template, expected a chat model")
    window = int(getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length)
    max_length = min(settings.max_length or window, window)
    learned, validated = (
        make_examples(read_pairs(data, split), tokenizer, max_length) for split in ("train", "validation")
    )
    if not learned.rows:
        raise DataError(
            f"{data}: none of {len(learned.too_long)} training pairs has {max_length} tokens or fewer. Use a larger "
            "--max-length, or a model with a larger window."
        )
    return TrainingSets(tokenizer, learned, validated)


def _losses(history: list[Mapping[str, float]]) -> tuple[tuple[float, float | None], ...]:
    """Return the training loss and the validation loss of each epoch."""
    trained = [float(entry["loss"]) for entry in history if "loss" in entry]
    validated: list[float | None] = [float(entry["eval_loss"]) for entry in history if "eval_loss" in entry]
    return tuple(zip(trained, validated or [None] * len(trained), strict=True))


def _best_epoch(losses: tuple[tuple[float, float | None], ...]) -> int:
    validated = [loss for _, loss in losses if loss is not None]
    return validated.index(min(validated)) + 1 if validated else len(losses)
