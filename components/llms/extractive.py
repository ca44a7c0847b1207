"""A baseline that is no language model: it answers with sentences of its context."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from math import log
from typing import ClassVar, NamedTuple

from components.limits import too_small
from components.protocols import AnswersFrom, WordTokenizer
from components.records import Answer, AnswerState, Kind, Request
from components.text.sentences import sentence_ends
from components.tokenizers.rjieba_words import RjiebaWords

Sentences = dict[str, frozenset[str]]
"""Distinct sentences in order, each with its distinct terms."""


@dataclass(frozen=True)
class Extractive:
    """Selects and orders sentences of the passages, by the kind of the task; it never writes a word of its own.

    qa and conversation: the sentences that share most with the question, up to `answer_characters`. long_form,
    summarization and continuation: more of them, up to `text_characters`, in the order of the context, skipping what
    repeats; a continuation also skips what the beginning says already. correction: every sentence of the passage to
    correct is replaced by the most similar sentence of the context if their terms overlap by `replace_overlap`
    (Jaccard).

    It shows what retrieval alone is worth, needs no download and is reproducible. Its scores say nothing about what a
    language model would make of the same context. No passages: the answer is empty.
    """

    answer_characters: int = 120
    text_characters: int = 240
    replace_overlap: float = 0.4
    tokenizer: WordTokenizer = RjiebaWords()

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.SAMPLE

    def check(self) -> list[str]:
        """Mistakes of the numbers."""
        mistakes = too_small(self, answer_characters=1, text_characters=1)
        if not 0 < self.replace_overlap <= 1:
            mistakes.append(f"replace_overlap: got {self.replace_overlap}, expected a share in (0, 1]")
        return mistakes

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """One answer per request, in order; EMPTY without a usable sentence."""
        for request in requests:
            started = time.perf_counter()
            text = self._write(request)
            state = AnswerState.OK if text else AnswerState.EMPTY
            yield Answer(request.id, state, text, latency_s=time.perf_counter() - started)

    def _write(self, request: Request) -> str:
        sample = request.sample
        sentences = self._sentences([passage.text for passage in request.passages])
        if sample.kind is Kind.CORRECTION:
            return self._correct(sample.question, sentences)
        asked = "\n".join([*(turn.question for turn in sample.history), sample.question])
        limit = self.answer_characters if sample.kind in (Kind.QA, Kind.CONVERSATION) else self.text_characters
        known = self._terms(sample.question) if sample.kind is Kind.CONTINUATION else frozenset()
        return _select(sentences, self._terms(asked), limit, known)

    def _terms(self, text: str) -> frozenset[str]:
        terms = _recent_terms if _is_remembered(self.tokenizer, text) else _terms
        return terms(self.tokenizer, text)

    def _sentences(self, texts: Sequence[str]) -> Sentences:
        """Sentences with at least one term."""
        sentences: Sentences = {}
        for text in texts:
            own = _recent_sentences if _is_remembered(self.tokenizer, text) else _sentences
            sentences |= own(self.tokenizer, text)
        return sentences

    def _correct(self, passage: str, sentences: Sentences) -> str:
        if not sentences:
            return ""
        corrected = []
        for stated, terms in self._sentences([passage]).items():
            overlaps = [_jaccard(other, terms) for other in sentences.values()]
            largest = max(overlaps)
            best = list(sentences)[overlaps.index(largest)]
            corrected.append(best if largest >= self.replace_overlap else stated)
        return _joined(list(dict.fromkeys(corrected)))


def _terms(tokenizer: WordTokenizer, text: str) -> frozenset[str]:
    (words,) = tokenizer.words([text])
    return frozenset(filter(None, map(tokenizer.normalize, words.words)))


def _sentences(tokenizer: WordTokenizer, text: str) -> Sentences:
    sentences = dict.fromkeys(text[start:end].strip() for start, end in pairwise([0, *sentence_ends(text).tolist()]))
    terms_of = _recent_terms if _is_remembered(tokenizer, text) else _terms
    terms = ((sentence, terms_of(tokenizer, sentence)) for sentence in sentences)
    return {sentence: own for sentence, own in terms if own}


def _is_remembered(tokenizer: WordTokenizer, text: str) -> bool:
    """Return False for long texts, and for all texts of a custom tokenizer: its files may change between two sweeps of
    one process, and equal fields do not show it. Our tokenizers read no files.
    """
    return len(text) <= _LONGEST_REMEMBERED and type(tokenizer).__module__.startswith("components.")


_LONGEST_REMEMBERED = 2000
"""Passages come again, for other questions and in other cells of a sweep; longer texts are not remembered."""
# Components are hashable, which a protocol of theirs cannot say.
_recent_terms: Callable[[WordTokenizer, str], frozenset[str]] = lru_cache(maxsize=20_000)(_terms)  # type: ignore[assignment]
_recent_sentences: Callable[[WordTokenizer, str], Sentences] = lru_cache(maxsize=5_000)(_sentences)  # type: ignore[assignment]


class _Candidate(NamedTuple):
    """A sentence that may be chosen: the weights of its terms that are asked for (in the order of the terms, so that
    equal sums are equal to the bit), what these are worth once they were said, and by what its gain is scaled.
    """

    place: int
    text: str
    terms: frozenset[str]
    weights: Sequence[tuple[str, float]] = ()
    repeated: float = 0.0
    root_length: float = 1.0
    share_new: float = 1.0

    def gain(self, open_terms: set[str]) -> float:
        """What is asked and not said yet counts in full, what was said already a tenth, what is known against it."""
        if not self.weights:
            return 0.0
        value = sum(weight for term, weight in self.weights if term in open_terms) + self.repeated
        return value / self.root_length * self.share_new


def _select(sentences: Sentences, asked: frozenset[str], limit: int, known: frozenset[str]) -> str:
    """Greedily takes the sentence that adds most of what is asked, until `limit` characters; at least one."""
    left, n_characters = _candidates(sentences, asked, known), 0
    chosen: list[_Candidate] = []
    open_terms = set(asked)
    while left:
        gains = [candidate.gain(open_terms) for candidate in left]
        best = left[gains.index(max(gains))]
        if chosen and n_characters + len(best.text) > limit:
            break
        chosen.append(best)
        n_characters += len(best.text)
        open_terms -= best.terms
        left = [other for other in left if other is not best and _jaccard(other.terms, best.terms) < 0.7]
    return _joined([candidate.text for candidate in sorted(chosen)])


def _candidates(sentences: Sentences, asked: frozenset[str], known: frozenset[str]) -> list[_Candidate]:
    hits = [sorted(terms & asked) for terms in sentences.values()]
    weight = _rarity(hits)
    return [
        _candidate(place, text, terms, [(term, weight[term]) for term in own], known)
        if own
        else _Candidate(place, text, terms)
        for place, ((text, terms), own) in enumerate(zip(sentences.items(), hits, strict=True))
    ]


def _candidate(
    place: int, text: str, terms: frozenset[str], weights: list[tuple[str, float]], known: frozenset[str]
) -> _Candidate:
    repeated = 0.1 * sum(weight for _, weight in weights)
    share_new = 1 - len(terms & known) / len(terms)
    return _Candidate(place, text, terms, weights, repeated, (len(terms) + 5) ** 0.5, share_new)


def _joined(sentences: Sequence[str]) -> str:
    """Sentences in a row, with a blank after those that end as English ones do."""
    return "".join(f"{sentence} " if sentence[-1:].isascii() else sentence for sentence in sentences).strip()


def _rarity(terms: Sequence[Sequence[str]]) -> dict[str, float]:
    """A term in fewer of the context's sentences weighs more."""
    counts = Counter(chain.from_iterable(terms))
    return {term: log(1 + len(terms) / count) for term, count in counts.items()}


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    n_common = len(a & b)
    return n_common / (len(a) + len(b) - n_common) if a or b else 0.0
