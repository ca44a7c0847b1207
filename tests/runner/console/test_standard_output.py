"""Commands whose standard output cannot be written, and commands in a locale that lacks characters."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.serving.exporting import exported_folder as exported

PRINTS = "from runner.console.interruptible import run_interruptibly; import sys; run_interruptibly(lambda: {}, '')"
LOST = "standard output: No space left on device; the rest of the output is lost\n"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run_code(
    code: str, stdout: int | None = None, prepare: Callable[[], object] | None = None, **environment: str
) -> tuple[int, str]:
    """Return the exit code and standard error of Python code."""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=prepare,
        env={**os.environ, **environment},
        text=True,
        check=False,
    )
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("command", ["print('x')", "print('x' * 100_000)", "(print('x'), sys.exit(0))"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_disk_ends_output_with_one_line_and_an_exit_code(command: str) -> None:
    with Path("/dev/full").open("w") as full:
        assert run_code(PRINTS.format(command), full.fileno()) == (1, LOST)


def test_reader_that_closed_the_pipe_is_not_an_error() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        assert run_code(PRINTS.format("(print('x' * 100_000), sys.exit(0))"), write) == (0, "")
    finally:
        os.close(write)


@pytest.mark.skipif(os.name == "nt", reason="Windows starts no process without standard output")
def test_closed_output_is_not_an_error() -> None:
    assert run_code(PRINTS.format("print('x')"), prepare=lambda: os.close(1)) == (0, "")


def test_output_escapes_characters_that_the_locale_lacks() -> None:
    assert run_code(PRINTS.format("print(chr(0x9752))"), subprocess.DEVNULL, **ASCII) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="names of files are always UTF-8 on Windows")
def test_file_name_that_the_locale_lacks_is_one_clear_error() -> None:
    code, said = run_code(PRINTS.format("open(chr(0x9752))"), **ASCII)
    assert (code, said.count("\n")) == (2, 1)
    assert "Set PYTHONUTF8=1" in said


def test_interrupted_exported_pipeline_exits_with_130_and_one_line(tmp_path: Path) -> None:
    root = Path(exported.__file__).parents[2]
    (tmp_path / "pipeline.py").write_text(exported._SCRIPT.format(code=str(root)))
    code = f"""
import os, runpy, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "runner.serving.pipeline_command":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
runpy.run_path({str(tmp_path / "pipeline.py")!r}, run_name="__main__")
"""
    assert run_code(code) == (130, "\nInterrupted.\n")
