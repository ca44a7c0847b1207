"""The code of a user's package counts, so that an edit is never answered with kept numbers."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from components.rerankers.none import NoReranker
from runner.engine.ask import replies_key
from runner.engine.identity import describe, key_of
from runner.engine.source_code import has_code, module_code, package_code

PART = """
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Part:
    inner: object = None
    version: ClassVar[int] = 1
"""

Load = Callable[[str], Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "edited_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text(PART)
    (package / "formula.py").write_text("FACTOR = 1\n")
    (tmp_path / "edited_module.py").write_text(PART)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


@pytest.fixture
def load(folder: Path) -> Iterator[Load]:
    """The class `Part` of a module, as a new process would load it."""

    def forget() -> None:
        for name in [name for name in sys.modules if name.startswith("edited_")]:
            del sys.modules[name]

    def loaded(module: str) -> Any:
        forget()
        return importlib.import_module(module).Part

    yield loaded
    forget()


def key(component: object) -> str:
    return key_of(describe(component))


@pytest.mark.parametrize("edited", ["part.py", "formula.py"])
def test_an_edit_anywhere_in_the_package_changes_the_key(edited: str, folder: Path, load: Load) -> None:
    before = key(load("edited_package.part")())
    assert key(load("edited_package.part")()) == before
    with (folder / "edited_package" / edited).open("a") as file:
        file.write("OTHER = 2\n")
    assert key(load("edited_package.part")()) != before


def test_an_edit_changes_the_key_of_what_holds_the_component(folder: Path, load: Load) -> None:
    before = key([load("edited_module")(inner=load("edited_package.part")())])
    (folder / "edited_package" / "formula.py").write_text("FACTOR = 2\n")
    assert key([load("edited_module")(inner=load("edited_package.part")())]) != before


def test_a_module_without_a_package(folder: Path, load: Load) -> None:
    before = key(load("edited_module")())
    (folder / "edited_package" / "formula.py").write_text("FACTOR = 2\n")
    assert key(load("edited_module")()) == before
    (folder / "edited_module.py").write_text(PART.replace("= None", "= 1"))
    assert package_code(load("edited_module")) == module_code(load("edited_module")) != ""
    assert key(load("edited_module")()) != before


def test_replies_are_paid_again_for_an_edit_of_the_models_own_module_alone(folder: Path, load: Load) -> None:
    before = replies_key(load("edited_package.part")(), "answers")
    (folder / "edited_package" / "formula.py").write_text("FACTOR = 2\n")
    assert replies_key(load("edited_package.part")(), "answers") == before
    (folder / "edited_package" / "part.py").write_text(PART.replace("= None", "= 1"))
    assert replies_key(load("edited_package.part")(), "answers") != before


def test_where_the_package_lies_does_not_count(folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(load("edited_package.part")())
    (folder / "elsewhere").mkdir()
    (folder / "edited_package").rename(folder / "elsewhere" / "edited_package")
    monkeypatch.syspath_prepend(folder / "elsewhere")
    assert key(load("edited_package.part")()) == before


def test_our_own_classes_have_versions_instead() -> None:
    assert package_code(NoReranker) == module_code(NoReranker) == ""
    assert has_code(NoReranker)
    assert "code" not in str(describe(NoReranker()))


def test_a_class_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = type("Typed", (), {"__module__": "__main__"})
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    assert not has_code(typed)
