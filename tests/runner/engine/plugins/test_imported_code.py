"""No code of a user is imported that is not in the snapshot: it counts, or its import is an error that names it."""

import builtins
import os
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from runner.engine.plugins.plugin_loading import class_snapshot, load_plugins
from tests.runner.forgotten_packages import forget_packages

TOPS = ("importing", "imported")

PLACES = {
    "a module": ("imported", "imported.py"),
    "a package": ("imported.words", "imported/words.py"),
    "a namespace": ("imported.deep.words", "imported/deep/words.py"),
    "the same package": ("importing.words", "importing/words.py"),
    "a linked sub-package": ("importing.linked.words", "elsewhere/words.py"),
}

WAYS = {
    "import": "import {name}",
    "from": "from {name} import get",
    "star": "from {name} import *",
    "a statement in a function": "def late():\n    from {name} import get\nlate()",
    "two statements in a line": "x = 1;import {name} as it",
    "condition": "try:\n    import nothing_is_there\nexcept ImportError:\n    import {name}",
    "import_module": "from importlib import import_module\nimport_module('{name}')",
    "a computed name": "from importlib import import_module\nimport_module('{reversed}'[::-1])",
    "exec": "exec('import {name}')",
    "a specification": (
        "from importlib.util import find_spec, module_from_spec\nspec = find_spec('{reversed}'[::-1])\n"
        "spec.loader.exec_module(module_from_spec(spec))"
    ),
    "locate": "import pydoc\npydoc.locate('{name}.get')",
    "resolve_name": "import pkgutil\npkgutil.resolve_name('{name}:get')",
    "run_module": "import runpy\nrunpy.run_module('{name}')",
    "Hydra": "from hydra.utils import instantiate\ninstantiate({{'_target_': '{reversed}'[::-1] + '.get'}})",
    "a configuration of logs": (
        "from logging.config import dictConfig\n"
        "handler = {{'()': '{reversed}'[::-1] + '.Handler'}}\n"
        "dictConfig({{'version': 1, 'disable_existing_loggers': False, 'handlers': {{'own': handler}}}})"
    ),
    "a pickle": "import pickle\npickle.loads(b'c{name}\\nget\\n.')",
    "a pickle read by Python": "import io, pickle\npickle._Unpickler(io.BytesIO(b'c{name}\\nget\\n.')).load()",
}

IMPORTED = """
import builtins
import logging
builtins.RAN.append(__file__)
class Handler(logging.NullHandler):
    pass
def get():
    return 1
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for folder in ("code/importing", "code/elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.setattr(builtins, "RAN", [], raising=False)
    yield tmp_path / "code"
    forget_packages(TOPS)


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("way", WAYS)
def test_imported_user_code_is_hashed_or_refused(way: str, where: str, is_named: bool, place: Path) -> None:
    name, file = PLACES[where]
    (place / file).parent.mkdir(parents=True, exist_ok=True)
    (place / file).write_text(IMPORTED)
    if where == "a package":
        (place / "imported" / "__init__.py").touch()
    (place / "importing" / "linked").symlink_to(place / "elsewhere")
    text = WAYS[way].format(name=name, reversed=name[::-1])
    (place / "importing" / "__init__.py").touch()
    (place / "importing" / "model.py").write_text(f"class Model:\n    def run(self):\n        {_indented(text)}\n")
    if way == "star":
        (place / "importing" / "model.py").write_text(f"{text}\nclass Model:\n    def run(self):\n        pass\n")
    load_plugins(TOPS if is_named and where in ("a module", "a package", "a namespace") else TOPS[:1])
    model = import_module("importing.model").Model
    snapshot, error = class_snapshot(model), ""
    try:
        model().run()
    except Exception:  # noqa: BLE001 - of the library between, with ours as its cause
        error = traceback.format_exc()
    ran = set(map(os.path.realpath, builtins.RAN))  # type: ignore[attr-defined]
    assert ran == set() if error else ran == {os.path.realpath(place / file)}
    assert ran <= {os.path.realpath(each.path) for each in snapshot.files.values()}
    assert ran <= {os.path.realpath(snapshot.files[each].path) for each in snapshot.model_code(model).modules}
    if error:
        assert f"{place / file.partition('/')[0]}" in error
        assert "importing imports it, but it was not found when the code of importing was read" in error


def _indented(text: str) -> str:
    return text.replace("\n", "\n        ")


def test_library_may_search_for_a_module_named_like_a_user_file(place: Path) -> None:
    """Libraries look for optional packages, and a file of the user may have such a name."""
    (place / "imported.py").write_text(IMPORTED)
    (place / "importing" / "model.py").write_text(
        "import importlib.util\nFOUND = importlib.util.find_spec('imp' + 'orted')\n"
    )
    load_plugins(["importing"])
    assert import_module("importing.model").FOUND is not None
    assert builtins.RAN == []  # type: ignore[attr-defined]
