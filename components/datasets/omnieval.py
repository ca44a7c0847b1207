"""OmniEval in its published folder layout: a corpus of nodes, and items by topic and task.

Source: Wang et al. 2024, "OmniEval: An Omnidirectional and Automatic RAG Evaluation Benchmark in Financial Domain".
Nodes become documents, and gold becomes spans of them. The pickle files next to the nodes are never read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.datasets.assembly import assemble, limit_and_count, require_some_gold_in_corpus
from components.datasets.data_files import require_file, require_folder, require_inside, sha256_of_files
from components.datasets.json_fields import optional_text, read_records, required_id, required_text
from components.datasets.omnieval_items import EXPECTED as EXPECTED_ITEMS
from components.datasets.omnieval_items import EXPECTED_FLAT, item_files, read_flat_items, read_items
from components.datasets.subsampling import limit_problems
from components.errors import ConfigError, DataError
from components.fields import runtime_only
from components.records import Benchmark, Documents

_PLACES = ("", "data_generator/")
_EXPECTED_CORPUS = "OmniEval's corpus.jsonl, one node {id, title, contents} per line"


class Split(StrEnum):
    """The origin of the items: generated, or annotated by people."""

    AUTO = "auto"
    HUMAN = "human"


@dataclass(frozen=True)
class OmniEval:
    """The data under `root`: corpus.jsonl in `corpus_folder`, and items.

    The `split` auto reads items by topic and task from `samples_folder`, the split human reads the flat `human_file`.
    An empty setting is replaced by the only match: a folder under corpus/nodes_dir; gen_datas*_final, or
    human_annotated/*/*.jsonl, under the root or its data_generator. A sample's id is "<topic>/<task>/<line from 0>",
    followed by "#<turn from 0>" in conversations.
    """

    version: ClassVar[int] = 3

    root: str = runtime_only("", "the fingerprint covers the content of the files; their location does not matter")
    corpus_folder: str = ""
    split: Split = Split.AUTO
    samples_folder: str = ""
    human_file: str = ""
    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None
    groups: Groups = groups_field()

    @property
    def name(self) -> str:
        return "omnieval"

    def check(self) -> list[str]:
        """Return one message per error in the fields. Reads no file."""
        problems = [] if self.root else ["root: is empty, expected the folder that holds OmniEval's data"]
        return [*problems, *limit_problems(self.limit, self.max_documents)]

    def fingerprint(self) -> str:
        """Return the SHA-256 of the corpus file and of the names (topics and tasks) and contents of all item files."""
        if self.split is Split.HUMAN:
            items = {"human.jsonl": self._find_human_file()}
        else:
            folder = self._find_samples_folder()
            files = item_files(folder, Path(self.root))
            items = {f"items/{file.relative_to(folder).as_posix()}": file for file in files}
        return sha256_of_files({"corpus.jsonl": self._find_corpus_file(), **items}, "OmniEval's data")

    def load(self) -> Benchmark:
        """Return the nodes as documents, and one sample per item or per turn of a conversation.

        Raises ConfigError if `check` finds an error, DataError for errors in the files and if no gold is in the corpus.
        """
        if problems := self.check():
            raise ConfigError(problems)
        documents = _read_corpus(self._find_corpus_file())
        texts = dict(zip(documents.ids, documents.texts, strict=True))
        if self.split is Split.HUMAN:
            path = self._find_human_file()
            items = read_flat_items(path, texts)
        else:
            path = self._find_samples_folder()
            items = read_items(path, Path(self.root), texts)
        benchmark = assemble(self.root, documents, items.samples, items.labels, items.counts)
        require_some_gold_in_corpus(benchmark, str(path), "Choose the corpus of these items with corpus_folder.")
        return limit_and_count(benchmark, self.limit, self.limit_seed, self.max_documents)

    def _find_corpus_file(self) -> Path:
        folder = self._find_corpus_folder()
        return require_inside(folder / "corpus.jsonl", [Path(self.root), folder], _EXPECTED_CORPUS)

    def _find_corpus_folder(self) -> Path:
        nodes = Path(self.root) / "corpus" / "nodes_dir"
        if self.corpus_folder:
            return Path(self.root) / self.corpus_folder
        require_folder(nodes, "OmniEval's corpus, a folder of nodes with a corpus.jsonl in it")
        folders = [file.parent for file in nodes.glob("*/corpus.jsonl")]
        return _only_match(folders, nodes, "corpus_folder", "a folder with corpus.jsonl")

    def _find_samples_folder(self) -> Path:
        root = require_folder(Path(self.root), "OmniEval's data, with corpus/ and gen_datas*_final/")
        if self.samples_folder:
            return require_folder(root / self.samples_folder, EXPECTED_ITEMS)
        folders = [folder for pattern in _PLACES for folder in root.glob(f"{pattern}gen_datas*_final")]
        return _only_match(folders, root, "samples_folder", "a folder gen_datas*_final with the questions")

    def _find_human_file(self) -> Path:
        root = require_folder(Path(self.root), "OmniEval's data, with corpus/ and human_annotated/")
        if self.human_file:
            return require_inside(require_file(root / self.human_file, EXPECTED_FLAT), [root], EXPECTED_FLAT)
        files = [file for pattern in _PLACES for file in root.glob(f"{pattern}human_annotated/*/*.jsonl")]
        return require_inside(
            _only_match(files, root, "human_file", "human_annotated/*/*.jsonl"), [root], EXPECTED_FLAT
        )


def _only_match(matches: Sequence[Path], parent: Path, setting: str, expected: str) -> Path:
    if not matches:
        raise DataError(
            f"{parent}: does not contain {expected}. Set dataset.root to OmniEval's data, or dataset.{setting}."
        )
    if len(matches) > 1:
        names = ", ".join(sorted(path.relative_to(parent).as_posix() for path in matches))
        raise DataError(f"{parent}: contains several candidates for {setting}: {names}. Choose one with {setting}.")
    return matches[0]


def _read_corpus(file: Path) -> Documents:
    ids: list[str] = []
    titles: list[str] = []
    texts: list[str] = []
    for location, record in read_records(file, _EXPECTED_CORPUS):
        ids.append(required_id(record, location))
        titles.append(optional_text(record, "title", location))
        texts.append(required_text(record, "contents", location))
    return Documents(ids, titles, texts)
