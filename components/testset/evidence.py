"""Selection of the texts for a writer: a piece of a document and, for some tasks, pieces of related documents.

No model is used, and the seed alone decides. The evidence sets of a document do not depend on which other documents are
used.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from math import ceil
from typing import ClassVar

from components.limits import too_small
from components.testset.protocols import SourceCorpus, Task
from components.testset.records import EvidenceSet, Extract
from components.testset.windows import windows
from components.text.similar_documents import CONTAINED_SHINGLE_CHARACTERS, Shingles, hash_shingles, overlap

_FAIR_SHARE = 0.5
"""Share of the facts in a document's best piece. Pieces with fewer facts are not used."""
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class EvidenceSettings:
    """Settings of the selection of evidence.

    Pieces have at most `n_characters`, and at least `least_characters` without whitespace. A document gives one
    evidence set per started `characters_per_set`, up to `most_sets`.

    Partners come from the `n_candidates` nearest documents, except copies, which add nothing. A copy shares more than
    `most_contained` of its 8-character shingles (of the shorter text) with a piece that is already in the set. If a
    task removes its source from the corpus, the evidence set names `n_near` near documents.
    """

    n_characters: int = 2000
    least_characters: int = 100
    characters_per_set: int = 3000
    most_sets: int = 4
    n_candidates: int = 12
    n_near: int = 5
    most_contained: float = 0.3
    seed: int = 0

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return an error message for numbers out of range."""
        problems = too_small(
            self, n_characters=100, least_characters=1, characters_per_set=1, most_sets=1, n_candidates=1, n_near=0
        )
        if self.least_characters > self.n_characters:
            problems.append(f"least_characters: got {self.least_characters}, expected at most n_characters")
        if not 0 < self.most_contained <= 1:
            problems.append(f"most_contained: got {self.most_contained:g}, expected a share above 0 and up to 1")
        return problems


def evidence_sets(
    name: str, task: Task, document_ids: Sequence[str], corpus: SourceCorpus, settings: EvidenceSettings
) -> list[EvidenceSet]:
    """Return the evidence sets of the task `name` that begin with a piece of these documents, without a topic.

    The best piece of each document comes first, in the order given, then the second pieces of long documents, and so
    on.

    A document gives no evidence set if it is too short, or has no letter. For a task over several documents, a document
    with too few neighbours gives none. For a task that removes its source, a document with a copy gives none, because
    the copy may stay in the corpus.
    """
    ranked = [entry for an_id in document_ids for entry in _pieces(name, an_id, corpus, settings)]
    pieces = [piece for _, piece in sorted(ranked, key=lambda entry: entry[0])]
    if task.n_documents == 1 and not task.removes_source:
        return [_set(name, (piece,)) for piece in pieces]
    if task.removes_source:
        # Search all documents: a document that may leave the corpus stays in it if it gives no sample.
        neighbours = _neighbours(pieces, corpus, settings, staying=False)
        pieces = [
            piece
            for piece, copies in zip(pieces, neighbours, strict=True)
            if not any(_are_copies(piece, other, settings.most_contained) for other in copies)
        ]
    partners = _neighbours(pieces, corpus, settings, staying=True)
    sets = (_complete_set(name, task, piece, nearby, settings) for piece, nearby in zip(pieces, partners, strict=True))
    return [evidence for evidence in sets if evidence]


def _neighbours(
    pieces: Sequence[Extract], corpus: SourceCorpus, settings: EvidenceSettings, *, staying: bool
) -> list[list[Extract]]:
    """Return for each piece the nearest pieces of other documents."""
    # Search for one more, because a document is nearest to itself.
    segments = corpus.nearest([piece.text for piece in pieces], settings.n_candidates + 1, staying=staying)
    return [
        [
            _piece_around(segment, corpus, settings)
            for segment in [other for other in nearest if other.document_id != piece.document_id][
                : settings.n_candidates
            ]
        ]
        for piece, nearest in zip(pieces, segments, strict=True)
    ]


def _complete_set(
    name: str, task: Task, piece: Extract, others: Sequence[Extract], settings: EvidenceSettings
) -> EvidenceSet | None:
    n_partners = task.n_documents - 1
    n_near = max(n_partners, settings.n_near) if task.removes_source else 0
    telling = [other for other in others if _has_content(other.text, settings)]
    distinct = list(islice(_distinct_pieces(piece, telling, settings.most_contained), max(n_partners, n_near)))
    if len(distinct) < n_partners:
        return None
    return _set(name, (piece, *distinct[:n_partners]), tuple(other.document_id for other in distinct[:n_near]))


def _pieces(
    name: str, document_id: str, corpus: SourceCorpus, settings: EvidenceSettings
) -> Iterator[tuple[int, Extract]]:
    """Yield the chosen pieces of a document, each with its rank.

    The pieces with enough facts are drawn by the seed and the task, so that several tasks do not all use the same
    piece.
    """
    text = corpus.texts[document_id]
    n_facts_of = {
        span: len(facts(text[slice(*span)]))
        for span in windows(text, settings.n_characters)
        if _has_content(text[slice(*span)], settings)
    }
    n_sets = min(settings.most_sets, ceil(len(text) / settings.characters_per_set))
    max_facts = max(n_facts_of.values(), default=0)
    fair = [span for span, n_facts in n_facts_of.items() if n_facts >= _FAIR_SHARE * max_facts]
    shuffled = sorted(fair, key=lambda span: _hash(settings.seed, name, document_id, *span))
    for rank, (start, end) in enumerate(shuffled[:n_sets]):
        yield rank, Extract(document_id, corpus.titles[document_id], start, end, text[start:end])


def _has_content(text: str, settings: EvidenceSettings) -> bool:
    return sum(map(len, text.split())) >= settings.least_characters and _LETTER.search(text) is not None


def _piece_around(segment: Extract, corpus: SourceCorpus, settings: EvidenceSettings) -> Extract:
    """Return the piece of the document that contains most of `segment`, which may be only a sentence or two."""
    text = corpus.texts[segment.document_id]
    spans = windows(text, settings.n_characters)
    start, end = max(spans, key=lambda span: min(span[1], segment.end) - max(span[0], segment.start))
    return Extract(segment.document_id, segment.title, start, end, text[start:end])


def _distinct_pieces(piece: Extract, others: Sequence[Extract], max_contained: float) -> Iterator[Extract]:
    """Yield the pieces that are not copies of the first piece or of one yielded before."""
    taken = [piece]
    for other in others:
        if not any(_are_copies(earlier, other, max_contained) for earlier in taken):
            taken.append(other)
            yield other


def _are_copies(one: Extract, other: Extract, max_contained: float) -> bool:
    return overlap(_shingles(one.text), _shingles(other.text)) > max_contained


@lru_cache(maxsize=256)
def _shingles(text: str) -> Shingles:
    """Return the shingles of a text, cached because a piece is compared with many others."""
    return hash_shingles(text, CONTAINED_SHINGLE_CHARACTERS)


def _set(name: str, extracts: tuple[Extract, ...], near: tuple[str, ...] = ()) -> EvidenceSet:
    places = [part for extract in extracts for part in (extract.document_id, extract.start, extract.end)]
    return EvidenceSet(f"{name}-{_hash(name, *places)[:16]}", name, "", extracts, near)


def _hash(*parts: str | int) -> str:
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


_FACT = re.compile(
    r"""
      \d+(?:[.,:：]\d+)*                                   # 1,200 and 12.5 and 10:30 are one number each
    | 《[^》\n]{1,30}》 | “[^”\n]{2,20}” | "[^"\n]{2,30}"
    | (?<=[^\s.!?:;"“(]\s)[A-Z][\w&'-]+(?:\s[A-Z][\w&'-]+)*    # not at the beginning of a sentence
    """,
    re.VERBOSE,
)


def facts(text: str) -> frozenset[str]:
    """Return the distinct numbers and names of a text, in NFKC. Unmarked names, as in Chinese, are not found."""
    return frozenset(_FACT.findall(unicodedata.normalize("NFKC", text)))
