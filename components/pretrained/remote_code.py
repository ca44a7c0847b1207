"""Code that a model's files name: custom Python modules, activations of other packages, and kernels of the hub that
replace parts of a network.

Configurations are searched at any depth. Modules of sentence-transformers have configurations in separate folders.
Vocabularies and other tables may contain any word as a name, so they are not searched.
"""

import importlib
import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from components.errors import ComponentError
from components.json_value import Json

_MODULES = "auto_map"
_ATTENTION = "attn_implementation"
"""Substring of keys that choose an attention implementation. Values with a slash or colon are kernel repositories."""
_KERNELS = ("allow_all_kernels", "use_kernels", "kernel_config")

_TABLES = frozenset({"added_tokens_encoder", "id2label", "label2id", "vocab", "word_weights"})
"""Tables in a configuration, whose names are words of the data."""

_ESCAPE = b"\\u"
"""The start of an escaped character, with which a file can hide a key."""


_LAYER, _ACTIVATION = "in_features", "activation_function"
"""Settings of a layer of sentence-transformers. Networks have an activation by the same name, but no such features."""


class _Setting(NamedTuple):
    file: Path
    key: str
    value: Json


def disable_trust_prompt() -> None:
    """Have transformers raise an error where it would ask on the terminal whether a model's own code may run.

    It asks if a package that calls it passes no `trust_remote_code`. The change lasts as long as the process.
    """
    from transformers import dynamic_module_utils

    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0  # seconds of waiting for an answer


_has_trusted = False
"""True if a trusted model was read. It may request a kernel as late as its first use."""

_is_untrusted: ContextVar[bool] = ContextVar("is_untrusted", default=False)
"""True while a model without trust is read."""


class KernelRefused(FileNotFoundError):
    """A kernel from the hub that no trusted model requested. Transformers continues without optional kernels."""

    def __init__(self, name: object) -> None:
        super().__init__(f"{name} is a kernel from the hub, which runs only with trust_remote_code=true")


@contextmanager
def block_kernel_downloads(*, trusted: bool) -> Iterator[None]:
    """Have transformers raise KernelRefused where it would fetch a kernel that it chose itself, as for
    `flash_attention_2` and quantized weights. Within the context, only a `trusted` model gets one.
    """
    global _has_trusted
    _has_trusted |= trusted
    if importlib.util.find_spec("kernels"):
        for module, name in (("kernels", "get_kernel"), ("transformers.integrations.hub_kernels", "get_kernel_hub")):
            _guard(importlib.import_module(module), name)
    token = _is_untrusted.set(not trusted)
    try:
        yield
    finally:
        _is_untrusted.reset(token)


class _Guard:
    def __init__(self, fetch: Callable[..., object]) -> None:
        self._fetch = fetch

    def __call__(self, name: object, *arguments: object, **named: object) -> object:
        if _is_untrusted.get() or not _has_trusted:
            raise KernelRefused(name)
        return self._fetch(name, *arguments, **named)


def _guard(module: ModuleType, name: str) -> None:
    fetch = getattr(module, name, None)
    if fetch is not None and not isinstance(fetch, _Guard):
        setattr(module, name, _Guard(fetch))


def files_naming_modules(folder: Path) -> list[str]:
    """Return the paths within a model's folder of the files that name Python modules, sorted."""
    return sorted({str(each.file.relative_to(folder)) for each in _settings(folder, (_MODULES,))})


def refuse_kernels(model: str, folder: Path) -> None:
    """Raise ComponentError if the files of a model name kernels of the hub, or allow all of them.

    With the package kernels, transformers would download and run them.
    """
    for file, key, value in _settings(folder, (_ATTENTION, *_KERNELS)):
        if value if key in _KERNELS else any("/" in name or ":" in name for name in _strings(value)):
            raise ComponentError(
                f"model {model!r}: {file} requires code from the hub ({key}: "
                f"{json.dumps(value, ensure_ascii=False)}), which runs only with trust_remote_code=true. Set it, "
                "or remove this setting from a copy of the model."
            )


def refuse_activations(model: str, folder: Path) -> None:
    """Raise ComponentError if a layer's activation is outside of torch.

    sentence-transformers would replace it by Tanh, with only a log message, and compute different vectors.
    """
    for file in _configurations(folder):
        layer = _content(file, (_ACTIVATION,))
        name = layer.get(_ACTIVATION) if isinstance(layer, dict) and _LAYER in layer else None
        if isinstance(name, str) and not name.startswith("torch."):
            raise ComponentError(
                f"model {model!r}: {file} names the activation {name!r}, which is not part of torch and runs only "
                "with trust_remote_code=true. Set it, or name an equivalent class of torch.nn in a copy of the "
                "model."
            )


def _settings(folder: Path, keys: tuple[str, ...]) -> Iterator[_Setting]:
    """Yield the settings, at any depth of the configurations, whose name contains one of the keys."""
    for file in _configurations(folder):
        inner: list[Json] = [_content(file, keys)]
        while inner:
            value = inner.pop()
            if isinstance(value, dict):
                yield from (
                    _Setting(file, key, key_value) for key, key_value in value.items() if any(k in key for k in keys)
                )
                inner += (key_value for key, key_value in value.items() if key not in _TABLES)
            elif isinstance(value, list):
                inner += value


def _content(file: Path, keys: tuple[str, ...]) -> Json:
    """Return the content of a file that may contain one of the keys; otherwise None."""
    content = file.read_bytes()
    if _ESCAPE not in content and not any(key.encode() in content for key in keys):
        return None
    try:
        value: Json = json.loads(content)
    except (ValueError, RecursionError):  # not JSON, or too deep: no reader takes a setting from it
        return None
    return value


def _is_configuration(name: str) -> bool:
    return name.endswith(".json") and ("config" in name or name == "modules.json")


def _configurations(folder: Path) -> Iterator[Path]:
    """Yield the configurations in order. Links to folders are followed, each folder once."""
    seen = set()
    for parent, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (
            path for name in sorted(files) if _is_configuration(name) and (path := Path(parent, name)).is_file()
        )


def _strings(value: Json) -> Iterator[str]:
    """Yield a string, or the strings in a mapping or a list: some networks have several parts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
