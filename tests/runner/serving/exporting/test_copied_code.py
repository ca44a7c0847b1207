"""An export contains a user's code, but runs none of it, and contains no secret."""

import importlib
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from components.errors import DataError
from runner.engine.plugins import plugin_loading
from runner.engine.plugins.plugin_loading import load_plugins
from runner.serving.exporting.exported_folder import _copy_code, _warn_of_edits

PLUGIN = """
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import copied_stubs
try:
    import copied_option
except ImportError:
    copied_option = None


def prompt():
    return Path(__file__).with_name("copied_prompt.txt").read_text()


def train():
    import copied_training
"""
MENTIONED = ("copied_stubs", "copied_option", "copied_training")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "copied_plugin.py").write_text(PLUGIN)
    (tmp_path / "copied_prompt.txt").write_text("Answer briefly.")
    for name in MENTIONED:
        (tmp_path / f"{name}.py").write_text("import a_package_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    load_plugins(["copied_plugin"])
    yield tmp_path
    plugin_loading._state.set({})


def test_modules_that_a_plugin_only_mentions_are_copied_and_not_imported(folder: Path) -> None:
    _copy_code(["copied_plugin"], folder / "code")
    for name in ("copied_plugin.py", "copied_prompt.txt", *(f"{name}.py" for name in MENTIONED)):
        assert (folder / "code" / name).read_text() == (folder / name).read_text()
    assert not sys.modules.keys() & set(MENTIONED)


@pytest.mark.parametrize("edited", ["copied_plugin.py", "copied_prompt.txt", "copied_option.py"])
def test_edit_after_the_sweep_is_reported(edited: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The sweep ran the earlier code."""
    finished = datetime.now(UTC)
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    load_plugins(["copied_plugin"])
    _warn_of_edits(["copied_plugin"], finished.isoformat())
    assert caplog.messages == []
    (folder / edited).write_text((folder / edited).read_text() + "\n")
    os.utime(folder / edited, (finished.timestamp() + 1, finished.timestamp() + 1))
    load_plugins(["copied_plugin"])
    _warn_of_edits(["copied_plugin"], finished.isoformat())
    (message,) = caplog.messages
    assert message.startswith(f"{folder / edited} was written after the sweep ended")


def test_pipe_and_dangling_link_beside_code_are_left_out(folder: Path) -> None:
    package = folder / "copied_package"
    package.mkdir()
    (package / "__init__.py").write_text("import copied_plugin\n")
    (package / "gone").symlink_to(folder / "nowhere")
    (package / "itself").symlink_to(package)
    os.mkfifo(package / "pipe")
    (package / "linked.txt").symlink_to(folder / "copied_prompt.txt")
    load_plugins(["copied_package"])
    _copy_code(["copied_package"], folder / "code")
    copied = sorted(path.name for path in (folder / "code" / "copied_package").iterdir())
    assert copied == ["__init__.py", "linked.txt"]
    assert (folder / "code" / "copied_plugin.py").exists()


def test_file_with_a_secret_is_not_exported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "tk-Ab12Cd34Ef56Gh78Ij90Kl")
    (folder / "copied_prompt.txt").write_text("token=tk-Ab12Cd34Ef56Gh78Ij90Kl")
    with pytest.raises(DataError, match=r"copied_prompt\.txt contains .* MY_SERVICE_TOKEN, .* Let the code read"):
        _copy_code(["copied_plugin"], folder / "code")
    assert not (folder / "code" / "copied_prompt.txt").exists()
