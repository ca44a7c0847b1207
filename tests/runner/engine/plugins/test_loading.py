"""Code that runs is the code that keys were made with, whenever a file is edited."""

import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.errors import ComponentError
from runner.engine.plugins.plugin_loading import UserCode, allow_edits, load_plugins
from runner.engine.plugins.snapshot import is_user_package, take_snapshot
from runner.engine.source_code import package_code

MODULE = "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Part:\n    value: int = {value}\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "edited_plugin"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "part.py").write_text(MODULE.format(value=1))
    (folder / "lazy.py").write_text("LAZY = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("edited_plugin")]:
        del sys.modules[name]
    allow_edits()


def part() -> Any:
    return importlib.import_module("edited_plugin.part").Part


def write(path: Path, text: str) -> None:
    """Replace a file, but keep its size and time, like an edit within the resolution of bytecode caches."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_code_edited_after_its_import_keeps_its_key(package: Path) -> None:
    load_plugins(["edited_plugin"])
    cls = part()
    write(package / "part.py", MODULE.format(value=2))
    before = package_code(cls)
    assert cls().value == 1
    load_plugins(["edited_plugin"])
    assert package_code(cls) == before != package_code(part())


def test_file_edited_before_a_late_import_is_refused(package: Path) -> None:
    load_plugins(["edited_plugin"])
    part()
    write(package / "lazy.py", "LAZY = 2\n")
    with pytest.raises(ComponentError, match=r"lazy\.py: changed after the code of edited_plugin was read"):
        importlib.import_module("edited_plugin.lazy")


def test_file_added_after_loading_is_refused(package: Path) -> None:
    load_plugins(["edited_plugin"])
    part()
    (package / "added.py").write_text("ADDED = 1\n")
    importlib.invalidate_caches()
    with pytest.raises(ComponentError, match=r"added\.py: was not among the files of edited_plugin"):
        importlib.import_module("edited_plugin.added")


def test_next_run_loads_and_reports_edited_code(package: Path) -> None:
    assert load_plugins(["edited_plugin"]) == []
    assert part()().value == 1
    assert load_plugins(["edited_plugin"]) == []
    write(package / "part.py", MODULE.format(value=2))
    assert load_plugins(["edited_plugin"]) == ["edited_plugin"]
    assert part()().value == 2


def test_registry_in_another_package_drops_values_of_old_code(package: Path) -> None:
    registry = package.with_name("edited_plugin_registry.py")
    registry.write_text("VALUES = []\n")
    filling = "from edited_plugin_registry import VALUES\nVALUES.append({value})\n"
    (package / "part.py").write_text(filling.format(value=1))
    for value in (1, 2):
        write(package / "part.py", filling.format(value=value))
        load_plugins(["edited_plugin"])
        filled: list[int] = importlib.import_module("edited_plugin.part").VALUES
        assert filled == [value]


def test_cache_in_another_package_drops_values_of_old_code(package: Path) -> None:
    package.with_name("edited_plugin_cache.py").write_text("VALUES = {}\n")
    package.with_name("edited_plugin_helper.py").write_text("VALUE = 1\n")
    (package / "part.py").write_text(
        "import edited_plugin_helper\nfrom edited_plugin_cache import VALUES\n\n"
        "def value():\n    return VALUES.setdefault('value', edited_plugin_helper.VALUE)\n"
    )
    for value in (1, 2):
        write(package.with_name("edited_plugin_helper.py"), f"VALUE = {value}\n")
        load_plugins(["edited_plugin"])
        assert importlib.import_module("edited_plugin.part").value() == value


def _linked_folder(folder: Path) -> tuple[str, Path]:
    (folder / "checkout" / "edited_helper").mkdir(parents=True)
    (folder / "site-packages" / "edited_helper").symlink_to(folder / "checkout" / "edited_helper")
    return "edited_helper", folder / "checkout" / "edited_helper" / "__init__.py"


def _linked_file(folder: Path) -> tuple[str, Path]:
    (folder / "site-packages" / "edited_helper.py").symlink_to(folder / "edited_helper_source.py")
    return "edited_helper", folder / "edited_helper_source.py"


def _portion_of_a_namespace(folder: Path) -> tuple[str, Path]:
    for place in (folder / "site-packages" / "edited_company" / "other.py", folder / "edited_company" / "words.py"):
        place.parent.mkdir()
        place.write_text("")
    return "edited_company.words", folder / "edited_company" / "words.py"


def _name_of_the_standard_library(folder: Path) -> tuple[str, Path]:
    return "chunk", folder / "chunk.py"


@pytest.mark.parametrize("make", [_linked_folder, _linked_file, _portion_of_a_namespace, _name_of_the_standard_library])
def test_user_helper_that_looks_installed_is_hashed(
    make: Callable[[Path], tuple[str, Path]], package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package.parent / "site-packages").mkdir()
    monkeypatch.syspath_prepend(package.parent / "site-packages")
    name, file = make(package.parent)
    (package / "part.py").write_text(f"from {name} import VALUE\n")
    digests = set()
    for value in (1, 2):
        file.write_text(f"VALUE = {value}\n")
        digests.add(take_snapshot("edited_plugin").digest)
    assert len(digests) == 2


class _EditableFinder:
    """Finds modules of a namespace whose folder the finder does not reveal, like the finder of an editable install."""

    def __init__(self, source: Path) -> None:
        self._source = source

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname == "edited_company":
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = ["__editable__.finder.__path_hook__"]
            return spec
        return spec_from_file_location(fullname, self._source) if fullname == "edited_company.words" else None


def test_namespace_module_mapped_elsewhere_by_an_editable_install_is_rejected(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = package.with_name("source_of_words.py")
    source.write_text("VALUE = 1\n")
    (package / "part.py").write_text("from edited_company.words import VALUE\n")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, _EditableFinder(source)])
    load_plugins(["edited_plugin"])
    try:
        with pytest.raises(ComponentError, match=r"source_of_words\.py: was not among the files of edited_company"):
            importlib.import_module("edited_plugin.part")
    finally:
        sys.modules.pop("edited_company", None)


def test_standard_library_and_distributions_are_not_user_code() -> None:
    names = ["json", "os", "sys", "statistics", "_bisect", "importlib", "numpy", "hydra", "six", "pytest"]
    assert [name for name in names if is_user_package(name)] == []


def test_package_imported_before_the_run_is_loaded_again(package: Path) -> None:
    """We cannot know whether its files changed in between."""
    assert part()().value == 1
    write(package / "part.py", MODULE.format(value=2))
    assert load_plugins(["edited_plugin"]) == ["edited_plugin"]
    assert part()().value == 2


def test_stale_bytecode_caches_are_ignored(package: Path) -> None:
    assert part()().value == 1  # writes a cache
    for name in ("edited_plugin.part", "edited_plugin"):
        del sys.modules[name]
    write(package / "part.py", MODULE.format(value=2))
    load_plugins(["edited_plugin"])
    assert part()().value == 2


def test_notebook_may_reload_modules_between_runs(package: Path) -> None:
    load_plugins(["edited_plugin"])
    part()
    allow_edits()
    write(package / "part.py", MODULE.format(value=2))
    assert importlib.reload(sys.modules["edited_plugin.part"]).Part().value == 2
    assert load_plugins(["edited_plugin"]) == ["edited_plugin"], "what imported from it has the old class"
    assert part()().value == 2


def test_module_without_a_file_is_not_reloaded(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ModuleType("edited_typed")
    monkeypatch.setitem(sys.modules, "edited_typed", typed)
    assert load_plugins(["edited_typed"]) == []
    assert sys.modules["edited_typed"] is typed


def test_packages_that_import_each_other_are_loaded_together(package: Path) -> None:
    (package.parent / "edited_plugin_2.py").write_text("from edited_plugin.part import Part\n")
    load_plugins(["edited_plugin_2"])
    importlib.import_module("edited_plugin_2")
    write(package / "part.py", MODULE.format(value=2))
    assert load_plugins(["edited_plugin_2"]) == ["edited_plugin", "edited_plugin_2"]
    assert importlib.import_module("edited_plugin_2").Part().value == 2


class TestHandedOver:
    """Code that another process unpickles before the components."""

    CODE = "import pickle, sys; code, part = pickle.load(sys.stdin.buffer); print(part.value, type(part)().value)"

    def run(self, package: Path, packed: bytes, prefix: str = "") -> subprocess.CompletedProcess[bytes]:
        path = os.pathsep.join([str(Path(__file__).resolve().parents[4]), str(package.parent)])
        environment = {**os.environ, "PYTHONPATH": path}
        command = [sys.executable, "-c", prefix + self.CODE]
        return subprocess.run(command, input=packed, capture_output=True, env=environment, check=False)

    def packed(self) -> bytes:
        load_plugins(["edited_plugin"])
        own = part()()
        return pickle.dumps((UserCode([own]), own))

    def test_worker_with_equal_code_runs(self, package: Path) -> None:
        done = self.run(package, self.packed())
        assert done.stdout == b"1 1\n", done.stderr.decode()

    def test_worker_refuses_a_file_edited_after_the_snapshot(self, package: Path) -> None:
        packed = self.packed()
        write(package / "part.py", MODULE.format(value=2))
        done = self.run(package, packed)
        assert done.returncode == 1
        assert b"part.py: changed after the code of edited_plugin was read for this run" in done.stderr

    def test_previously_imported_different_code_is_refused(self, package: Path) -> None:
        packed = self.packed()
        write(package / "part.py", MODULE.format(value=2))
        done = self.run(package, packed, "import edited_plugin.part; ")
        assert done.returncode == 1
        assert b"part.py: changed after" in done.stderr
