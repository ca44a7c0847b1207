"""Every exception that is meant to reach a user.

    RagGridError
    ├── ConfigError        a configuration that cannot be built; nothing was run
    ├── DataError          a file or record that cannot be used; names the file, the place in it and what was expected
    ├── MissingExtraError  an optional package is missing; names the install command
    ├── ComponentError     a component got input outside its contract, or broke its contract
    ├── LLMError           one request to a language model failed permanently
    ├── BudgetReached      a budget of the sweep allows no further request; answers so far are stored
    └── StoreError         the store cannot be read or written
        └── DamagedEntryError  a stored result does not match its manifest; it is recomputed

A message says where the error is, what the code got, what it expected and what to do. Messages hide secrets
(`components.secrets.mask`). A `ConfigError` may carry several errors.
"""

import importlib.util
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from components.secrets.mask import mask_text

T = TypeVar("T")
R = TypeVar("R")

_MAX_SHOWN_ERRORS = 10
"""Errors of one file that a message lists."""


class RagGridError(Exception):
    """Root of the tree. Catch it to catch every error that is meant to reach a user. Messages hide secrets."""

    def __str__(self) -> str:
        return mask_text(super().__str__())


class ConfigError(RagGridError):
    """One or more errors in a configuration, reported together."""

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        merged = _merge_equal(self.problems)
        n = len(merged)
        head = "1 error in the configuration:" if n == 1 else f"{n} errors in the configuration:"
        super().__init__("\n".join([head, *(f"  - {problem}" for problem in merged)]))


def _merge_equal(problems: Sequence[str]) -> list[str]:
    """Merge equal errors in several places ("judge.scores.accuracy.llm.model: ...") into one line with a count.

    A group and its use ("vector_index: ...", "retriever.vector_index: ...") are one place, because the user chooses it
    once.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        path, _, text = problem.partition(": ")
        is_path = " " not in path
        places.setdefault((path.rpartition(".")[2], text) if is_path else ("", problem), []).append(path)
    return [
        (f"{paths[0]}: {text}" if field else text) + (_more_places(paths[1:]) if paths[0] != field else "")
        for (field, text), paths in places.items()
    ]


def _more_places(places: Sequence[str]) -> str:
    return f" (and in {len(places)} more {'places' if places[1:] else 'place'})" if places else ""


class DataError(RagGridError):
    """A file or record that cannot be used.

    A message has one line per error and lists the first errors. Equal errors in several lines of a file are one.
    """

    def __init__(self, problems: Sequence[str] | str) -> None:
        lines = [problems] if isinstance(problems, str) else _merge_lines(problems)
        if n_more := len(lines[_MAX_SHOWN_ERRORS:]):
            lines[_MAX_SHOWN_ERRORS:] = [f"... and {n_more} more errors"]
        super().__init__("\n".join(lines))


_IN_A_LINE = re.compile(r"(?s)(?P<file>.*?, line )(?P<line>\d+)(?P<text>[:,] .*)")
"""An error in a line of a file: "questions.jsonl, line 3: unknown field 'answer'"."""


def _merge_lines(problems: Iterable[str]) -> list[str]:
    """Merge equal errors in several lines of a file into one with the first line and the number of the others."""
    lines: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        match = _IN_A_LINE.fullmatch(problem)
        location, line, text = match.groups() if match else (problem, "", "")
        lines.setdefault((location, text), []).append(line)
    return [
        f"{location}{first}{f' and {len(others)} more' if others and first else ''}{text}"
        for (location, text), (first, *others) in lines.items()
    ]


def read_each(read: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Return `read(item)` for each item. Raise one DataError that lists every item that cannot be read."""
    results, problems = [], []
    for item in items:
        try:
            results.append(read(item))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError(problems)
    return results


_TORCH = "torch"
"""A constant, because exports require every package that code looks up by a literal name."""

_TORCH_FIRST = (
    ". Without a GPU, install PyTorch first, which saves gigabytes of CUDA: "
    "python -m pip install torch --index-url https://download.pytorch.org/whl/cpu"
)


class MissingExtraError(RagGridError):
    """Optional packages are missing; the message names the command that installs them."""

    def __init__(self, packages: str | Sequence[str], extra: str, needed_by: str) -> None:
        names = [packages] if isinstance(packages, str) else packages
        what, they, them = ("package", "is", "it") if len(names) == 1 else ("packages", "are", "them")
        super().__init__(
            f"{needed_by} needs the {what} {', '.join(map(repr, names))}, which {they} not installed. "
            f"Install {them} with: {install_command(extra)}{_TORCH_FIRST if _brings_torch(extra) else ''}"
        )


def _brings_torch(extra: str) -> bool:
    return extra in ("models", "train") and importlib.util.find_spec(_TORCH) is None


def install_command(extra: str) -> str:
    """Return the command that installs an extra from any working directory.

    In a clone, the command pins the tested versions of `constraints.txt`.
    """
    root = Path(__file__).resolve().parents[1]
    constraints = root / "constraints.txt"
    if not constraints.is_file():
        return f"python -m pip install 'rag-grid[{extra}]'"
    if root == Path.cwd():
        return f"python -m pip install -c constraints.txt -e '.[{extra}]'"
    return f"python -m pip install -c {shlex.quote(str(constraints))} -e {shlex.quote(f'{root}[{extra}]')}"


class ComponentError(RagGridError):
    """A component got input outside its contract, or broke its contract."""


class LLMError(RagGridError):
    """One request to a language model failed permanently (after its retries)."""


class BudgetReached(RagGridError):
    """A budget of the sweep does not allow this request. The message names the budget."""


class StoreError(RagGridError):
    """The store cannot be read or written."""


class DamagedEntryError(StoreError):
    """A stored result does not match its manifest."""
