"""Location and size of a pretrained model's files, found without downloading or reading weights."""

from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from math import prod
from pathlib import Path

from components.pretrained.model_folder import WEIGHTS, local_folder, open_model_files


@dataclass(frozen=True)
class ModelFiles:
    """Files of a model. `n_parameters` is None unless the weights are in undamaged safetensors, which state it at
    the start.
    """

    folder: Path
    n_bytes: int
    n_parameters: int | None


def model_files(model: str, revision: str) -> ModelFiles | None:
    """Return the files in a local folder or in the hub's cache, None if this machine does not have the weights."""
    folder = find_model_folder(model, revision)
    if folder is None or not any(True for pattern in WEIGHTS for _ in folder.rglob(pattern)):
        return None
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    weights = sorted(folder.rglob("*.safetensors"))
    return ModelFiles(folder, sum(sizes), _n_parameters(weights) if weights else None)


def find_model_folder(model: str, revision: str) -> Path | None:
    """Return the model's local folder, or its folder in the hub's cache; None if the model is not on this machine.

    The folder of a local model may not exist.
    """
    return local_folder(model) or _find_cached(model, revision)


def has_safetensors(model: str, revision: str) -> bool:
    """Return the value for `use_safetensors` of transformers.

    It is False if a model's weights exist only in *.bin, from which transformers reads tensors and no code. If the
    files are not on this machine, it asks the hub for their names, and raises the errors of the hub's client.
    """
    files = model_files(model, revision)
    if files is None and local_folder(model) is None:
        from huggingface_hub import HfApi

        return any(fnmatch(name, WEIGHTS[0]) for name in HfApi().list_repo_files(model, revision=revision))
    return files is None or any(True for _ in files.folder.rglob(WEIGHTS[0]))


def sentence_transformers_options(model: str, revision: str) -> dict[str, bool]:
    """Return the options with which sentence-transformers reads the weights of a model.

    They replace options in the model's own files, which could otherwise have its weights unpickled, and so run code.
    """
    return {"use_safetensors": has_safetensors(model, revision), "weights_only": True}


@cache
def fetch_folder(model: str, revision: str, patterns: tuple[str, ...]) -> Path:
    """Return the folder with the files of a model that match the patterns, downloaded to the hub's cache if necessary.

    A local folder is returned as it is. Raises ComponentError if the files cannot be downloaded.
    """
    folder = local_folder(model)
    if folder is not None:
        return folder
    with open_model_files(model, revision) as name:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, revision=revision, allow_patterns=list(patterns)))


def _find_cached(model: str, revision: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, revision=revision or None, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):  # the latter for an invalid id
        return None


def _n_parameters(files: list[Path]) -> int | None:
    """Return the number of parameters. None if a file is damaged, which loading the model reports."""
    from safetensors import SafetensorError, safe_open

    n = 0
    for file in files:
        try:
            with safe_open(file, framework="np") as tensors:
                n += sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118 - no mapping
        except (OSError, SafetensorError):
            return None
    return n
