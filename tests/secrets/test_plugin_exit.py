"""A user's package that ends the process while it is imported is an error without secrets."""

from pathlib import Path

import pytest

from tests.runner.sweeping import run_command

KEY = "kX9/abQQ77+zzYY12345678="


@pytest.mark.parametrize(
    "override",
    [
        "llm._target_=leaving.Model",
        "executor._target_=leaving.Model",
        "+hydra.callbacks.x._target_=leaving.Model",
        "retriever.call=leaving:search retriever=python retriever.revision=1",
    ],
)
def test_plugin_that_exits_at_import_is_one_masked_error(
    override: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaving.py").write_text("import os\nraise SystemExit('left with ' + os.environ['MY_API_KEY'])\n")
    monkeypatch.setenv("MY_API_KEY", KEY)
    done = run_command(tmp_path, *override.split(), "run.plugins=[leaving]")
    assert done.returncode == 2
    assert "SystemExit: left with ***" in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "class Left(BaseException):\n    pass\nraise Left('gone')",
        "class Left(Exception):\n    def __str__(self):\n        raise RuntimeError('no text')\nraise Left",
    ],
)
@pytest.mark.parametrize("override", ["llm._target_=leaving.Model", "+hydra.callbacks.x._target_=leaving.Model"])
def test_plugin_that_raises_at_import_is_one_error(override: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text(text)
    done = run_command(tmp_path, override, "run.plugins=[leaving]")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "imported (Left" in done.stderr
