"""The seam at which the folder of a store is a cache of what others see."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from runner.engine.store.manifests import Files
from runner.engine.store.mirror import NO_MIRROR, Mirror


class Remote(Protocol):
    """What holds the results of which a folder is a cache. A result is told by its kind, and by the `name` of its
    folder: its key, or for a partial result its key and its run. All methods may raise StoreError.
    """

    def holds(self, kind: str, name: str) -> bool:
        """Whether there is such a result, by a look at all of them when this was first asked: for plans."""

    def results(self, kind: str) -> Iterable[tuple[str, str]]:
        """Kinds and keys of all results, or (not "") of those of one kind."""

    def is_current(self, folder: Path) -> bool:
        """Whether what is in a result's folder is still the remote's, as far as is known without asking."""

    def fetch(self, kind: str, name: str, folder: Path) -> bool:
        """Puts a result's manifest and small files into a new folder; False if there is none that is sound."""

    def is_elsewhere(self, files: Files, file: str) -> bool:
        """Whether a file that is not in its result's folder is brought when it is read."""

    def bring(self, folder: Path, files: Files, file: str) -> bool:
        """Puts a file into its result's folder; False if it cannot be had. Raises OSError if the disk refuses."""

    def publish(self, kind: str, name: str, folder: Path) -> bool:
        """Keeps the result that is in a folder; False if another was first, and stays."""

    def give_up(self, folder: Path) -> None:
        """A result is damaged: the next that is published takes its place, unless another did before."""

    def lock(self, key: str, what: str) -> AbstractContextManager[bool]:
        """Held while a result is computed. Who has to wait says that another is doing `what`. The value says whether
        another held it before.
        """

    def needing(self, run_id: str, keys: Iterable[str]) -> AbstractContextManager[object]:
        """Says that a run needs these results while the context lasts."""

    def of_replies(self, folder: Path) -> Mirror:
        """Of a folder of replies."""

    def of_pair_scores(self, folder: Path) -> Mirror:
        """Of a folder of scores."""


class NoRemote:
    """For a folder that all see who share the store: what is not there is nowhere."""

    def holds(self, kind: str, name: str) -> bool:
        return False

    def results(self, kind: str) -> Iterable[tuple[str, str]]:
        return ()

    def is_current(self, folder: Path) -> bool:
        return True

    def fetch(self, kind: str, name: str, folder: Path) -> bool:
        return False

    def is_elsewhere(self, files: Files, file: str) -> bool:
        return False

    def bring(self, folder: Path, files: Files, file: str) -> bool:
        return False

    def publish(self, kind: str, name: str, folder: Path) -> bool:
        return True

    def give_up(self, folder: Path) -> None: ...

    def lock(self, key: str, what: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    def needing(self, run_id: str, keys: Iterable[str]) -> AbstractContextManager[object]:
        return nullcontext()

    def of_replies(self, folder: Path) -> Mirror:
        return NO_MIRROR

    def of_pair_scores(self, folder: Path) -> Mirror:
        return NO_MIRROR

    def __reduce__(self) -> str:
        """There is one."""
        return "NO_REMOTE"


NO_REMOTE = NoRemote()
