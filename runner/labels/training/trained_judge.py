"""The folder of a trained judge:

    settings.json      the requested settings; written first, so that the same command continues after a kill
    checkpoints/       until the training has ended
    adapter/           the LoRA adapter, as PEFT saves it
    conf/llm/          options of `llm` that use it
    manifest.json      the result; written last

Use it with `--config-dir FOLDER/conf llm@judge.llm=trained_judge`, or `trained_judge_vllm`.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from components.errors import ConfigError, DataError
from components.json_value import Json
from runner.console.written_files import write_lines

ADAPTER, CHECKPOINTS = "adapter", "checkpoints"
_SETTINGS, _MANIFEST = "settings.json", "manifest.json"
_RANKS_OF_VLLM = (8, 16, 32, 64, 128, 256, 320, 512)


@dataclass(frozen=True)
class Training:
    """The result of a training.

    `settings` are those in `settings.json`, such as `model`, `revision`, `dtype` and `data` (the key of the prepared
    labels). `losses` are the mean training loss and the validation loss (None if there is no validation split) of each
    epoch, in nats per token of the replies. The adapter is from epoch `kept`, counted from 1. `too_long` are the pairs
    that were left out.
    """

    settings: Mapping[str, Json]
    n_pairs: Mapping[str, int]
    too_long: tuple[str, ...]
    losses: tuple[tuple[float, float | None], ...]
    kept: int
    adapter_sha256: str
    versions: Mapping[str, str]


def begin_training(folder: Path, settings: Mapping[str, Json]) -> Training | None:
    """Begin a training in a folder or continue it. Return its result if it has already ended.

    Raises ConfigError for a folder with another training or with other contents.
    """
    text = json.dumps(settings, ensure_ascii=False, indent=2)
    file = folder / _SETTINGS
    try:
        if file.is_file():
            _require_same(folder, json.loads(file.read_text(encoding="utf-8")), json.loads(text))
            if (folder / _MANIFEST).is_file():
                return read_training(folder)
        elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"--out: {folder} exists and is not from an earlier training run. Choose another folder.")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            write_lines(file, [text])
        (folder / CHECKPOINTS).mkdir(exist_ok=True)
    except (OSError, RecursionError, ValueError) as error:
        raise DataError(f"{folder}: cannot be used ({error}). Choose another folder.") from error
    return None


def finish(folder: Path, training: Training, saved: Path) -> None:
    """Move the saved adapter to its place, write the options and the manifest, and delete the checkpoints."""
    shutil.rmtree(folder / ADAPTER, ignore_errors=True)
    saved.rename(folder / ADAPTER)
    options = folder / "conf" / "llm"
    options.mkdir(parents=True, exist_ok=True)
    for name, text in _options(training.settings, (folder / ADAPTER).resolve()).items():
        write_lines(options / name, [text])
    write_lines(folder / _MANIFEST, [json.dumps(asdict(training), ensure_ascii=False, indent=2)])
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def read_training(folder: Path) -> Training:
    """Return a finished training. Raises DataError if the folder has none."""
    try:
        record: dict[str, Json] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        fields: dict[str, Json] = {**record, "too_long": tuple(record["too_long"]), "losses": _pairs(record["losses"])}
        return Training(**fields)
    except (OSError, RecursionError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{folder}: contains no trained judge ({error}), expected a folder in which `python -m "
            "runner.judge_training train` has ended. Run its command again."
        ) from error


def _pairs(losses: list[list[float | None]]) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(each) for each in losses)


def _require_same(folder: Path, present: Mapping[str, Json], requested: Mapping[str, Json]) -> None:
    differences = [
        f"{name} is {present.get(name)!r} in the folder, {value!r} now"
        for name, value in requested.items()
        if present.get(name) != value
    ]
    if differences:
        raise ConfigError(
            f"--out: {folder} contains another training ({'; '.join(differences)}). Choose another folder."
        )


def llm_fields(settings: Mapping[str, Json], adapter: str, llm: str) -> dict[str, Json]:
    """Return the fields of `llm=transformers` or `llm=vllm` that run the model with an adapter, "" for none."""
    model = {"model": settings["model"], "revision": settings["revision"], "adapter": adapter}
    if llm == "transformers":
        return {**model, "dtype": settings["dtype"]}
    max_rank = next((rank for rank in _RANKS_OF_VLLM if rank >= settings["rank"]), settings["rank"])
    return {**model, "arguments": f"--max-lora-rank {max_rank}"}


def _options(settings: Mapping[str, Json], adapter: Path) -> dict[str, str]:
    """Return the YAML files by name that run the judge in this process and in a vLLM server."""
    texts = {}
    for name, llm in (("trained_judge.yaml", "transformers"), ("trained_judge_vllm.yaml", "vllm")):
        option = {"defaults": [llm, "_self_"], **llm_fields(settings, str(adapter), llm)}
        yaml_text = yaml.safe_dump(option, sort_keys=False, allow_unicode=True)
        texts[name] = f"# A judge trained on human labels, run by {llm}.\n{yaml_text}".rstrip("\n")
    return texts
