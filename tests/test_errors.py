"""Messages of errors."""

import shlex
from pathlib import Path

import pytest

from components import errors
from components.errors import ConfigError, DataError, MissingExtraError, install_command

ROOT = Path(errors.__file__).resolve().parents[1]


class TestInstallCommand:
    def test_install_command_in_a_clone_is_editable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        assert install_command("readers") == "python -m pip install -c constraints.txt -e '.[readers]'"

    def test_install_command_works_from_any_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        words = shlex.split(install_command("readers"))
        assert words[:4] == ["python", "-m", "pip", "install"]
        assert Path(words[words.index("-c") + 1]).is_file()
        assert (Path(words[words.index("-e") + 1].removesuffix("[readers]")) / "pyproject.toml").is_file()

    def test_install_command_works_without_a_clone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages/components/errors.py"))
        assert install_command("readers") == "python -m pip install 'rag-grid[readers]'"

    def test_install_command_is_in_the_error(self) -> None:
        assert install_command("models") in str(MissingExtraError("torch", "models", "embedder=x"))

    @pytest.mark.parametrize(("extra", "found"), [("models", None), ("models", "torch"), ("readers", None)])
    def test_missing_torch_is_installed_without_cuda_first(
        self, extra: str, found: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(errors.importlib.util, "find_spec", lambda _: found)
        said = str(MissingExtraError("peft", extra, "embedder=x"))
        assert ("https://download.pytorch.org/whl/cpu" in said) is (extra == "models" and found is None)

    def test_several_missing_packages_are_one_error(self) -> None:
        said = str(MissingExtraError(["torch", "peft"], "train", "training"))
        assert said.startswith(
            "training needs the packages 'torch', 'peft', which are not installed. Install them with"
        )
        assert said.count("pip install") == 1


class TestEqualProblems:
    """Equal errors of one configuration in several places."""

    def test_equal_errors_of_jobs_are_reported_once_with_a_count(self) -> None:
        said = str(
            ConfigError(["llm.model: is empty", "judge.llm.model: is empty", "judge.scores.f.llm.model: is empty"])
        )
        assert said == "1 error in the configuration:\n  - llm.model: is empty (and in 2 more places)"

    def test_error_of_a_group_and_of_its_use_is_reported_once(self) -> None:
        said = str(ConfigError(["vector_index: needs a package", "retriever.vector_index: needs a package"]))
        assert said == "1 error in the configuration:\n  - vector_index: needs a package"


def test_equal_errors_of_several_lines_are_reported_once() -> None:
    problems = [f"q.jsonl, line {line}: unknown field 'answer'" for line in range(1, 14)]
    problems.insert(2, "q.jsonl, line 3: not JSON")
    assert str(DataError(problems)) == (
        "q.jsonl, line 1 and 12 more: unknown field 'answer'\nq.jsonl, line 3: not JSON"
    )


def test_equal_errors_of_a_field_are_reported_once() -> None:
    problems = [f"q.jsonl, line {line}, field 'id': got a list, expected a string" for line in (2, 5)]
    assert str(DataError(problems)) == "q.jsonl, line 2 and 1 more, field 'id': got a list, expected a string"
