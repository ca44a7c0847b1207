"""Files that users' code read and no key covers: their contents at the first read, by component.

Results do not depend on these files by their keys. So an edit would go unnoticed, except that a later plan finds here
that the contents have changed, and names the component whose stored results may be older than the edit.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from components.errors import DamagedEntryError
from components.protocols import AnswersFrom
from runner.engine.broken_contracts import class_name
from runner.engine.identity import describe, hash_description
from runner.engine.plugins.opened_files import LISTED
from runner.engine.plugins.package_files import MAX_DATA_BYTES, data_digest, is_left_out
from runner.engine.plugins.plugin_loading import code_class, is_code_loaded, list_uncovered_files, package_folder
from runner.engine.source_code import is_ours, model_code, package_code
from runner.engine.stage import AnyStage
from runner.engine.store import Store

KIND = "uncovered_files"
"""Kind under which the store saves the contents, by component and files."""

_WRITTEN = "written"

_at_plan: dict[tuple[Path, str], dict[str, str]] = {}
"""Contents when this process planned, by store and component."""
_recorded: set[tuple[Path, str, str]] = set()
"""Stores, components and files whose contents this process has stored, or found there."""


@dataclass(frozen=True)
class EditedFiles:
    """Files that a user's component read in an earlier run, and that have changed since."""

    name: str
    files: tuple[str, ...]


class _FirstContents(TypedDict):
    """A part in the store: the key of a component, and the hash of each file by its path from the package's folder."""

    component: str
    contents: dict[str, str]


def record_uncovered_files(stage: AnyStage, store: Store) -> None:
    """Store the contents of the files that the stage's users' components have read, except those stored already."""
    for component in _users_components([stage]):
        cls = code_class(component)
        if not (files := list_uncovered_files(cls)):
            continue
        key, folder = _key(component), package_folder(cls)
        names = {_relative(file, folder): file for file in sorted(files)}
        if unseen := {(store.root, key, name) for name in names} - _recorded:
            known = _first_contents(store).get(key, {})
            new = {name: _hash_content(names[name]) for _, _, name in sorted(unseen) if name not in known}
            if new:
                _write(key, new, store)
            _recorded.update(unseen)


def find_edited_files(stages: Iterable[AnyStage], store: Store) -> tuple[EditedFiles, ...]:
    """Return the users' components of these stages that read files which have changed since."""
    edited = []
    for component, key, contents in _recorded_components(stages, store):
        now = _current_contents(component, contents)
        _at_plan[store.root, key] = now
        if changed := sorted(name for name, then in contents.items() if now[name] != then):
            edited.append(EditedFiles(class_name(code_class(component)), tuple(changed)))
    return tuple(edited)


def forget_written_files(stages: Iterable[AnyStage], store: Store) -> None:
    """Record which files changed while these stages ran: the code writes them itself, such as a cache, a log or an
    index. Their later changes mean nothing.
    """
    for component, key, contents in _recorded_components(stages, store):
        before = {**contents, **_at_plan.get((store.root, key), {})}
        now = _current_contents(component, contents)
        if written := {name: _WRITTEN for name in contents if now[name] != before[name]}:
            _write(key, written, store)


def _recorded_components(stages: Iterable[AnyStage], store: Store) -> Iterator[tuple[object, str, dict[str, str]]]:
    """Yield users' components with their keys and the first contents of the files that they read, if any."""
    components = list(_users_components(stages)) if is_code_loaded() else []
    recorded = _first_contents(store) if components else {}
    for component in components:
        key = _key(component)
        contents = {name: then for name, then in recorded.get(key, {}).items() if then != _WRITTEN}
        if contents:
            yield component, key, contents


def _current_contents(component: object, names: Iterable[str]) -> dict[str, str]:
    folder = package_folder(code_class(component))
    return {name: _hash_content(f"{folder}{os.sep}{name}") for name in names}


def _write(key: str, contents: dict[str, str], store: Store) -> None:
    part = _FirstContents(component=key, contents=contents)
    store.write(KIND, hash_description([key, contents]), {"first": part}, seconds=0.0, made_from=None)


def _users_components(stages: Iterable[AnyStage]) -> Iterator[object]:
    """Yield the distinct components with users' code."""
    seen: set[int] = set()
    for stage in stages:
        for component in stage.components():
            if id(component) not in seen and not is_ours(code_class(component)):
                yield component
            seen.add(id(component))


def _first_contents(store: Store) -> Mapping[str, dict[str, str]]:
    """Return the earliest stored contents of each file, by component; `_WRITTEN` for files that the code writes."""
    contents: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for entry in sorted(store.entries(KIND), key=lambda entry: entry.manifest.created):
        try:
            part: _FirstContents = entry.part("first")
        except DamagedEntryError:  # a warning may then be missing, but no number depends on it
            continue
        known = contents[part["component"]]
        for name, content in part["contents"].items():
            known[name] = _WRITTEN if content == _WRITTEN else known.get(name, content)
    return contents


def _key(component: object) -> str:
    """Return the key of a component, which covers what the keys of its results or replies cover."""
    is_model = getattr(component, "answers_from", None) is AnswersFrom.MESSAGES
    return hash_description(describe(component, code_of=model_code if is_model else package_code))


def _relative(path: str, folder: Path) -> str:
    """Return a path from the folder, with the slash of a listed folder."""
    return os.path.relpath(path, folder) + (LISTED if path.endswith(LISTED) else "")


def _hash_content(path: str) -> str:
    """Return the hash of a file, or of the names in a listed folder without outputs; "" for what does not exist."""
    try:
        if path.endswith(LISTED):
            return hash_description(sorted(name for name in os.listdir(path) if not _is_output(name)))  # noqa: PTH208
        file = Path(path)
        return data_digest(file, by_content=file.stat().st_size <= MAX_DATA_BYTES)
    except OSError:
        return ""


def _is_output(name: str) -> bool:
    return is_left_out(name) or name.startswith("__") or name.endswith(".pyc") or name == "results"
