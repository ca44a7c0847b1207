"""The contract of data sets, for the bundled benchmark."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.datasets import demo
from components.datasets.demo import Demo
from components.protocols import Dataset
from tests.contracts.dataset_contract import DatasetContract


@dataclass(frozen=True)
class _Elsewhere(Demo):
    """The bundled benchmark, read from another folder."""

    folder: Path = Path()

    def fingerprint(self) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(demo, "bundled_file", lambda name, *_: self.folder / name)
            return super().fingerprint()


class TestDemo(DatasetContract):
    component = Demo()

    def with_one_byte_more(self, tmp_path: Path) -> Sequence[Dataset]:
        names = ("documents.jsonl", "samples.jsonl")
        copies = []
        for longer in (None, *names):
            folder = tmp_path / str(longer)
            folder.mkdir()
            for name in names:
                with ExitStack() as stack:
                    content = demo.bundled_file(name, stack).read_bytes()
                (folder / name).write_bytes(content + (b"\n" if name == longer else b""))
            copies.append(_Elsewhere(folder=folder))
        return copies


class TestLimitedDemo(TestDemo):
    component = Demo(limit=2)
