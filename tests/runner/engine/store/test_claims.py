"""Claims of several processes to the same replies."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.engine.store.claims import Claims
from tests.runner.sweeping import REPOSITORY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such locks")

_CLAIM = """
import sys
from pathlib import Path
from runner.engine.store.claims import Claims
with Claims(Path(sys.argv[1])).take(sys.argv[2:]) as claimed:
    print(",".join(sorted(claimed)), flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(path: Path, *keys: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that claims keys and waits to be ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", _CLAIM, str(path), *keys],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{','.join(sorted(keys))}\n"
        yield process
        process.kill()


def test_claims_of_another_process_hold_until_its_end(tmp_path: Path) -> None:
    path = tmp_path / "claims"
    claims = Claims(path)
    with another_process(path, "a", "b") as process:
        with claims.take(["a", "b", "c"]) as claimed:
            assert claimed == {"c"}
        process.kill()  # nothing is left for anyone to clean up
        process.wait()
        with claims.take(["a", "b", "c"]) as claimed:
            assert claimed == {"a", "b", "c"}


def test_claim_ends_with_its_context(tmp_path: Path) -> None:
    path = tmp_path / "claims"
    claims = Claims(path)
    with claims.take(["a"]):
        pass
    with another_process(path, "a"), claims.take(["a"]) as claimed:
        assert claimed == set()
