"""A test set of documents and samples, and its content key."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from components.json_value import Json
from components.records import Documents, Sample
from runner.results.set_lines import document_lines, encode_line, sample_line


@dataclass(frozen=True)
class Edit:
    """A field of a sample that people changed.

    `before` and `after` are as in samples.jsonl. `by` are the annotators who changed it. `version` is the key of the
    set that they saw.
    """

    sample: str
    field: str
    before: Json
    after: Json
    by: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class Testset:
    """A test set.

    `provenance`, by sample id, records the origin of samples. `about` records the configuration, models and versions
    that produced the set. Neither is part of its content. `parent` is the key of the set that this one was derived
    from, "" for none. Topics and tasks of the samples are as in the file.
    """

    documents: Documents
    samples: tuple[Sample, ...]
    provenance: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    parent: str = ""
    edits: tuple[Edit, ...] = ()
    about: Mapping[str, Json] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """Content key, which ignores provenance and edits: see `content_key`."""
        return content_key(self.samples, self.documents)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Texts of the documents, by id."""
        return dict(zip(self.documents.ids, self.documents.texts, strict=True))

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Titles of the documents, by id, "" for a document that has no title."""
        return dict(zip(self.documents.ids, self.documents.titles, strict=True))

    def next_version(self, samples: Iterable[Sample], edits: Iterable[Edit], about: Mapping[str, Json]) -> "Testset":
        """Return a version with other samples, more edits and more `about` entries, whose parent is this set.

        Returns this set itself if its content does not change. Provenance and edits of deleted samples are deleted too.
        """
        samples = tuple(samples)
        names = {sample.id for sample in samples}
        provenance = {name: facts for name, facts in self.provenance.items() if name in names}
        edits = tuple(edit for edit in (*self.edits, *edits) if edit.sample in names)
        derived = Testset(self.documents, samples, provenance, self.key, edits, {**self.about, **about})
        return self if derived.key == self.key else derived

    def problems(self) -> list[str]:
        """Return one message per error that prevents a release: repeated ids, blank texts, gold outside the documents
        of the set.
        """
        messages = [f"the document {name!r} occurs twice" for name in _duplicates(self.documents.ids)]
        messages += [f"the sample {name!r} occurs twice" for name in _duplicates(each.id for each in self.samples)]
        for sample in self.samples:
            if not all(text.strip() for text in (sample.question, *sample.references)):
                messages.append(f"sample {sample.id!r}: its question or a reference is blank")
            for unit in sample.gold:
                length = len(self.texts.get(unit.document_id, ""))
                if unit.document_id not in self.texts:
                    messages.append(
                        f"sample {sample.id!r}: its gold is in {unit.document_id!r}, which is not a document of the set"
                    )
                elif unit.start is not None and not 0 <= unit.start < (unit.end or 0) <= length:
                    span = f"[{unit.start}, {unit.end}) of {unit.document_id!r}, which has {length} characters"
                    messages.append(f"sample {sample.id!r}: its gold is {span}")
        return messages


def content_key(samples: Iterable[Sample], documents: Documents) -> str:
    """Return the SHA-256 (hex) of everything that an evaluation can see.

    That is documents with title and metadata, and ids, questions, references, gold, topics, tasks, kinds, subsets and
    histories of samples. The order of documents, samples and gold is ignored. The order of references matters, because
    some metrics read only the first. Provenance and edits do not count: equal content is one version. Raises DataError
    for a lone surrogate, which UTF-8 cannot encode.
    """
    digest = hashlib.sha256()
    for part in (document_lines(documents), map(_line_with_sorted_gold, samples)):
        lines = sorted(map(encode_line, part))
        digest.update(f"{len(lines)}\n".encode())
        for line in lines:
            digest.update(line)
    return digest.hexdigest()


def _line_with_sorted_gold(sample: Sample) -> dict[str, Json]:
    fields = sample_line(sample)
    fields["gold"].sort(key=encode_line)
    return fields


def _duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, n in Counter(names).items() if n > 1]
