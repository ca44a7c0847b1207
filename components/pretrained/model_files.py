"""The files of a pretrained model: where they are and how large. Nothing is downloaded, and no weights are read."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from math import prod
from pathlib import Path

from components.pretrained.model_folder import WEIGHTS, loading, local_folder


@dataclass(frozen=True)
class ModelFiles:
    """`n_parameters` is None where there are no weights in safetensors, which say it in their first bytes."""

    folder: Path
    n_bytes: int
    n_parameters: int | None


def model_files(model: str, revision: str) -> ModelFiles | None:
    """Those of a local folder, or of the hub's cache on this machine; None if the weights are not there."""
    folder = folder_here(model, revision)
    if folder is None or not any(True for pattern in WEIGHTS for _ in folder.rglob(pattern)):
        return None
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    weights = sorted(folder.rglob("*.safetensors"))
    return ModelFiles(folder, sum(sizes), sum(_parameters(weights)) if weights else None)


def folder_here(model: str, revision: str) -> Path | None:
    """The folder of a model's files, its own or that of the hub's cache; None if they are not on this machine. That of
    a local model may not exist.
    """
    return local_folder(model) or _cached(model, revision)


def has_safetensors(model: str, revision: str) -> bool:
    """What `use_safetensors` of transformers should be: False for a model that has its weights in *.bin alone, of which
    transformers reads tensors and no code. Asks the hub for the names of the files if they are not on this machine, and
    raises what the hub's client raises.
    """
    found = model_files(model, revision)
    if found is None and local_folder(model) is None:
        from huggingface_hub import HfApi

        return any(fnmatch(name, WEIGHTS[0]) for name in HfApi().list_repo_files(model, revision=revision))
    return found is None or any(True for _ in found.folder.rglob(WEIGHTS[0]))


@cache
def fetched_folder(model: str, revision: str, patterns: tuple[str, ...]) -> Path:
    """The folder with the files of a model whose names match: its own, or that of the hub's cache, into which they are
    fetched. Raises ComponentError.
    """
    folder = local_folder(model)
    if folder is not None:
        return folder
    with loading(model, revision) as name:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, revision=revision, allow_patterns=list(patterns)))


def _cached(model: str, revision: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, revision=revision or None, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):  # the latter for what can be no id
        return None


def _parameters(files: list[Path]) -> Iterator[int]:
    from safetensors import safe_open

    for file in files:
        with safe_open(file, framework="np") as tensors:
            yield sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118 - no mapping
