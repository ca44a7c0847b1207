"""An export contains a user's code, but runs none of it, and contains no secret."""

import importlib
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
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
    """The sweep ran the earlier code. `cp -p` and `rsync -a` preserve the modification time."""
    time.sleep(0.02)  # file systems record times in steps of some milliseconds
    started = datetime.now(UTC).isoformat()
    _warn_of_edits(["copied_plugin"], started)
    assert caplog.messages == []
    (folder / edited).write_text((folder / edited).read_text() + "\n")
    os.utime(folder / edited, (0, 0))
    load_plugins(["copied_plugin"])
    _warn_of_edits(["copied_plugin"], started)
    (message,) = caplog.messages
    assert message.startswith(f"{folder / edited} was changed after the sweep began")


def test_files_of_two_folders_with_one_name_are_not_exported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "copied_second.py").write_text(PLUGIN.replace("copied_option", "copied_plugin"))
    (other / "copied_prompt.txt").write_text("Answer at length.")
    monkeypatch.syspath_prepend(other)
    load_plugins(["copied_second"])
    with pytest.raises(DataError, match=r"copied_prompt\.txt: it would overwrite another"):
        _copy_code(["copied_second"], folder / "code")


def test_package_is_exported_under_its_own_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `package_dir` of setuptools, the folder of a package may differ from its name."""
    place = folder / "src" / "lib"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("from copied_mapped import words\n")
    (place / "words.py").write_text("WORDS = 1\n")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            if name != "copied_mapped":
                return None
            return spec_from_file_location(name, place / "__init__.py", submodule_search_locations=[str(place)])

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    load_plugins(["copied_mapped"])
    _copy_code(["copied_mapped"], folder / "code")
    assert {path.name for path in (folder / "code" / "copied_mapped").glob("*.py")} == {"__init__.py", "words.py"}


def test_copied_program_stays_executable(folder: Path) -> None:
    (folder / "copied_prompt.txt").chmod(0o755)
    _copy_code(["copied_plugin"], folder / "code")
    assert os.access(folder / "code" / "copied_prompt.txt", os.X_OK)


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


def test_text_that_looks_like_a_key_is_reported(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "copied_prompt.txt").write_text('{"api_key": "sk-proj-Ab12Cd34Ef56Gh78Ij90Kl"}')
    _copy_code(["copied_plugin"], folder / "code")
    assert f"{folder / 'copied_prompt.txt'} contains text that looks like a key" in caplog.text


@pytest.mark.parametrize(
    "contents",
    [
        b"token=tk-Ab12Cd34Ef56Gh78Ij90Kl",
        "token=tk-Ab12Cd34Ef56Gh78Ij90Kl".encode("utf-16"),
        b"\x00\xff\x01\x02\x03tk-Ab12Cd34Ef56Gh78Ij90Kl\x00\xff",
    ],
)
def test_file_with_a_secret_is_not_exported(contents: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "tk-Ab12Cd34Ef56Gh78Ij90Kl")
    (folder / "copied_prompt.txt").write_bytes(contents)
    with pytest.raises(DataError, match=r"copied_prompt\.txt contains .* MY_SERVICE_TOKEN, .* Let the code read"):
        _copy_code(["copied_plugin"], folder / "code")
    assert not (folder / "code" / "copied_prompt.txt").exists()
