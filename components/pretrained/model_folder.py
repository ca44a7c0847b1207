"""Pretrained models: ids on the Hugging Face hub, or local folders."""

import hashlib
import importlib.util
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from components.errors import ComponentError, MissingExtraError
from components.pretrained.missing_weights import noting_missing_weights
from components.pretrained.remarks import without_remarks

WEIGHTS = ("*.safetensors", "*.bin")
"""Files of weights, the first kind that there is: *.bin is read by torch's loader of tensors, which runs no code."""

FOLDER_FIELDS = ("model", "adapter")
"""Fields that may name a local folder, whose content `content_hash` then stands for."""

_TOKENIZERS = ("tokenizer.json", "vocab*", "*.model", "*.tiktoken", "?*tokenizer_config.json")
"""Files of which a folder has one that says what its tokens are; the last is of models of single words."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


def local_folder(model: str) -> Path | None:
    """The folder that `model` names; None for an id of the hub, such as "owner/name".

    A folder is whatever exists as one, or is written as a path: absolute, beginning with "." or "~", or with more parts
    than an id. So the path of a folder that does not exist is never sent to the hub.
    """
    path = Path(model).expanduser()
    if model and (path.is_dir() or path.is_absolute() or model.startswith(".") or len(path.parts) > 2):
        return path
    return None


def model_mistakes(model: str, revision: str) -> list[str]:
    """What is wrong with the two fields that name a model. Nothing is loaded or downloaded to find out."""
    if not model:
        return ["model: is empty, expected an id of the Hugging Face hub or a local folder"]
    folder = local_folder(model)
    if folder is None:
        if _COMMIT.fullmatch(revision):
            return []
        wanted = f"revision: got {revision!r}, expected the commit of {model!r} (40 hex digits): branches and tags move"
        return [
            wanted if revision else f"{wanted}. If a local folder is meant: there is none at {Path(model).absolute()}"
        ]
    mistakes = []
    if revision:
        mistakes.append(f"revision: got {revision!r}, but {folder} is a local folder: set revision=''")
    if not folder.is_dir():
        mistakes.append(f"model: there is no folder {folder}")
    elif not any(True for pattern in WEIGHTS for _ in folder.rglob(pattern)):
        mistakes.append(f"model: {folder} has no weights ({' or '.join(WEIGHTS)})")
    return mistakes


def tokenizer_mistakes(model: str) -> list[str]:
    """A local folder with weights and no tokenizer. transformers makes one for it that knows no word, without a remark:
    every text would read like any other.
    """
    folder = local_folder(model)
    if folder is None or not folder.is_dir() or any(True for name in _TOKENIZERS for _ in folder.rglob(name)):
        return []
    return [f"model: {folder} has no tokenizer, e.g. {_TOKENIZERS[0]}; copy it from where the weights are from"]


def missing_packages(packages: Sequence[str], needed_by: str, extra: str = "models") -> list[MissingExtraError]:
    """One error, not raised, about all packages of an extra that are not installed; none if all are. Imports none."""
    missing = [name.replace("_", "-") for name in packages if importlib.util.find_spec(name) is None]
    return [MissingExtraError(missing, extra, needed_by)] if missing else []


def folder_hash(model: str) -> str:
    """SHA-256 (hex) of the names and contents of a local folder's files, hidden ones left out; "" for an id of the hub.

    Read once per process, and again if a file's size or time changes. Raises ComponentError if there is no such folder.
    """
    folder = local_folder(model)
    if folder is None:
        return ""
    if not folder.is_dir():
        raise ComponentError(f"model: there is no folder {folder}")
    stamps = []
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            status = file.stat()
            stamps.append((name.as_posix(), status.st_size, status.st_mtime_ns))
    return _hash(folder, tuple(stamps))


@cache
def _hash(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    whole = hashlib.sha256()
    for name, _, _ in stamps:
        with (folder / name).open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{content} {name}\0".encode())
    return whole.hexdigest()


@contextmanager
def loading(model: str, revision: str) -> Iterator[str]:
    """Yields the name to load; whatever goes wrong inside becomes a single ComponentError that says what to do, and so
    do weights that the model's files lack.
    """
    from transformers.utils import logging as transformers_logging

    folder = local_folder(model)
    transformers_logging.disable_progress_bar()  # it would cross the sweep's own
    try:
        with without_remarks(), noting_missing_weights() as missing:
            yield str(folder or model)
    except ComponentError:  # it says what to do
        raise
    except Exception as error:  # transformers, the hub, safetensors and torch share no exception class
        reason = str(error).strip().partition("\n")[0]
        advice = (
            f"expected a folder that save_pretrained wrote, with weights in {' or '.join(WEIGHTS)}"
            if folder
            else f"expected it at revision {revision!r} in the local cache or on the hub, with weights in "
            f"{' or '.join(WEIGHTS)}; without a network set `model` to a local folder that holds it"
        )
        raise ComponentError(
            f"model {model!r} cannot be loaded ({type(error).__name__}: {reason}): {advice}"
        ) from error
    if missing:
        raise ComponentError(
            f"model {model!r} lacks {len(missing)} of its weights, e.g. {missing[0]}, which would be random; "
            "expected a folder with all of them: is it a checkpoint of another kind of model, or a part of one?"
        )


def torch_device(device: str) -> str:
    """The device that "auto" stands for: the first GPU if there is one, else the CPU; other names stay as they are.

    Raises ComponentError if torch cannot use it.
    """
    import torch

    name = device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ComponentError(
            f"device: got {device!r}, expected auto or one that torch can use here ({reason})"
        ) from error
    return name
