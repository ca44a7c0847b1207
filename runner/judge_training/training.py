"""Trains a LoRA adapter on the prepared pairs: TRL's SFTTrainer, with PEFT."""

import hashlib
import json
import math
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from components.errors import ComponentError, ConfigError, DataError
from components.json_value import Json
from components.pretrained.dtype import Dtype
from components.pretrained.model_files import has_safetensors
from components.pretrained.model_folder import folder_hash, loading, torch_device
from components.pretrained.remarks import without_remarks
from runner.judge_training.examples import Examples, examples_of
from runner.judge_training.prepared import read_manifest, read_pairs
from runner.judge_training.settings import PACKAGES, Settings
from runner.judge_training.trained import CHECKPOINTS, Training, begun, finish

_WEIGHTS = "adapter_model.safetensors"


def train(settings: Settings, data: Path, folder: Path, *, strict: bool) -> Training:
    """Trains on the prepared labels in `data`, and keeps the epoch with the least loss on the validation split (the
    last one without such a split). One that was killed goes on from its last epoch; one that ended is read.

    On a CPU the same settings give the same bytes, interrupted or not. Raises ConfigError for settings that make no
    sense and, with `strict`, for pairs that are too long; DataError if nothing is left to learn from.
    """
    if mistakes := settings.check():
        raise ConfigError(mistakes)
    manifest = read_manifest(data)
    device = torch_device(settings.device)
    dtype = settings.dtype or _suiting(device)
    asked = {**asdict(settings), "dtype": dtype.value, "content": folder_hash(settings.model), "data": manifest.key}
    with loading(settings.model, settings.revision) as name:
        from transformers import AutoConfig, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(name, revision=settings.revision or None)
        config = AutoConfig.from_pretrained(name, revision=settings.revision or None).get_text_config()
    if not tokenizer.chat_template:
        raise ConfigError(f"model: {settings.model!r} has no chat template; wanted a model that was tuned for chats")
    window = int(getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length)
    max_length = min(settings.max_length or window, window)
    learned, validated = (
        examples_of(read_pairs(data, split), tokenizer, max_length) for split in ("train", "validation")
    )
    too_long = (*learned.too_long, *validated.too_long)
    if too_long and strict:
        raise ConfigError(f"--strict: {len(too_long)} pairs have more than {max_length} tokens, e.g. {too_long[0]}")
    if not learned.rows:
        raise DataError(
            f"{data}: none of {len(learned.too_long)} training pairs has {max_length} tokens or fewer; wanted some: "
            "give a larger --max-length, or a model with a larger window"
        )
    if ended := begun(folder, asked):
        return ended
    checkpoints = folder / CHECKPOINTS
    with without_remarks():
        trainer = _trainer(settings, tokenizer, device, dtype, learned, validated, checkpoints)
        _run(trainer, checkpoints, settings.at_once)
        saved = _saved(trainer, folder / ".adapter")
    losses = _losses(trainer.state.log_history)
    training = Training(
        settings=asked,
        n_pairs={"train": len(learned.rows), "validation": len(validated.rows)},
        too_long=too_long,
        losses=losses,
        kept=_kept(losses),
        adapter_sha256=hashlib.sha256((saved / _WEIGHTS).read_bytes()).hexdigest(),
        versions={package: version(package) for package in PACKAGES},
    )
    finish(folder, training, saved)
    return training


def _suiting(device: str) -> Dtype:
    import torch

    is_fit = device.startswith("cuda") and torch.cuda.is_bf16_supported()
    return Dtype.BFLOAT16 if is_fit else Dtype.FLOAT32


def _trainer(
    settings: Settings,
    tokenizer: Any,
    device: str,
    dtype: Dtype,
    learned: Examples,
    validated: Examples,
    checkpoints: Path,
) -> Any:
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, PrinterCallback, set_seed
    from trl import SFTConfig, SFTTrainer

    set_seed(settings.seed)  # before the adapter is drawn
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    with loading(settings.model, settings.revision) as name:
        network = AutoModelForCausalLM.from_pretrained(
            name,
            revision=settings.revision or None,
            dtype=getattr(torch, dtype.value),
            attn_implementation="sdpa",
            use_safetensors=has_safetensors(settings.model, settings.revision),
        )
    on_cpu = device == "cpu"
    per_epoch = "epoch" if validated.rows else "no"
    arguments = SFTConfig(
        output_dir=str(checkpoints),
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        per_device_train_batch_size=settings.at_once,
        per_device_eval_batch_size=settings.at_once,
        gradient_accumulation_steps=settings.batch_size // settings.at_once,
        gradient_checkpointing=not on_cpu,
        max_length=None,  # nothing is cut: what is too long was left out
        bf16=dtype is Dtype.BFLOAT16 and not on_cpu,
        use_cpu=on_cpu,
        dataloader_pin_memory=not on_cpu,
        seed=settings.seed,
        data_seed=settings.seed,
        logging_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        eval_strategy=per_epoch,
        load_best_model_at_end=bool(validated.rows),
        metric_for_best_model="eval_loss" if validated.rows else None,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=not sys.stderr.isatty(),
    )
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # all that it sees would each learn from a batch of their own, at every step
    trainer = SFTTrainer(
        network,
        args=arguments,
        train_dataset=Dataset.from_list(list(learned.rows)),
        eval_dataset=Dataset.from_list(list(validated.rows)) if validated.rows else None,
        processing_class=tokenizer,
        peft_config=LoraConfig(
            r=settings.rank,
            lora_alpha=settings.alpha,
            lora_dropout=settings.dropout,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
            revision=settings.revision or None,
        ),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _run(trainer: Any, checkpoints: Path, at_once: int) -> None:
    import torch

    try:
        trainer.train(resume_from_checkpoint=_last_whole(checkpoints))
    except torch.OutOfMemoryError as error:
        raise ComponentError(
            f"at_once: {at_once} pairs at once do not fit into memory ({str(error).partition('. ')[0]}); wanted fewer, "
            "a smaller --max-length, or a smaller model"
        ) from error
    losses = [entry[name] for entry in trainer.state.log_history for name in ("loss", "eval_loss") if name in entry]
    if not all(math.isfinite(float(loss)) for loss in losses):
        raise ComponentError(
            f"learning_rate: the loss is no finite number any more ({losses[-1]}); wanted a smaller one, in another "
            "folder"
        )


def _last_whole(checkpoints: Path) -> str | None:
    """The last checkpoint that was written to its end, which is the trainer's state; None if there is none."""
    folders = sorted(checkpoints.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for folder in reversed(folders):
        try:
            json.loads((folder / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return str(folder)
    return None


def _saved(trainer: Any, folder: Path) -> Path:
    """The adapter alone, in a folder whose bytes do not depend on the order of a set."""
    shutil.rmtree(folder, ignore_errors=True)
    trainer.model.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)  # a form to fill in
    path = folder / "adapter_config.json"
    config: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))
    config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return folder


def _losses(history: list[Mapping[str, Any]]) -> tuple[tuple[float, float | None], ...]:
    """By epoch, of training and of the validation split."""
    trained = [float(entry["loss"]) for entry in history if "loss" in entry]
    validated: list[float | None] = [float(entry["eval_loss"]) for entry in history if "eval_loss" in entry]
    return tuple(zip(trained, validated or [None] * len(trained), strict=True))


def _kept(losses: tuple[tuple[float, float | None], ...]) -> int:
    validated = [loss for _, loss in losses if loss is not None]
    return validated.index(min(validated)) + 1 if validated else len(losses)
