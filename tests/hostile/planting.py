"""Code that must never run: a package and a program that leave a mark each."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.engine.plugins.plugin_loading import allow_edits

_MODULE = '''
from dataclasses import dataclass
from logging import Filter, Formatter, Handler
from pathlib import Path
from typing import ClassVar

from hydra.experimental.callback import Callback

Path({mark!r}).touch()


def run(*arguments, **options):
    Path({mark!r}).touch()


class OnRun(Callback):
    pass


class ToNowhere(Handler):
    def emit(self, record):
        pass


@dataclass(frozen=True)
class Doubled:
    """A metric that exists for a corpus alone."""

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool] = True
    names: ClassVar[tuple[str, ...]] = ("doubled",)
    form: ClassVar[None] = None
    is_share: ClassVar[bool] = False

    def score_answers(self, samples, answers, references):
        import numpy as np

        from components.records import Scores, ScoreState

        lengths = np.array([[len(text), 1.0] for text in answers.texts])
        return {{"doubled": Scores(lengths, (ScoreState.VALUE,) * len(lengths), np.full(len(lengths), np.nan))}}

    def combine(self, name, sums):
        return 2 * sums[..., 0] / sums[..., 1]
'''


@dataclass(frozen=True)
class Planted:
    """The package `name` in `folder`, its program, and the file that either leaves behind."""

    folder: Path
    name: str

    @property
    def mark(self) -> Path:
        return self.folder / "it-ran"

    @property
    def program(self) -> Path:
        return self.folder / "program"

    @property
    def has_run(self) -> bool:
        return self.mark.exists() or self.name in sys.modules

    def plant(self) -> None:
        package = self.folder / self.name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(_MODULE.format(mark=str(self.mark)), encoding="utf-8")
        self.program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\n", encoding="utf-8")
        self.program.chmod(0o755)

    def forget(self) -> None:
        """Delete the mark and unload the package, so that the next import leaves the mark again."""
        self.mark.unlink(missing_ok=True)
        sys.modules.pop(self.name, None)


@contextmanager
def planted_in(folder: Path, name: str) -> Iterator[Planted]:
    """The package can be imported until the end."""
    planted = Planted(folder, name)
    planted.plant()
    allow_edits()  # a test before may have named a package of this name
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        try:
            yield planted
        finally:
            sys.modules.pop(name, None)
