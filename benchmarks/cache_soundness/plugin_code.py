"""A user's package whose parts return other results when any of its files changes: places by kind, and numbers."""

import json
from collections.abc import Mapping
from pathlib import Path

_PARTS = """
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from runpy import run_path
from typing import ClassVar

import numpy as np

from components.means import combine_mean, mean_scores
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Spans
from alone import alone_total
from plug import constants
from plug.helper import helped
from plug.linked.there import there
from plug.parent import Parent
from plug.starred import *
from plug.sub.inner import INNER

OWN = 1
TABLE = Path(__file__).with_name("table.txt")
HERE = Path(__file__).parent
WHEN_IMPORTED = int((HERE / "data" / "early.txt").read_text())


def executed():
    names = {}
    exec((HERE / "executed.py").read_text(), names)
    return names["EXECUTED"]


def loaded():
    spec = spec_from_file_location("loaded_by_path", HERE / "loaded.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LOADED


def computed():
    return int(Path(__file__).with_name("_".join(("path", "computed"))).with_suffix(".txt").read_text())


def read_by_path():
    ran = run_path(str(HERE / "ran.py"))["RAN"]
    return executed() + loaded() + ran + WHEN_IMPORTED + int((HERE / "data" / "late.txt").read_text()) + computed()


class Counting(Parent):
    def content_hash(self):
        return sha256(TABLE.read_bytes()).hexdigest()

    def total(self):
        places = (OWN, helped(), self.inherited(), constants.CONSTANT, INNER, there(), STAR, int(TABLE.read_text()))
        return sum(places) + read_by_path() + alone_total()


@dataclass(frozen=True)
class Metric(Counting):
    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool] = True
    names: ClassVar[tuple[str, ...]] = ("total",)
    form: ClassVar[None] = None

    def score_answers(self, samples, predictions, references):
        return {"total": mean_scores([self.total() / 100 for _ in predictions.texts])}

    def combine(self, name, sums):
        return combine_mean(sums)


@dataclass(frozen=True)
class Chunker(Counting):
    version: ClassVar[int] = 1
    length_tokenizer: ClassVar[None] = None

    def chunk(self, documents, segments):
        size = 4 * self.total()
        spans = [
            (number, start, min(start + size, len(text)))
            for number, text in enumerate(documents.texts)
            for start in range(0, len(text), size)
        ]
        return Spans(*(np.array(column, dtype=np.int32) for column in zip(*spans, strict=True)))


@dataclass(frozen=True)
class Reranker(Counting):
    depth: int = 20
    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None

    def score(self, queries, chunks, pairs):
        lengths = [(len(chunks.texts[chunk]) * self.total()) % 13 for _, chunk in pairs.tolist()]
        return np.array(lengths, dtype=np.float32)


@dataclass(frozen=True)
class Llm(Counting):
    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def generate(self, requests):
        for request in requests:
            yield Answer(request.id, AnswerState.OK, f"it is {self.total()}")


@dataclass(frozen=True)
class Baseline(Llm):
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.SAMPLE
"""

_ALONE = """
from pathlib import Path
from runpy import run_path


def alone_total():
    here = Path(__file__).parent
    return int((here / "alone_table.txt").read_text()) + run_path(str(here / "alone_rules.py"))["RULE"]
"""

_HOOK = """
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.chunkers.whole import WholeDocuments
from components.datasets.jsonl import Jsonl


def edit(when):
    for file, text in json.loads(os.environ.get(f"EDIT_AT_{when}", "{}")).items():
        Path(file).write_text(text)


@dataclass(frozen=True)
class Data:
    documents: str
    samples: str
    version: ClassVar[int] = 1
    name: ClassVar[str] = "own"

    def fingerprint(self):
        return Jsonl(self.documents, self.samples).fingerprint()

    def load(self):
        edit("LOAD")
        return Jsonl(self.documents, self.samples).load()


@dataclass(frozen=True)
class Chunker(WholeDocuments):
    def chunk(self, documents, segments):
        edit("CHUNK")
        return super().chunk(documents, segments)
"""

PLACES = {
    "the class's file": ("plug/parts.py", "OWN = 1", "OWN = 5"),
    "a helper module": ("plug/helper.py", "return 1", "return 5"),
    "a parent class": ("plug/parent.py", "return 1", "return 5"),
    "a constant": ("plug/constants.py", "CONSTANT = 1", "CONSTANT = 5"),
    "a sub-package": ("plug/sub/inner.py", "INNER = 1", "INNER = 5"),
    "a sub-package behind a link": ("outside/there.py", "return 1", "return 5"),
    "a module of which all is imported": ("plug/starred.py", "STAR = 1", "STAR = 5"),
    "a data file": ("plug/table.txt", "1", "5"),
    "a data file without a content hash": ("plug/data/late.txt", "1", "5"),
    "a data file that is read at import": ("plug/data/early.txt", "1", "5"),
    "a data file at a computed path": ("plug/path_computed.txt", "1", "5"),
    "code that is executed": ("plug/executed.py", "EXECUTED = 1", "EXECUTED = 5"),
    "code that is loaded by its path": ("plug/loaded.py", "LOADED = 1", "LOADED = 5"),
    "code that is run by its path": ("plug/ran.py", "RAN = 1", "RAN = 5"),
    "a data file beside a single module": ("alone_table.txt", "1", "5"),
    "code beside a single module": ("alone_rules.py", "RULE = 1", "RULE = 5"),
}
"""The file, the text to replace and its replacement. Sizes are equal, so that a cache of bytecode misses the edit."""


def write(folder: Path) -> None:
    """Write the package `plug`, and `hook`, which edits files while a data set loads or a corpus is split."""
    files = {
        "plug/__init__.py": "",
        "plug/parts.py": _PARTS,
        "plug/helper.py": "def helped():\n    return 1\n",
        "plug/parent.py": "class Parent:\n    def inherited(self):\n        return 1\n",
        "plug/constants.py": "CONSTANT = 1\n",
        "plug/sub/__init__.py": "",
        "plug/sub/inner.py": "INNER = 1\n",
        "plug/starred.py": "STAR = 1\n",
        "plug/table.txt": "1",
        "plug/data/late.txt": "1",
        "plug/data/early.txt": "1",
        "plug/path_computed.txt": "1",
        "plug/executed.py": "EXECUTED = 1\n",
        "plug/loaded.py": "LOADED = 1\n",
        "plug/ran.py": "RAN = 1\n",
        "alone.py": _ALONE,
        "alone_table.txt": "1",
        "alone_rules.py": "RULE = 1\n",
        "outside/__init__.py": "",
        "outside/there.py": "def there():\n    return 1\n",
        "hook/__init__.py": "",
        "hook/parts.py": _HOOK,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if not (folder / "plug" / "linked").is_symlink():
        (folder / "plug" / "linked").symlink_to("../outside")


def make_edit(folder: Path, place: str) -> dict[Path, str]:
    """Return the file of a place, and its text after the edit."""
    name, before, after = PLACES[place]
    return {folder / name: (folder / name).read_text(encoding="utf-8").replace(before, after)}


def variable(edit: Mapping[Path, str]) -> str:
    """Return an edit in the form that `hook` reads from the environment."""
    return json.dumps({str(file): text for file, text in edit.items()})
