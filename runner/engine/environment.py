"""Facts about where a sweep runs: versions, the commit, the host."""

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

_PACKAGES = """
    rag-grid hydra-core mlflow numpy scipy pandas pyarrow scikit-learn faiss-cpu bm25s jieba rjieba tiktoken sacrebleu
    pytrec-eval-terrier llama-index-core torch transformers
""".split()


@cache
def versions() -> dict[str, str]:
    """Installed versions of the packages that results can depend on, and this project's commit."""
    found = {"python": platform.python_version()}
    if commit := git_commit():
        found["commit"] = commit
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
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
