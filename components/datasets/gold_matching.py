"""Finds where gold texts occur in a corpus, by the sentences they share.

CRUD-RAG gives its gold as text, not as document ids, and its passages are windows that may begin and end anywhere and
span two documents. So a passage is looked up sentence by sentence, ignoring white space: first the sentences of all
passages are collected, then every document is read once.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable

from components.records import Evidence

MIN_SENTENCE_CHARACTERS = 10
"""Shorter sentences occur everywhere and prove nothing."""

_SENTENCE = re.compile(r"[^。！？!?；;]+")


def sentences_of(text: str) -> list[str]:
    """The sentences of a text with at least MIN_SENTENCE_CHARACTERS, without white space or end marks."""
    return [s for s in _SENTENCE.findall("".join(text.split())) if len(s) >= MIN_SENTENCE_CHARACTERS]


class PassageFinder:
    """Documents, added one by one, in which `passages` can be found. Other sentences are not kept, to save memory."""

    def __init__(self, passages: Iterable[str], min_overlap: float) -> None:
        """`min_overlap` in (0, 1] is the share of a passage's sentences, by characters, that must occur."""
        self._wanted = {sentence for passage in passages for sentence in sentences_of(passage)}
        self._min_overlap = min_overlap
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._places: dict[str, list[int]] = defaultdict(list)

    def add(self, document_id: str, text: str) -> None:
        """Adds a document. Of equally good documents, `find` takes the one that was added first."""
        found = self._wanted.intersection(sentences_of(text))
        if not found:
            return
        for sentence in found:
            self._places[sentence].append(len(self._ids))
        self._ids.append(document_id)
        self._texts.append(text)

    def find(self, passage: str) -> tuple[Evidence, ...]:
        """Where one of the `passages` occurs: a span of one document that holds enough of it, or else spans of two
        documents that do so together, or else nothing. A span goes from the first to the last shared sentence.
        """
        sentences = set(sentences_of(passage))
        needed = self._min_overlap * _n_characters(sentences)
        shared: dict[int, set[str]] = defaultdict(set)
        for sentence in sentences:
            for position in self._places.get(sentence, ()):
                shared[position].add(sentence)
        if not shared:
            return ()
        best = min(shared, key=lambda position: (-_n_characters(shared[position]), position))
        if _n_characters(shared[best]) >= needed:
            return (self._span(best, shared[best]),)
        # The passage may straddle two documents: the second is the one that adds most to the first.
        second = min(shared, key=lambda position: (-_n_characters(shared[position] - shared[best]), position))
        if _n_characters(shared[best] | shared[second]) >= needed:
            return tuple(self._span(position, shared[position]) for position in sorted((best, second)))
        return ()

    def _span(self, position: int, sentences: Collection[str]) -> Evidence:
        """The characters of a document from the first to the last of some of its sentences, including the end mark."""
        text = self._texts[position]
        matches = [match for match in _SENTENCE.finditer(text) if "".join(match.group().split()) in sentences]
        first = matches[0]
        start = first.end() - len(first.group().lstrip())
        return Evidence(self._ids[position], start, min(matches[-1].end() + 1, len(text)))


def _n_characters(sentences: Iterable[str]) -> int:
    return sum(map(len, sentences))
