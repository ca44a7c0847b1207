"""Facts about the environment of a sweep: versions, the commit, the host."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from runner.engine.source_code import hash_code

_PACKAGES = """
    rag-grid hydra-core mlflow numpy scipy pandas pyarrow scikit-learn faiss-cpu bm25s jieba rjieba tiktoken sacrebleu
    pytrec-eval-terrier langchain-core llama-index-core torch transformers
""".split()
_STEP_PACKAGES = """
    beautifulsoup4 bert-score FlagEmbedding janome jinja2 json-repair kiwipiepy markdown-it-py markitdown numba openpyxl
    pdfminer.six pdfplumber peft pypdf pypdfium2 pystemmer python-docx python-pptx rapidfuzz sentence-transformers
""".split()
"""Further packages that some steps depend on. Nodes that share the work must have the same versions."""
_MODULES = {
    "beautifulsoup4": "bs4",
    "bert-score": "bert_score",
    "faiss-cpu": "faiss",
    "json-repair": "json_repair",
    "langchain-core": "langchain_core",
    "llama-index-core": "llama_index",
    "markdown-it-py": "markdown_it",
    "pdfminer.six": "pdfminer",
    "pystemmer": "Stemmer",
    "python-docx": "docx",
    "python-pptx": "pptx",
    "pytrec-eval-terrier": "pytrec_eval",
    "scikit-learn": "sklearn",
    "sentence-transformers": "sentence_transformers",
}
"""Import names that differ from the name of the package."""
_NO_RESULTS = frozenset({"rag-grid", "hydra-core", "mlflow", "pandas", "pyarrow"})
"""Packages that read, write or log results, but compute none."""
_IN_EVERY_RUN = _NO_RESULTS | {"python", "commit"}
_DIGITS_SHOWN = 12


@cache
def versions() -> dict[str, str]:
    """Return the installed versions of packages that results can depend on, and this project's commit."""
    installed = {"python": platform.python_version()}
    if commit := git_commit():
        installed["commit"] = commit
    return installed | _installed_versions(_PACKAGES)


def imported_versions() -> dict[str, str]:
    """Return the versions of imported packages, and of the packages that belong to every run.

    Covers the packages of `versions` and the packages that single steps need.
    """
    imported = {name: version for name, version in _all_versions().items() if _MODULES.get(name, name) in sys.modules}
    return {name: version for name, version in versions().items() if name in _IN_EVERY_RUN} | imported


def installed_versions() -> dict[str, str]:
    """Return Python's version and the installed versions of all packages that results can depend on."""
    return {"python": platform.python_version(), **_all_versions()}


def changed_versions(stored: Mapping[str, str]) -> dict[str, str]:
    """Return the packages whose installed version differs from `stored`, with their versions in `stored`.

    For Python, only major and minor versions are compared. A package that is not installed here is left out, because it
    cannot compute the result again.
    """
    here = {name: version for name, version in _all_versions().items() if name not in _NO_RESULTS}
    different = {name: then for name, then in stored.items() if here.get(name, then) != then}
    python = stored.get("python", "")
    if python and python.split(".")[:2] != platform.python_version().split(".")[:2]:
        different["python"] = python
    return different


@cache
def _all_versions() -> dict[str, str]:
    return _installed_versions([*_PACKAGES, *_STEP_PACKAGES])


def versions_to_match(packages: Iterable[str] = ()) -> dict[str, str]:
    """Return the facts that must be equal on two hosts for a stage to give the same result on both.

    These are Python's version, the versions of the packages that steps use, and hashes of the code of this project and
    of the user's `packages`, whether checked out or installed.
    """
    facts = installed_versions()
    for package in ("components", "runner", *packages):
        if code := hash_code(package):
            facts[f"the code of {package}"] = code[:_DIGITS_SHOWN]
    return facts


def _installed_versions(packages: Iterable[str]) -> dict[str, str]:
    installed = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed


def program_version() -> str:
    """Return the installed version of this project, "unknown" and the commit for a checkout that is not installed."""
    try:
        return metadata.version("rag-grid")
    except metadata.PackageNotFoundError:
        commit = git_commit()
        return "unknown (a checkout that is not installed" + (f", at commit {commit})" if commit else ")")


@cache
def git_commit() -> str:
    """Return the commit of this project's checkout, with "+changes" if files differ from it. "" outside a checkout."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit + ("+changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(root: Path, *arguments: str) -> str:
    completed = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return completed.stdout.strip()


@cache
def host() -> dict[str, str | int]:
    """Return the operating system, processor and number of cores, without a name or address of the machine."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "n_cores": os.cpu_count() or 0,
    }
