"""Every exception that this project raises on purpose.

    RagGridError
    ├── ConfigError        a configuration that cannot be built: nothing was run
    ├── DataError          a file or record that cannot be used: says which file, where in it, what was expected
    ├── MissingExtraError  an optional package is needed: names the install command
    ├── ComponentError     a component was given input outside its contract, or broke its own
    ├── LLMError           one request to a language model failed for good
    ├── BudgetReached      a budget of the sweep lets no further request through: what was answered is kept
    └── StoreError         the store cannot be read or written
        └── DamagedEntryError  an entry does not match its manifest: it is recomputed

A message says where, what came, what was wanted and what to do, and hides secrets (`components.secrets.mask`).
`ConfigError` may carry several mistakes at once.
"""

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from components.secrets.mask import masked

T = TypeVar("T")
R = TypeVar("R")

_MOST_SHOWN = 10
"""Of the mistakes in a file."""


class RagGridError(Exception):
    """Root of the tree: catch this to catch everything that the project raises on purpose. Messages hide secrets."""

    def __str__(self) -> str:
        return masked(super().__str__())


class ConfigError(RagGridError):
    """One or more mistakes in a configuration, all reported together."""

    def __init__(self, mistakes: Sequence[str] | str) -> None:
        self.mistakes: tuple[str, ...] = (mistakes,) if isinstance(mistakes, str) else tuple(mistakes)
        shown = _equal_ones_once(self.mistakes)
        n = len(shown)
        head = "1 error in the configuration:" if n == 1 else f"{n} errors in the configuration:"
        super().__init__("\n".join([head, *(f"  - {mistake}" for mistake in shown)]))


def _equal_ones_once(mistakes: Sequence[str]) -> list[str]:
    """The same mistake in several places ("judge.scores.accuracy.llm.model: ...") with the number of the others. A
    group and where it is used ("vector_index: ...", "retriever.vector_index: ...") are one place: it is chosen once.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for mistake in mistakes:
        path, _, text = mistake.partition(": ")
        is_path = " " not in path
        places.setdefault((path.rpartition(".")[2], text) if is_path else ("", mistake), []).append(path)
    return [
        (f"{paths[0]}: {text}" if field else text) + (_further(paths[1:]) if paths[0] != field else "")
        for (field, text), paths in places.items()
    ]


def _further(places: Sequence[str]) -> str:
    return f" (and {len(places)} more {'places' if places[1:] else 'place'} alike)" if places else ""


class DataError(RagGridError):
    """A file or a record that cannot be used. Of several mistakes each is a line, and the first ones are shown."""

    def __init__(self, mistakes: Sequence[str] | str) -> None:
        lines = [mistakes] if isinstance(mistakes, str) else list(mistakes)
        if n_more := len(lines[_MOST_SHOWN:]):
            lines[_MOST_SHOWN:] = [f"... and {n_more} more mistakes"]
        super().__init__("\n".join(lines))


def read_each(read: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """What is read of each item. Raises one DataError with the mistakes of all items that cannot be read."""
    results, mistakes = [], []
    for item in items:
        try:
            results.append(read(item))
        except DataError as error:
            mistakes.append(str(error))
    if mistakes:
        raise DataError(mistakes)
    return results


class MissingExtraError(RagGridError):
    """Optional packages are missing; the message names the command that installs them."""

    def __init__(self, packages: str | Sequence[str], extra: str, needed_by: str) -> None:
        names = [packages] if isinstance(packages, str) else packages
        what, they, them = ("package", "is", "it") if len(names) == 1 else ("packages", "are", "them")
        super().__init__(
            f"{needed_by} needs the {what} {', '.join(map(repr, names))}, which {they} not installed. "
            f"Install {them} with: {install_command(extra)}"
        )


def install_command(extra: str) -> str:
    """The command that installs an extra from any working directory: with the tested versions where this is a clone,
    which has the list of them.
    """
    root = Path(__file__).resolve().parents[1]
    constraints = root / "constraints.txt"
    if not constraints.is_file():
        return f"python -m pip install 'rag-grid[{extra}]'"
    if root == Path.cwd():
        return f"python -m pip install -c constraints.txt -e '.[{extra}]'"
    return f"python -m pip install -c {shlex.quote(str(constraints))} -e {shlex.quote(f'{root}[{extra}]')}"


class ComponentError(RagGridError):
    """A component was given input outside its contract, or broke its own."""


class LLMError(RagGridError):
    """One request to a language model failed for good (after its retries)."""


class BudgetReached(RagGridError):
    """A request that a budget of the sweep does not let through; the message says which one."""


class StoreError(RagGridError):
    """The store cannot be read or written."""


class DamagedEntryError(StoreError):
    """An entry of the store does not match its manifest."""
