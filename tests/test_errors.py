"""What the messages of our errors say."""

import shlex
from pathlib import Path

import pytest

from components import errors
from components.errors import MissingExtraError, install_command

ROOT = Path(errors.__file__).resolve().parents[1]


class TestInstallCommand:
    def test_in_a_clone_is_short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        assert install_command("readers") == "python -m pip install -c constraints.txt -e '.[readers]'"

    def test_works_from_any_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        words = shlex.split(install_command("readers"))
        assert words[:4] == ["python", "-m", "pip", "install"]
        assert Path(words[words.index("-c") + 1]).is_file()
        assert (Path(words[words.index("-e") + 1].removesuffix("[readers]")) / "pyproject.toml").is_file()

    def test_works_without_a_clone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages/components/errors.py"))
        assert install_command("readers") == "python -m pip install 'rag-grid[readers]'"

    def test_is_in_the_error(self) -> None:
        assert install_command("models") in str(MissingExtraError("torch", "models", "embedder=x"))

    def test_several_packages_are_one_error(self) -> None:
        said = str(MissingExtraError(["torch", "peft"], "train", "training"))
        assert said.startswith(
            "training needs the packages 'torch', 'peft', which are not installed. Install them with"
        )
        assert said.count("pip install") == 1
