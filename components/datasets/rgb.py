"""RGB in its published layout: questions with relevant passages and noise.

Source: Chen et al. 2024, "Benchmarking Large Language Models in Retrieval-Augmented Generation" (AAAI).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.datasets.answer_fields import read_answer_parts
from components.datasets.assembly import assemble, limit_and_count
from components.datasets.data_files import require_file, require_inside, sha256_of_files
from components.datasets.given_passages import GivenPassages
from components.datasets.gold_fields import join_units
from components.datasets.json_fields import (
    Record,
    as_list,
    optional_texts,
    read_records,
    required_id,
    required_text,
)
from components.datasets.subsampling import limit_problems
from components.errors import ConfigError, DataError, read_each
from components.fields import runtime_only
from components.records import Benchmark, Evidence, Kind, Sample

_EXPECTED = "RGB's data, one question {id, query, answer, positive, negative} per line"
_POSITIVE, _NEGATIVE, _FALSE = "positive", "negative", "positive_wrong"


class Part(StrEnum):
    """The files of RGB: noise and rejection, information integration (int), and false passages (fact)."""

    EN = "en"
    EN_REFINE = "en_refine"
    EN_INT = "en_int"
    EN_FACT = "en_fact"
    ZH = "zh"
    ZH_REFINE = "zh_refine"
    ZH_INT = "zh_int"
    ZH_FACT = "zh_fact"

    @property
    def subset(self) -> str:
        """The subset of its samples: the test of the paper that the file is for."""
        return {"int": "integration", "fact": "false_passages"}.get(self.rpartition("_")[2], "noise")


@dataclass(frozen=True)
class Rgb:
    """The file `part`.json under `root` or its folder data, with the passages as the corpus.

    The passages of a sample are its positive ones, which count as relevant, and its negative ones, which are noise. For
    integration, each list of positive passages is a set of alternatives, and one passage of each set is needed. In
    `*_fact`, the relevant passages are the false ones (positive_wrong), and `fake_answers` what they claim. A sample
    has the id that the file gives it.
    """

    version: ClassVar[int] = 1

    root: str = runtime_only("", "the fingerprint covers the content of the file; its location does not matter")
    part: Part = Part.EN_REFINE
    limit: int | None = None
    limit_seed: int = 0
    groups: Groups = groups_field()

    @property
    def name(self) -> str:
        return f"rgb_{self.part}"

    def check(self) -> list[str]:
        """Return one message per error in the fields. Reads no file."""
        problems = [] if self.root else [f"root: is empty, expected the folder that holds RGB's {self.part}.json"]
        return [*problems, *limit_problems(self.limit, None)]

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file."""
        return sha256_of_files({f"{self.part}.json": self._file()}, _EXPECTED)

    def load(self) -> Benchmark:
        """Return the passages as documents, and a sample per line.

        The notes count blank passages, which are left out, and correct passages of samples that also have false ones,
        which no prompt gets. Raises ConfigError if `check` finds an error, DataError for errors in the file.
        """
        if problems := self.check():
            raise ConfigError(problems)
        file = self._file()
        lines = list(read_records(file, _EXPECTED))
        given = GivenPassages({})
        passages = read_each(lambda line: _passages(line[1], line[0]), lines)
        samples = [
            _sample(record, self.part.subset, given, sample_passages, where)
            for (where, record), sample_passages in zip(lines, passages, strict=True)
        ]
        notes = {
            "n_blank_passages": sum(sample_passages.n_blank for sample_passages in passages),
            "n_correct_passages_left_aside": sum(sample_passages.n_left_aside for sample_passages in passages),
        }
        benchmark = assemble(str(file), given.added, samples, {}, notes)
        return limit_and_count(benchmark, self.limit, self.limit_seed)

    def _file(self) -> Path:
        name, root = f"{self.part}.json", Path(self.root)
        in_data = root / "data" / name
        file = require_file(in_data if in_data.is_file() else root / name, _EXPECTED)
        return require_inside(file, [root], _EXPECTED)


@dataclass(frozen=True)
class _Passages:
    """Relevant passages as sets of alternatives, then noise.

    Blank passages are counted, and so are correct passages of samples that also have false ones.
    """

    relevant: Sequence[Sequence[str]]
    noise: Sequence[str]
    n_blank: int
    n_left_aside: int

    def as_record(self) -> Record:
        """Return the passages as the field of a user's question."""
        relevant = [
            {"text": text, "relevant": number} for number, texts in enumerate(self.relevant, 1) for text in texts
        ]
        return {"passages": [*relevant, *self.noise]}


def _passages(record: Record, where: str) -> _Passages:
    is_false = _FALSE in record
    name = _FALSE if is_false else _POSITIVE
    entries = as_list(record.get(name), f"{where}, field '{name}'")
    sets = entries if any(isinstance(entry, list) for entry in entries) else [entries]
    relevant = [optional_texts({name: texts}, name, where) for texts in sets]
    noise = optional_texts(record, _NEGATIVE, where)
    if not any(relevant):
        raise DataError(f"{where}, field '{name}': has no text, expected {_EXPECTED}")
    n_read = sum(len(texts) if isinstance(texts, list) else 1 for texts in [*sets, record.get(_NEGATIVE) or []])
    n_blank = n_read - sum(map(len, relevant)) - len(noise)
    n_left_aside = len(optional_texts(record, _POSITIVE, where)) if is_false else 0
    return _Passages([texts for texts in relevant if texts], noise, n_blank, n_left_aside)


def _sample(record: Record, subset: str, given: GivenPassages, passages: _Passages, where: str) -> Sample:
    answer = record.get("answer")
    parts = read_answer_parts({"answer_parts": answer if isinstance(answer, list) else [answer]}, where)
    ids, relevant = given.read(passages.as_record(), where)
    return Sample(
        id=required_id(record, where),
        subset=subset,
        kind=Kind.QA,
        question=required_text(record, "query", where),
        references=(", ".join(part[0] for part in parts),),
        gold=join_units([[Evidence(an_id) for an_id in alternatives] for alternatives in relevant]),
        answer_parts=parts,
        passages=ids,
        fake_answers=optional_texts(record, "fakeanswer", where),
    )
