"""The code of a user's package counts in keys, so that results of earlier code are never used after an edit."""

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial, partialmethod, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.errors import ComponentError
from components.protocols import AnswersFrom
from components.rerankers.none import NoReranker
from runner.engine.ask import compute_replies_key
from runner.engine.identity import describe, hash_description
from runner.engine.plugins.plugin_loading import allow_edits, load_plugins
from runner.engine.source_code import has_code, hash_code, model_code, package_code

PART = """
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import AnswersFrom
from edited_package.base import Parent
from . import constants
from .star import *
from edited_helper import HELP


@dataclass(frozen=True)
class Part(Parent):
    inner: object = None
    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES


@dataclass(frozen=True)
class Baseline(Part):
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.SAMPLE


class Lazy:
    def read(self):
        from .lazy import LAZY
        return LAZY
"""

ALONE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Part:
    inner: object = None
"""

FILES = {
    "edited_package/__init__.py": "",
    "edited_package/part.py": PART,
    "edited_package/base.py": "from edited_package.deep.within import FACTOR\n\nclass Parent:\n    factor = FACTOR\n",
    "edited_package/constants.py": "ONE = 1\n",
    "edited_package/star.py": "TWO = 2\n",
    "edited_package/lazy.py": "LAZY = 3\n",
    "edited_package/deep/__init__.py": "",
    "edited_package/deep/within.py": "FACTOR = 4\n",
    "edited_package/unrelated.py": "OTHER = 5\n",
    "edited_helper.py": "HELP = 6\n",
    "edited_module.py": ALONE,
}
REACHED = sorted(FILES.keys() - {"edited_package/unrelated.py", "edited_module.py"})

Load = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    linked = tmp_path / "elsewhere" / "linked"
    linked.mkdir(parents=True)
    (linked / "__init__.py").write_text("SEVEN = 7\n")
    (tmp_path / "edited_package" / "linked").symlink_to(linked)
    (linked / "loop").symlink_to(tmp_path / "edited_package")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def load(folder: Path) -> Iterator[Load]:
    """A class as the next run in this process loads it."""

    def loaded(module: str, name: str = "Part") -> Any:
        importlib.invalidate_caches()
        load_plugins([module])
        return getattr(importlib.import_module(module), name)

    yield loaded
    for name in [name for name in sys.modules if name.startswith("edited_")]:
        del sys.modules[name]
    allow_edits()


def key(component: object) -> str:
    return hash_description(describe(component))


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "EDITED = True\n")


@pytest.mark.parametrize("edited", [*REACHED, "edited_package/unrelated.py", "elsewhere/linked/__init__.py"])
def test_edit_anywhere_in_a_package_changes_the_component_key(edited: str, folder: Path, load: Load) -> None:
    before = key(load("edited_package.part")())
    assert key(load("edited_package.part")()) == before
    edit(folder / edited)
    assert key(load("edited_package.part")()) != before


class Wrapper:
    """Stands for a decorator object with the function under a name of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.func = function


@pytest.mark.parametrize("method", ["rerank", "new"])
def test_built_in_component_that_a_plugin_patched_is_refused(
    method: str, folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its results would be stored under the key of the component, for users who lack the plugin too."""
    assert key(NoReranker())
    part = load("edited_module")
    assert key(NoReranker())
    wrappers = (staticmethod, classmethod, property, partial, partialmethod, cache, Wrapper)
    for wrapped in (part.__eq__, *(wrap(part.__eq__) for wrap in wrappers), wraps(part.__eq__)(partial(part.__eq__))):
        monkeypatch.setattr(NoReranker, method, wrapped, raising=False)
        with pytest.raises(ComponentError, match=rf"NoReranker\.{method} was replaced by edited_module\..* derives"):
            key(NoReranker())


@pytest.mark.parametrize("module", ["__main__", "my_script"])
def test_built_in_component_that_a_script_patched_is_refused(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without `run.plugins`: a notebook may replace a method, then call `runner.run`."""
    lines = "def rerank(self, *arguments):\n    return []\n"
    namespace: dict[str, Any] = {"__name__": module}
    exec(lines, namespace)
    monkeypatch.setitem(sys.modules, "my_script", ModuleType("my_script"))
    sys.modules["my_script"].__file__ = "/home/me/my_script.py"
    assert key(NoReranker())
    monkeypatch.setattr(NoReranker, "rerank", namespace["rerank"], raising=False)
    derived = type("Derived", (NoReranker,), {"__module__": "edited_module"})
    for part in (NoReranker(), derived()):
        with pytest.raises(ComponentError, match=rf"NoReranker\.rerank was replaced by {module}\."):
            key(part)


@pytest.mark.parametrize("renamed", ["unrelated", "lazy"])
def test_renamed_file_changes_the_component_key(renamed: str, folder: Path, load: Load) -> None:
    before = key(load("edited_package.part")())
    (folder / "edited_package" / f"{renamed}.py").rename(folder / "edited_package" / f"{renamed}_2.py")
    assert key(load("edited_package.part")()) != before


def test_edited_component_changes_the_key_of_its_container(folder: Path, load: Load) -> None:
    before = key([load("edited_module")(inner=load("edited_package.part")())])
    edit(folder / "edited_package" / "unrelated.py")
    assert key([load("edited_module")(inner=load("edited_package.part")())]) != before


def test_single_module_depends_only_on_its_own_file(folder: Path, load: Load) -> None:
    before = key(load("edited_module")())
    edit(folder / "edited_package" / "constants.py")
    assert key(load("edited_module")()) == before
    edit(folder / "edited_module.py")
    assert package_code(load("edited_module")) == model_code(load("edited_module")) != ""
    assert key(load("edited_module")()) != before


class TestReplies:
    @pytest.mark.parametrize("edited", REACHED)
    def test_edit_of_reachable_model_code_changes_the_replies_key(self, edited: str, folder: Path, load: Load) -> None:
        before = compute_replies_key(load("edited_package.part")(), "answers")
        edit(folder / edited)
        assert compute_replies_key(load("edited_package.part")(), "answers") != before

    @pytest.mark.parametrize("edited", ["edited_package/unrelated.py", "elsewhere/linked/__init__.py"])
    def test_edit_outside_the_model_code_keeps_cached_replies(self, edited: str, folder: Path, load: Load) -> None:
        before = compute_replies_key(load("edited_package.part")(), "answers")
        edit(folder / edited)
        assert compute_replies_key(load("edited_package.part")(), "answers") == before

    @pytest.mark.parametrize("edited", [*REACHED, "edited_package/unrelated.py"])
    def test_baseline_replies_depend_on_the_whole_package(self, edited: str, folder: Path, load: Load) -> None:
        baseline = load("edited_package.part", "Baseline")()
        assert baseline.answers_from is not AnswersFrom.MESSAGES
        before = compute_replies_key(baseline, "answers")
        edit(folder / edited)
        assert compute_replies_key(load("edited_package.part", "Baseline")(), "answers") != before

    @pytest.mark.parametrize(
        "line",
        [
            "import importlib; helper = importlib.import_module('edited_package.' + 'unrelated')",
            "from importlib import import_module as load",
            "exec('import edited_package.unrelated')",
            "import sys; sys.modules['edited_package.unrelated']",
        ],
    )
    def test_computed_imports_make_the_whole_package_count(self, line: str, folder: Path, load: Load) -> None:
        (folder / "edited_package" / "constants.py").write_text(f"def read():\n    {line}\n")
        before = compute_replies_key(load("edited_package.part")(), "answers")
        edit(folder / "edited_package" / "unrelated.py")
        assert compute_replies_key(load("edited_package.part")(), "answers") != before

    def test_docstring_that_may_be_a_prompt_counts(self, folder: Path, load: Load) -> None:
        """Code that reads no docstring keeps its replies if the docstring of a module without statements changes."""
        constants, prompt = folder / "edited_package" / "constants.py", folder / "edited_package" / "lazy.py"
        keys = []
        for line in ("import edited_package.lazy", "from edited_package import lazy\nPROMPT = lazy.__doc__"):
            constants.write_text(f"{line}\n")
            for text in ("Answer briefly.", "Answer at length."):
                prompt.write_text(f'"""{text}"""\n')
                keys.append(compute_replies_key(load("edited_package.part")(), "answers"))
        assert keys[0] == keys[1]
        assert len(set(keys)) == 3

    def test_package_of_one_file_keeps_its_earlier_reply_key(self, folder: Path, load: Load) -> None:
        """A hash of the file alone keeps replies that were paid for before imports counted."""
        from hashlib import sha256

        assert model_code(load("edited_module")) == sha256(ALONE.encode()).hexdigest()


def test_package_location_does_not_change_the_key(folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(load("edited_package.part")())
    (folder / "another_place").mkdir()
    (folder / "edited_package").rename(folder / "another_place" / "edited_package")
    monkeypatch.syspath_prepend(folder / "another_place")
    assert key(load("edited_package.part")()) == before


def test_installed_distributions_do_not_change_the_code_key(folder: Path, load: Load) -> None:
    (folder / "edited_module.py").write_text(f"import numpy\nimport json\n{ALONE}")
    before = load("edited_module")
    assert package_code(before) == hash_code("edited_module")


def test_built_in_classes_are_identified_by_version_not_code() -> None:
    assert package_code(NoReranker) == model_code(NoReranker) == ""
    assert has_code(NoReranker)
    assert "code" not in str(describe(NoReranker()))


def test_component_of_a_class_that_a_function_made_has_no_key() -> None:
    @dataclass(frozen=True)
    class Made:
        pass

    with pytest.raises(ComponentError, match=r"Made: other classes may have the same name"):
        describe({"part": [Made()]})


def test_class_without_a_file_has_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = type("Typed", (), {"__module__": "__main__"})
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    assert not has_code(typed)
