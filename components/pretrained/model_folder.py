"""Pretrained models: ids on the Hugging Face hub, or local folders."""

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from components.errors import ComponentError, MissingExtraError
from components.identified_files import note_identified
from components.pretrained.hub_address import hub_problems
from components.pretrained.package_logs import collect_missing_weights, hide_deprecation_warnings
from components.pretrained.remote_code import (
    KernelRefused,
    block_kernel_downloads,
    disable_trust_prompt,
    files_naming_modules,
    refuse_activations,
    refuse_kernels,
)

WEIGHTS = ("*.safetensors", "*.bin")
"""Patterns of weight files, in order of preference. torch's tensor loader reads *.bin, and runs no code from it."""

FOLDER_FIELDS = ("model", "adapter")
"""Fields that may name a local folder. `content_hash` then covers its content."""

Stamps = tuple[tuple[str, int, int], ...]

_TOKENIZERS = ("tokenizer.json", "vocab*", "*.model", "*.tiktoken", "?*tokenizer_config.json")
"""Files that define the tokens of a model; a folder has at least one. The last is for models of single words."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


def local_folder(model: str) -> Path | None:
    """Return the folder that `model` names, None for a hub id such as "owner/name".

    A value counts as a folder if the folder exists, or if it is written as a path: absolute, beginning with "." or "~",
    or with more parts than an id. The path of a missing folder is therefore never sent to the hub.
    """
    path = Path(model).expanduser()
    if model and (path.is_dir() or path.is_absolute() or model.startswith(".") or len(path.parts) > 2):
        return path
    return None


def model_problems(model: str, revision: str) -> list[str]:
    """Return one message per error in the two fields that name a model. Neither loads nor downloads anything."""
    if not model:
        return ["model: is empty, expected an id of the Hugging Face hub or a local folder"]
    folder = local_folder(model)
    if folder is None:
        if _COMMIT.fullmatch(revision):
            return hub_problems()
        got = f"revision: got {revision!r}, expected the commit of {model!r} (40 hex digits): branches and tags move"
        return [got if revision else f"{got}. If a local folder is meant: {Path(model).absolute()} does not exist"]
    problems = []
    if revision:
        problems.append(f"revision: got {revision!r}, but {folder} is a local folder. Set revision=''.")
    if not folder.is_dir():
        problems.append(f"model: the folder {folder} does not exist")
    elif not _contains(folder, WEIGHTS):
        problems.append(f"model: {folder} has no weights ({' or '.join(WEIGHTS)})")
    elif (base := _adapter_base(folder)) and not Path(base).is_dir():
        problems.append(
            f"model: {folder} is an adapter of {base!r}, which is not a local folder, so another version of it may be "
            "loaded. Merge the adapter into the model (merge_and_unload), or name a folder as base_model_name_or_path "
            "in its adapter_config.json."
        )
    return problems


def tokenizer_problems(model: str) -> list[str]:
    """Return an error message for a local folder with weights but without a tokenizer.

    transformers silently creates a tokenizer without any words for it, so that all texts would look the same.
    """
    folder = local_folder(model)
    if folder is None or not folder.is_dir() or _contains(folder, _TOKENIZERS):
        return []
    return [f"model: {folder} has no tokenizer, e.g. {_TOKENIZERS[0]}. Copy it from the source of the weights."]


def checkpoint_problems(model: str, revision: str, packages: Sequence[str], needed_by: str) -> list[str]:
    """Return error messages about missing packages, and about a model or its tokenizer that cannot be used."""
    problems = model_problems(model, revision) or tokenizer_problems(model)
    return [*map(str, missing_package_errors(packages, needed_by)), *problems]


def missing_package_errors(packages: Sequence[str], needed_by: str, extra: str = "models") -> list[MissingExtraError]:
    """Return one error about all missing packages of an extra, [] if all are installed. Imports and raises nothing."""
    missing = [name.replace("_", "-") for name in packages if importlib.util.find_spec(name) is None]
    return [MissingExtraError(missing, extra, needed_by)] if missing else []


def hash_folder(model: str, *, is_adapter: bool = False) -> str:
    """Return the SHA-256 (hex) of names and contents of a local folder's files except hidden ones; "" for a hub id.

    For a folder that contains only an adapter, it covers the folder of the adapter's base too. Not if `is_adapter`:
    then another setting names the base. The files are read once per process, and again if a size or a time changes.
    Raises ComponentError if the folder does not exist.
    """
    folder = local_folder(model)
    if folder is None:
        return ""
    with _read_errors(folder):
        stamps = _stamps(folder)
        for name, _, _ in stamps:
            note_identified(folder / name)
        own, base = _hash(folder, stamps), adapter_base_folder(folder)
        if base is None or is_adapter:
            return own
        return hashlib.sha256(f"{own} {_hash(base, _stamps(base))}".encode()).hexdigest()


def read_folder_stamps(model: str) -> Stamps:
    """Return the name, size and time of each of a local folder's files except hidden ones; () for a hub id.

    Includes the files of an adapter's base. Raises ComponentError if the folder does not exist.
    """
    folder = local_folder(model)
    if folder is None:
        return ()
    with _read_errors(folder):
        base = adapter_base_folder(folder)
        return (*_stamps(folder), *(_stamps(base) if base else ()))


@contextmanager
def _read_errors(folder: Path) -> Iterator[None]:
    """Raise ComponentError for a file or folder that cannot be read, such as a colleague's weights."""
    try:
        yield
    except OSError as error:
        raise ComponentError(f"model: cannot read {error.filename or folder} ({error.strerror or error})") from error


def _stamps(folder: Path) -> Stamps:
    if not folder.is_dir():
        raise ComponentError(f"model: the folder {folder} does not exist")
    stamps = []
    for file in sorted(_walk(folder)):
        name = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            status = file.stat()
            stamps.append((name.as_posix(), status.st_size, status.st_mtime_ns))
    return tuple(stamps)


def _contains(folder: Path, patterns: Sequence[str]) -> bool:
    """Return True if a file below the folder has a name that matches a pattern. Raises ComponentError if a folder in it
    cannot be read.
    """
    with _read_errors(folder):
        return any(file.match(pattern) for file in _walk(folder) for pattern in patterns)


def _walk(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Yield all files, also behind links to folders, which sentence-transformers follows. No folder is entered from
    within itself.
    """
    real = folder.resolve()
    for path in folder.iterdir() if real not in above else ():
        if path.is_dir():
            yield from _walk(path, above | {real})
        else:
            yield path


def _adapter_base(folder: Path) -> str:
    """Return the model that a folder with a PEFT adapter names as its base; "" for another folder."""
    try:
        config = json.loads((folder / "adapter_config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    base = config.get("base_model_name_or_path") if isinstance(config, dict) else None
    return base if isinstance(base, str) else ""


def adapter_base_folder(folder: Path) -> Path | None:
    """Return the other folder with the base of the adapter in a folder. None without an adapter."""
    base = Path(_adapter_base(folder) or folder)
    return base if base.is_dir() and not base.samefile(folder) else None


@cache
def _hash(folder: Path, stamps: Stamps) -> str:
    whole = hashlib.sha256()
    for name, _, _ in stamps:
        with (folder / name).open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{content} {name}\0".encode())
    return whole.hexdigest()


@contextmanager
def explain_load_errors(model: str, revision: str, *, trusted: bool = False) -> Iterator[str]:
    """Yield the name of a network to load. Errors inside become one ComponentError with advice, and so do missing
    weights.

    Unless it is `trusted`, raises ComponentError for a model whose files name code of the hub or of other packages,
    before anything is loaded.
    """
    with open_model_files(model, revision, trusted=trusted) as name:
        if not trusted:
            folder = local_folder(model) or _fetched_settings(model, revision)
            refuse_kernels(model, folder)
            refuse_activations(model, folder)
        yield name


@contextmanager
def open_model_files(model: str, revision: str, *, trusted: bool = False) -> Iterator[str]:
    """Yield the name of a model to read its files without loading the network.

    Raises the errors of `explain_load_errors`. A model whose own code would have to run without `trusted` is an error.
    Nobody is asked.
    """
    from transformers.utils import logging as transformers_logging

    folder = local_folder(model)
    transformers_logging.disable_progress_bar()  # transformers' bar would overwrite the sweep's
    disable_trust_prompt()
    try:
        with block_kernel_downloads(trusted=trusted), hide_deprecation_warnings(), collect_missing_weights() as missing:
            yield str(folder or model)
    except ComponentError:  # the message already contains advice
        raise
    except Exception as error:  # transformers, the hub, safetensors and torch share no exception class
        if "custom code" in str(error):
            raise ComponentError(_own_code_error(model, folder, trusted)) from error
        if refused := _refused_kernel(error):
            raise ComponentError(f"model {model!r} cannot be loaded: {refused}") from error
        reason = str(error).strip().partition("\n")[0]
        advice = (
            f"expected a folder that save_pretrained wrote, with weights in {' or '.join(WEIGHTS)}"
            if folder
            else f"expected it at revision {revision!r} in the local cache or on the hub, with weights in "
            f"{' or '.join(WEIGHTS)}; without a network, set `model` to a local folder with its files"
        )
        raise ComponentError(
            f"model {model!r} cannot be loaded ({type(error).__name__}: {reason}), {advice}"
        ) from error
    if missing:
        raise ComponentError(
            f"model {model!r} lacks {len(missing)} of its weights, e.g. {missing[0]}, which would be random, "
            "expected a complete model. The folder may be incomplete, or a checkpoint of another kind of model. Choose "
            "another model, or fetch it again."
        )


def _refused_kernel(error: BaseException | None) -> KernelRefused | None:
    """Return the refusal of a kernel that caused an error."""
    while error is not None and not isinstance(error, KernelRefused):
        error = error.__cause__ or error.__context__
    return error


def _own_code_error(model: str, folder: Path | None, trusted: bool) -> str:
    files = " and ".join(files_naming_modules(folder) if folder else []) or "its files"
    needs = f"model {model!r} cannot be loaded without its own code (auto_map in {files})"
    if trusted:
        return f"{needs}: the package that loads this part of the model ignores trust_remote_code"
    return (
        f"{needs}: it runs only with trust_remote_code=true, which not every component supports. Read the code "
        "before you set it."
    )


def _fetched_settings(model: str, revision: str) -> Path:
    """Return a folder of the hub's cache that has all JSON files of the model."""
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(model, revision=revision or None, allow_patterns=["*.json"]))


def torch_device(device: str) -> str:
    """Return the device; "auto" is the first GPU, or the CPU without GPUs. Raises ComponentError if torch cannot use
    it.
    """
    import torch

    name = device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ComponentError(
            f"device: got {device!r}, expected auto or a device that torch can use here ({reason})"
        ) from error
    return name
