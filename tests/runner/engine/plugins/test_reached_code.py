"""Snapshots cover all code that a plugin reaches, however it names it; edits in between are reloaded or refused."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from components.errors import ComponentError
from runner.engine.plugins import plugin_loading as loading
from runner.engine.plugins.plugin_loading import UserCode, allow_edits, load_plugins
from runner.engine.plugins.snapshot import take_snapshot
from runner.engine.source_code import has_code
from tests.runner.forgotten_packages import forget_packages
from tests.runner.sweeping import REPOSITORY

TOPS = ("reaching", "reached", "文本", "found")
MODEL = "class Model:\n    pass\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, "reaching/__init__.py", "")
    yield tmp_path
    forget_packages(TOPS)


def write(place: Path, name: str, text: str) -> None:
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reached", "# names that we import\nimport reached"),
        ("reached", "# taken from\nimport reached"),
        ("reached", "import os, \\\n    reached"),
        ("reached", "from \\\n    reached import WORD"),
        ("文本", "import 文本"),
        ("reached", "import importlib\nimportlib.import_module('reached')"),
        ("reached", "__import__('reached')"),
    ],
)
def test_snapshot_covers_other_packages_that_a_file_imports(name: str, text: str, place: Path) -> None:
    write(place, "reaching/model.py", text)
    write(place, f"{name}.py", "WORD = 1\n")
    assert name in take_snapshot("reaching").packages


def test_code_with_computed_imports_covers_all_named_plugins(place: Path) -> None:
    write(place, "reaching/model.py", "import importlib\nNAME = 'rea' + 'ched'\nimportlib.import_module(NAME)\n")
    write(place, "reached.py", "")
    assert take_snapshot("reaching", ["reaching", "reached"]).packages == ["reached", "reaching"]
    assert take_snapshot("reaching", ["reaching"]).packages == ["reaching"]


@pytest.mark.parametrize(
    "text",
    [
        "import pydoc\nprint(pydoc.locate('reaching.words.WORD'))\n",
        "from hydra.utils import get_object\nprint(get_object('reaching.words.WORD'))\n",
        "import reaching\n\ndef word():\n    return reaching.words.WORD\n",
        "import reaching as own\n\ndef word():\n    return own.words.WORD\n",
        "import subprocess, sys\nsubprocess.run([sys.executable, 'words.py'])\n",
        "from subprocess import run\nrun(['python', '-m', 'reaching.wor' + 'ds'])\n",
        "from pickle import load\nload(open('x', 'rb'))\n",
        "from runpy import run_path\nrun_path('wor' + 'ds.py')\n",
        "from hydra.utils import call\ncall({'_target_': 'reaching.wor' + 'ds.word'})\n",
        "import hydra.utils as hu\nhu.call({'_target_': 'reaching.wor' + 'ds.word'})\n",
        "import sys\nsys.modules['reaching.wor' + 'ds']\n",
        "import os, sys\nos.popen(sys.executable + ' -m reaching.wor' + 'ds')\n",
        "import os\nos.system('python -m reaching.wor' + 'ds')\n",
        "from os import system\nsystem('python -m reaching.wor' + 'ds')\n",
        "import os, sys\nos.spawnl(os.P_WAIT, sys.executable, 'python', '-m', 'reaching.' + 'words')\n",
        "import asyncio\nasyncio.create_subprocess_exec('python', '-m', 'reaching.wor' + 'ds')\n",
    ],
)
def test_model_code_covers_modules_that_no_import_names(text: str, place: Path) -> None:
    write(place, "reaching/model.py", text + MODEL)
    write(place, "reaching/words.py", "WORD = 1\n")
    model = type("Model", (), {"__module__": "reaching.model"})
    assert "reaching.words" in take_snapshot("reaching").model_code(model).modules


OTHERS = (
    "import platform\nsystem = platform.system()\nclass A:\n    system = ''\n"
    "def f(model, frame, client):\n    model.eval(), model.modules(), frame.eval('a + b'), client.call()\n"
)
"""Names of objects that import nothing."""


def test_unrelated_process_names_reach_no_other_module(place: Path) -> None:
    write(place, "reaching/model.py", OTHERS + MODEL)
    write(place, "reaching/words.py", "WORD = 1\n")
    model = type("Model", (), {"__module__": "reaching.model"})
    assert "reaching.words" not in take_snapshot("reaching").model_code(model).modules


@pytest.mark.parametrize("name", ["words.old.py", "words.v2.bak.py"])
def test_copy_of_a_module_file_does_not_replace_the_module(name: str, place: Path) -> None:
    write(place, "reaching/words.py", "WORD = 1\n")
    write(place, f"reaching/{name}", "WORD = 2\n")
    load_plugins(["reaching"])
    from reaching import words  # type: ignore[import-not-found]

    assert words.WORD == 1


def test_editor_lock_file_is_not_code(place: Path) -> None:
    before = take_snapshot("reaching").digest
    (place / "reaching" / ".#model.py").symlink_to("me@host.123:456")
    assert take_snapshot("reaching").digest == before


def test_package_importing_from_an_edited_package_is_reloaded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has changed the files of the process since its start."""
    write(place, "reaching/model.py", "from reached import WORD\n")
    write(place, "reached.py", "WORD = 'before'\n")
    load_plugins(["reaching"])
    from reaching import model

    assert model.WORD == "before"
    allow_edits()
    monkeypatch.setattr(loading, "_PROCESS_START_S", (place / "reached.py").stat().st_ctime + 1)
    write(place, "reached.py", "WORD = 'after!!'\n")
    assert load_plugins(["reaching"]) == ["reached", "reaching"]
    from reaching import model as model_now

    assert model_now.WORD == "after!!"


def test_package_of_the_same_name_in_a_new_folder_replaces_the_first(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sweeps in one notebook may have separate folders."""
    write(place, "reaching/model.py", "WORD = 'first'\n")
    load_plugins(["reaching"])
    assert import_module("reaching.model").WORD == "first"
    allow_edits()
    write(place, "second/reaching/__init__.py", "")
    write(place, "second/reaching/model.py", "WORD = 'second'\n")
    monkeypatch.syspath_prepend(place / "second")
    assert load_plugins(["reaching"]) == ["reaching"]
    assert import_module("reaching.model").WORD == "second"


OPTIONAL = {
    "module": "try:\n    from found import WORD\nexcept ImportError:\n    WORD = 'none'\n",
    "submodule": "try:\n    from reaching.found import WORD\nexcept ImportError:\n    WORD = 'none'\n",
    "discovery": (
        "import importlib, pkgutil, reaching\n"
        "names = [each.name for each in pkgutil.iter_modules(reaching.__path__) if each.name == 'found']\n"
        "WORD = importlib.import_module('reaching.found').WORD if names else 'none'\n"
    ),
    "spec": "from importlib.util import find_spec\nWORD = 'new' if find_spec('reaching.found') else 'none'\n",
}


@pytest.mark.parametrize("form", OPTIONAL)
@pytest.mark.parametrize("before", ["", "import a_missing_package\n"])
@pytest.mark.parametrize("is_first_run", [False, True])
def test_code_that_a_new_file_changes_is_imported_again(
    form: str, before: str, *, is_first_run: bool, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys contain the file. A file that could not be imported before is as new."""
    if before and form in ("discovery", "spec"):
        pytest.skip("the import of the package would fail, or the file is found before")
    file = "found.py" if form == "module" else "reaching/found.py"
    write(place, "reaching/model.py", OPTIONAL[form])
    if before:
        write(place, file, before)
    if not is_first_run:
        load_plugins(["reaching"])
    assert import_module("reaching.model").WORD == "none"
    time.sleep(0.05)
    monkeypatch.setattr(
        loading, "_PROCESS_START_S", time.time()
    )  # as if it had started after the other files were written
    time.sleep(0.05)
    write(place, file, "WORD = 'new'\n")
    assert "reaching" in load_plugins(["reaching"])
    assert import_module("reaching.model").WORD == "new"


def test_later_named_packages_cause_no_reload(place: Path) -> None:
    write(place, "reaching/model.py", "from reached import WORD\n")
    write(place, "reached.py", "WORD = 1\n")
    load_plugins(["reached"])
    import reached  # type: ignore[import-not-found]

    assert load_plugins(["reaching"]) == []
    import_module("reaching.model")
    assert load_plugins(["reaching", "reached"]) == []
    assert sys.modules["reached"] is reached


def test_code_found_only_through_sys_path_is_rejected(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    write(place, "lib/reached.py", "WORD = 1\n")
    write(place, "reaching/model.py", f"import sys\nsys.path.append({str(place / 'lib')!r})\nimport reached\n")
    load_plugins(["reaching"])
    with pytest.raises(ComponentError, match=r"reached\.py: reaching imports it, .* PYTHONPATH"):
        import_module("reaching.model")


def test_worker_refuses_a_file_edited_before_its_late_import(place: Path) -> None:
    write(place, "reaching/words.py", "WORD = 'before'\n")
    write(
        place,
        "reaching/model.py",
        "class Model:\n    def word(self):\n        from reaching.words import WORD\n        return WORD\n",
    )
    load_plugins(["reaching"])
    from reaching.model import Model  # type: ignore[import-not-found]

    (place / "work").write_bytes(pickle.dumps((UserCode([Model()]), Model())))
    write(place, "reaching/words.py", "WORD = 'after!'\n")
    call = f"import pickle; print(pickle.load(open({str(place / 'work')!r}, 'rb'))[1].word())"
    path = os.pathsep.join([str(place), str(REPOSITORY)])
    ended = subprocess.run(
        [sys.executable, "-c", call], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "words.py: changed after the code of reaching was read for this run" in ended.stderr


def test_reexported_class_keeps_the_code_that_was_loaded(place: Path) -> None:
    write(place, "reaching/model.py", "from reached import Model\n")
    write(place, "reached.py", MODEL)
    load_plugins(["reaching"])
    from reaching.model import Model

    write(place, "reached.py", MODEL + "EDITED = 1\n")
    assert loading.class_snapshot(Model).digest != take_snapshot("reached").digest


def test_class_created_by_make_dataclass_has_no_code(place: Path) -> None:
    write(place, "reaching/made.py", "from dataclasses import make_dataclass\nMade = make_dataclass('Made', [])\n")
    load_plugins(["reaching"])
    from reaching.made import Made  # type: ignore[import-not-found]

    assert not has_code(Made)
