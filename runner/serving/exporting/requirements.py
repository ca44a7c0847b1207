"""Lists the third-party packages that answering needs, in the installed versions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from runner.serving.exporting.code_imports import Code

_SERVING_CODE = "runner.serving.pipeline_command"
_SERVER = ("mlflow-skinny", "pandas")
"""Packages that `mlflow models serve` needs."""


@dataclass(frozen=True)
class Requirements:
    """Lines of a requirements file: the imports of the pipeline with their dependencies, and the further packages of a
    server.
    """

    answering: tuple[str, ...]
    serving: tuple[str, ...]

    @property
    def text(self) -> str:
        """All lines, as the content of a file."""
        head = "# Exact versions of all packages for answering: pip install -r requirements.txt"
        server = "# Further packages for `mlflow models serve`; not needed otherwise"
        return "\n".join([head, *self.answering, "", server, *self.serving, ""])


def requirements(parts: Iterable[object], code: Path) -> Requirements:
    """Return the requirements of these components, whose code is in the folder `code`."""
    modules = {type(part).__module__ for part in parts}
    own_code = Code(code)
    imported = own_code.third_party_imports([_SERVING_CODE], when_called=False) | own_code.third_party_imports(
        modules, when_called=True
    )
    imported |= {str(path) for part in parts if (path := getattr(part, "class_path", ""))}
    answering = _add_dependencies(_distributions(imported))
    serving = _add_dependencies(_SERVER)
    return Requirements(tuple(map(_pin, answering)), tuple(map(_pin, [n for n in serving if n not in answering])))


def _distributions(imported: Iterable[str]) -> set[str]:
    """Return the installed distributions that contain these modules. A module that no distribution contains is an
    optional import.
    """
    return {name for module in imported for name in _find_distributions(module)}


def _find_distributions(module: str) -> Sequence[str]:
    top = module.partition(".")[0]
    candidates = sorted(set(_by_package().get(top, ())))
    if len(candidates) < 2:
        return candidates
    # Several distributions share the package: choose the one with the module itself, or the nearest package above it.
    parts = module.split(".")
    for n in range(len(parts), 0, -1):
        path = "/".join(parts[:n])
        holding = [name for name in candidates if _has(name, (f"{path}.py", f"{path}/__init__.py"))]
        if holding:
            return holding
    return candidates


@cache
def _by_package() -> dict[str, list[str]]:
    return {name: list(names) for name, names in metadata.packages_distributions().items()}


def _has(distribution: str, files: Sequence[str]) -> bool:
    return any(str(file) in files for file in metadata.files(distribution) or ())


def _add_dependencies(names: Iterable[str]) -> list[str]:
    """Return the distributions and their installed dependencies, sorted, each by its official name."""
    official_names: dict[str, str] = {}
    waiting = [(name, frozenset[str]()) for name in names]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        key = (_canonical(name), extras)
        if key in seen:
            continue
        seen.add(key)
        installed = _find_installed(key[0])
        if installed is not None:  # otherwise the requirement is for another system
            official_names[key[0]] = installed.name
            waiting += _dependencies(installed.requires, extras)
    return [official_names[name] for name in sorted(official_names)]


@dataclass(frozen=True)
class _Installed:
    name: str
    version: str
    requires: tuple[str, ...]


@cache
def _find_installed(name: str) -> _Installed | None:
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    return _Installed(distribution.metadata["Name"], distribution.version, tuple(distribution.requires or ()))


def _dependencies(requires: Sequence[str], extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    from packaging.requirements import Requirement

    for line in requires:
        needed = Requirement(line)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield needed.name, frozenset(needed.extras)


def _canonical(name: str) -> str:
    from packaging.utils import canonicalize_name

    return str(canonicalize_name(name))


def _pin(name: str) -> str:
    """Return the requirement without the mark of a local build ("2.13.0+cpu"), which an index does not have."""
    version = metadata.version(name)
    public, _, local = version.partition("+")
    return f"{name}=={public}" + (f"  # exported with {version}" if local else "")
