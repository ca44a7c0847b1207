"""Facts about where a sweep runs: versions, the commit, the host."""

import os
import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from runner.engine.source_code import code_of

_PACKAGES = """
    rag-grid hydra-core mlflow numpy scipy pandas pyarrow scikit-learn faiss-cpu bm25s jieba rjieba tiktoken sacrebleu
    pytrec-eval-terrier llama-index-core torch transformers
""".split()
_OF_STEPS = """
    beautifulsoup4 bert-score FlagEmbedding janome jinja2 json-repair kiwipiepy markdown-it-py numba peft pypdf
    pystemmer rapidfuzz sentence-transformers
""".split()
"""What some steps depend on besides: nodes that share the work must have the same."""
_DIGITS_SHOWN = 12


@cache
def versions() -> dict[str, str]:
    """Installed versions of the packages that results can depend on, and this project's commit."""
    found = {"python": platform.python_version()}
    if commit := git_commit():
        found["commit"] = commit
    return found | _installed(_PACKAGES)


def versions_of_results(packages: Iterable[str] = ()) -> dict[str, str]:
    """What is equal wherever the same stage gives the same result: Python, the packages that steps use, and the code of
    this project and of the user's `packages`, checked out or installed, wherever it lies.
    """
    found = {"python": platform.python_version(), **_installed([*_PACKAGES, *_OF_STEPS])}
    for package in ("components", "runner", *packages):
        if code := code_of(package):
            found[f"the code of {package}"] = code[:_DIGITS_SHOWN]
    return found


def _installed(packages: Iterable[str]) -> dict[str, str]:
    found = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


@cache
def git_commit() -> str:
    """The commit of this project's checkout, with "+changes" if files differ from it; "" outside a checkout."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit + ("+changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@cache
def host() -> dict[str, str | int]:
    """Operating system, processor and cores; no name or address of the machine."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "n_cores": os.cpu_count() or 0,
    }
