"""Trains an adapter with TRL's SFTTrainer and PEFT's LoRA."""

import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

from components.errors import ComponentError
from components.json_value import Json
from components.pretrained.dtype import Dtype
from components.pretrained.model_files import has_safetensors
from components.pretrained.model_folder import explain_load_errors
from runner.labels.training.training_examples import TrainingSets
from runner.labels.training.training_settings import Settings

_STATE = "trainer_state.json"
"""The file of a checkpoint that the trainer writes last."""


def make_trainer(settings: Settings, training_sets: TrainingSets, checkpoints: Path) -> Any:
    """Return a trainer that has not started, with its initialized adapter. `device` and `dtype` of the settings are
    resolved.
    """
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import PrinterCallback, set_seed
    from trl import SFTConfig, SFTTrainer

    set_seed(settings.seed)  # the adapter's initialization depends on the seed
    tokenizer, validated = training_sets.tokenizer, training_sets.validated.rows
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    on_cpu = settings.device == "cpu"
    arguments = SFTConfig(
        output_dir=str(checkpoints),
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        per_device_train_batch_size=settings.micro_batch_size,
        per_device_eval_batch_size=settings.micro_batch_size,
        gradient_accumulation_steps=settings.batch_size // settings.micro_batch_size,
        gradient_checkpointing=not on_cpu,
        max_length=None,  # nothing is truncated: pairs that are too long were left out
        bf16=settings.dtype is Dtype.BFLOAT16 and not on_cpu,
        fp16=settings.dtype is Dtype.FLOAT16 and not on_cpu,
        use_cpu=on_cpu,
        dataloader_pin_memory=not on_cpu,
        seed=settings.seed,
        data_seed=settings.seed,
        logging_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        eval_strategy="epoch" if validated else "no",
        load_best_model_at_end=bool(validated),
        metric_for_best_model="eval_loss" if validated else None,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=not sys.stderr.isatty(),
    )
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # otherwise each visible GPU would process a separate batch at every step
    trainer = SFTTrainer(
        _network(settings),
        args=arguments,
        train_dataset=Dataset.from_list(list(training_sets.learned.rows)),
        eval_dataset=Dataset.from_list(list(validated)) if validated else None,
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


def _network(settings: Settings) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    with explain_load_errors(settings.model, settings.revision) as name:
        return AutoModelForCausalLM.from_pretrained(
            name,
            revision=settings.revision or None,
            dtype=getattr(torch, str(settings.dtype)),
            attn_implementation="sdpa",
            use_safetensors=has_safetensors(settings.model, settings.revision),
        )


def run(trainer: Any, checkpoints: Path, micro_batch_size: int) -> None:
    """Train from the last checkpoint, or from the start if there is no checkpoint.

    Raises ComponentError if `micro_batch_size` pairs do not fit in memory, or if the loss is not finite.
    """
    import torch

    try:
        trainer.train(resume_from_checkpoint=_last_complete_checkpoint(checkpoints))
    except torch.OutOfMemoryError as error:
        raise ComponentError(
            f"--micro-batch-size: {micro_batch_size:,} pairs do not fit in memory together "
            f"({str(error).partition('. ')[0]}). Set a smaller --micro-batch-size or --max-length, or choose a smaller "
            "model."
        ) from error
    losses = [entry[name] for entry in trainer.state.log_history for name in ("loss", "eval_loss") if name in entry]
    if not all(math.isfinite(float(loss)) for loss in losses):
        raise ComponentError(
            f"--learning-rate: the loss is no longer finite ({losses[-1]}). Set a smaller rate, and train "
            "into another folder."
        )


def _last_complete_checkpoint(checkpoints: Path) -> str | None:
    """Return the last complete checkpoint, or None. A checkpoint is complete if it has the trainer's state."""
    folders = sorted(checkpoints.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for folder in reversed(folders):
        try:
            json.loads((folder / _STATE).read_text(encoding="utf-8"))
        except (OSError, RecursionError, ValueError):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return str(folder)
    return None


def save_adapter(trainer: Any, folder: Path) -> Path:
    """Save only the adapter. The bytes do not depend on the order of a set."""
    shutil.rmtree(folder, ignore_errors=True)
    trainer.model.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)  # the library writes a template to fill in
    path = folder / "adapter_config.json"
    config: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))
    config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return folder
