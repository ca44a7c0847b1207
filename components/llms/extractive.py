"""A stand-in for a language model. It answers with sentences of its context."""

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
    """A selection of sentences from the passages, which depends on the kind of task. It never generates text.

    - qa, conversation: the sentences that share most with the question, up to `answer_characters`.
    - long_form, summarization, continuation: more sentences, up to `text_characters`, in context order and without
      repetitions. A continuation also skips sentences that repeat its beginning.
    - correction: each sentence of the given passage is replaced by the most similar sentence of the context if the
      Jaccard index of their terms is at least `replace_overlap`.

    It shows the value of retrieval alone, needs no download, and is reproducible. Its scores do not predict the scores
    of a language model on the same context. Without passages the answer is empty.
    """

    answer_characters: int = 120
    text_characters: int = 240
    replace_overlap: float = 0.4
    tokenizer: WordTokenizer = RjiebaWords()

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.SAMPLE

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        problems = too_small(self, answer_characters=1, text_characters=1)
        if not 0 < self.replace_overlap <= 1:
            problems.append(f"replace_overlap: got {self.replace_overlap}, expected a share in (0, 1]")
        return problems

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield one answer per request, in order; EMPTY if there is no usable sentence."""
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
        question = "\n".join([*(turn.question for turn in sample.history), sample.question])
        limit = self.answer_characters if sample.kind in (Kind.QA, Kind.CONVERSATION) else self.text_characters
        known_terms = self._terms(sample.question) if sample.kind is Kind.CONTINUATION else frozenset()
        return _select(sentences, self._terms(question), limit, known_terms)

    def _terms(self, text: str) -> frozenset[str]:
        terms = _recent_terms if _is_remembered(self.tokenizer, text) else _terms
        return terms(self.tokenizer, text)

    def _sentences(self, texts: Sequence[str]) -> Sentences:
        """Return the sentences with at least one term."""
        sentences: Sentences = {}
        for text in texts:
            find_sentences = _recent_sentences if _is_remembered(self.tokenizer, text) else _sentences
            sentences |= find_sentences(self.tokenizer, text)
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
        return _join(list(dict.fromkeys(corrected)))


def _terms(tokenizer: WordTokenizer, text: str) -> frozenset[str]:
    (words,) = tokenizer.words([text])
    return frozenset(filter(None, map(tokenizer.normalize, words.words)))


def _sentences(tokenizer: WordTokenizer, text: str) -> Sentences:
    sentences = dict.fromkeys(text[start:end].strip() for start, end in pairwise([0, *sentence_ends(text).tolist()]))
    terms_of = _recent_terms if _is_remembered(tokenizer, text) else _terms
    terms = ((sentence, terms_of(tokenizer, sentence)) for sentence in sentences)
    return {sentence: sentence_terms for sentence, sentence_terms in terms if sentence_terms}


def _is_remembered(tokenizer: WordTokenizer, text: str) -> bool:
    """Return False for long texts, and for all texts of a custom tokenizer: its files may change between two sweeps of
    one process, and equal fields do not show it. Our tokenizers read no files.
    """
    return len(text) <= _MAX_REMEMBERED_CHARACTERS and type(tokenizer).__module__.startswith("components.")


_MAX_REMEMBERED_CHARACTERS = 2000
"""Maximum length of a remembered text. Passages recur for other questions and in other cells of a sweep."""
# Components are hashable, but their protocol cannot express that.
_recent_terms: Callable[[WordTokenizer, str], frozenset[str]] = lru_cache(maxsize=20_000)(_terms)  # type: ignore[assignment]
_recent_sentences: Callable[[WordTokenizer, str], Sentences] = lru_cache(maxsize=5_000)(_sentences)  # type: ignore[assignment]


class _Candidate(NamedTuple):
    """A sentence that may be chosen.

    `weights` are the weights of its terms that occur in the question, in a fixed order so that equal sums are bitwise
    equal. `repeated` is the value of these terms after they were used. `root_length` and `share_new` scale the gain.
    """

    place: int
    text: str
    terms: frozenset[str]
    weights: Sequence[tuple[str, float]] = ()
    repeated: float = 0.0
    root_length: float = 1.0
    share_new: float = 1.0

    def gain(self, open_terms: set[str]) -> float:
        """Return the value that the sentence adds. Used terms count a tenth, and known terms reduce the value."""
        if not self.weights:
            return 0.0
        value = sum(weight for term, weight in self.weights if term in open_terms) + self.repeated
        return value / self.root_length * self.share_new


def _select(sentences: Sentences, question_terms: frozenset[str], limit: int, known_terms: frozenset[str]) -> str:
    """Greedily choose the sentence with the largest gain, up to `limit` characters, but at least one sentence."""
    candidates, n_characters = _candidates(sentences, question_terms, known_terms), 0
    chosen: list[_Candidate] = []
    open_terms = set(question_terms)
    while candidates:
        gains = [candidate.gain(open_terms) for candidate in candidates]
        best = candidates[gains.index(max(gains))]
        if chosen and n_characters + len(best.text) > limit:
            break
        chosen.append(best)
        n_characters += len(best.text)
        open_terms -= best.terms
        candidates = [other for other in candidates if other is not best and _jaccard(other.terms, best.terms) < 0.7]
    return _join([candidate.text for candidate in sorted(chosen)])


def _candidates(sentences: Sentences, question_terms: frozenset[str], known_terms: frozenset[str]) -> list[_Candidate]:
    hits = [sorted(terms & question_terms) for terms in sentences.values()]
    weight = _rarity(hits)
    return [
        _candidate(position, text, terms, [(term, weight[term]) for term in shared_terms], known_terms)
        if shared_terms
        else _Candidate(position, text, terms)
        for position, ((text, terms), shared_terms) in enumerate(zip(sentences.items(), hits, strict=True))
    ]


def _candidate(
    position: int, text: str, terms: frozenset[str], weights: list[tuple[str, float]], known_terms: frozenset[str]
) -> _Candidate:
    repeated = 0.1 * sum(weight for _, weight in weights)
    share_new = 1 - len(terms & known_terms) / len(terms)
    return _Candidate(position, text, terms, weights, repeated, (len(terms) + 5) ** 0.5, share_new)


def _join(sentences: Sequence[str]) -> str:
    """Join sentences, with a space after those that end like English ones."""
    return "".join(f"{sentence} " if sentence[-1:].isascii() else sentence for sentence in sentences).strip()


def _rarity(terms: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the weights of terms: the fewer sentences of the context contain a term, the larger its weight."""
    counts = Counter(chain.from_iterable(terms))
    return {term: log(1 + len(terms) / count) for term, count in counts.items()}


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    n_common = len(a & b)
    return n_common / (len(a) + len(b) - n_common) if a or b else 0.0
