"""A released set of documents and samples, and the key that stands for what is in it."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from components.json_value import Json
from components.records import Documents, Sample
from runner.results.set_lines import document_lines, line_of, sample_line


@dataclass(frozen=True)
class Edit:
    """One field of a sample that people changed. `before` and `after` are as in samples.jsonl; `by` are those who said
    so; `version` is the key of the set that they were shown.
    """

    sample: str
    field: str
    before: Json
    after: Json
    by: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class Testset:
    """`provenance` by sample id says where samples come from, and `about` what made the set (its configuration, models,
    versions): neither is part of its content. `parent` is the key of the set that this one was made of, "" for none.
    Topics and tasks of the samples are as the file writes them.
    """

    documents: Documents
    samples: tuple[Sample, ...]
    provenance: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    parent: str = ""
    edits: tuple[Edit, ...] = ()
    about: Mapping[str, Json] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """See `content_key`."""
        return content_key(self.samples, self.documents)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Of the documents, by id."""
        return dict(zip(self.documents.ids, self.documents.texts, strict=True))

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Of the documents, by id; "" for one without."""
        return dict(zip(self.documents.ids, self.documents.titles, strict=True))

    def next_version(self, samples: Iterable[Sample], edits: Iterable[Edit], about: Mapping[str, Json]) -> "Testset":
        """Made of this one, with other samples, more edits and what made it: its parent is this one, unless its content
        is the same, and with it its key. Of samples that are gone, provenance and edits go too.
        """
        samples = tuple(samples)
        names = {sample.id for sample in samples}
        provenance = {name: facts for name, facts in self.provenance.items() if name in names}
        edits = tuple(edit for edit in (*self.edits, *edits) if edit.sample in names)
        made = Testset(self.documents, samples, provenance, self.key, edits, {**self.about, **about})
        return self if made.key == self.key else made

    def mistakes(self) -> list[str]:
        """Why it cannot be released: ids that occur twice, blank texts, gold that lies in no document of the set."""
        found = [f"the document '{name}' is there twice" for name in _repeated(self.documents.ids)]
        found += [f"the sample '{name}' is there twice" for name in _repeated(each.id for each in self.samples)]
        for sample in self.samples:
            if not all(text.strip() for text in (sample.question, *sample.references)):
                found.append(f"sample '{sample.id}': its question or a reference is blank")
            for unit in sample.gold:
                length = len(self.texts.get(unit.document_id, ""))
                if unit.document_id not in self.texts:
                    found.append(f"sample '{sample.id}': its gold is of '{unit.document_id}', which is no document")
                elif unit.start is not None and not 0 <= unit.start < (unit.end or 0) <= length:
                    place = f"[{unit.start}, {unit.end}) of '{unit.document_id}', which has {length} characters"
                    found.append(f"sample '{sample.id}': its gold is {place}")
        return found


def content_key(samples: Iterable[Sample], documents: Documents) -> str:
    """SHA-256 (hex) of all that an evaluation can see: documents with title and metadata; ids, questions, references,
    gold, topics, tasks, kinds, subsets and histories of samples.

    Neither the order of documents and samples counts, nor that of the gold of a sample; that of its references does, as
    some metrics read the first one alone. Provenance and edits do not: two ways to one set are one version of it.
    Raises DataError for half of a character, which no file can hold.
    """
    digest = hashlib.sha256()
    for part in (document_lines(documents), map(_with_gold_in_order, samples)):
        lines = sorted(map(line_of, part))
        digest.update(f"{len(lines)}\n".encode())
        for line in lines:
            digest.update(line)
    return digest.hexdigest()


def _with_gold_in_order(sample: Sample) -> dict[str, Json]:
    fields = sample_line(sample)
    fields["gold"].sort(key=line_of)
    return fields


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, n in Counter(names).items() if n > 1]
