"""A baseline that is no language model: it answers with sentences of its context."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import ClassVar

from components.protocols import AnswersFrom, WordTokenizer
from components.records import Answer, AnswerState, Kind, Request
from components.text.sentences import sentence_ends
from components.tokenizers.rjieba_words import RjiebaWords


@dataclass(frozen=True)
class Sentence:
    """A sentence of the context with its distinct terms and its place."""

    text: str
    terms: frozenset[str]
    place: int


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
        fields = {"answer_characters": self.answer_characters, "text_characters": self.text_characters}
        mistakes = [f"{name}: got {value}, wanted at least 1" for name, value in fields.items() if value < 1]
        if not 0 < self.replace_overlap <= 1:
            mistakes.append(f"replace_overlap: got {self.replace_overlap}, wanted a share in (0, 1]")
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
        asked = "\n".join([*(turn.question for turn in sample.history), sample.question])
        if sample.kind is Kind.CORRECTION:
            return self._correct(sample.question, sentences)
        limit = self.answer_characters if sample.kind in (Kind.QA, Kind.CONVERSATION) else self.text_characters
        known = self._terms(sample.question) if sample.kind is Kind.CONTINUATION else frozenset()
        return _select(sentences, self._terms(asked), limit, known)

    def _terms(self, text: str) -> frozenset[str]:
        (words,) = self.tokenizer.words([text])
        return frozenset(filter(None, map(self.tokenizer.normalize, words.words)))

    def _sentences(self, texts: Sequence[str]) -> list[Sentence]:
        """Distinct sentences with at least one term, in order."""
        seen: dict[str, Sentence] = {}
        for text in texts:
            for start, end in pairwise([0, *sentence_ends(text).tolist()]):
                sentence = text[start:end].strip()
                if sentence not in seen and (terms := self._terms(sentence)):
                    seen[sentence] = Sentence(sentence, terms, len(seen))
        return list(seen.values())

    def _correct(self, passage: str, sentences: list[Sentence]) -> str:
        if not sentences:
            return ""
        corrected = []
        for stated in self._sentences([passage]):
            best = max(sentences, key=lambda sentence: (_jaccard(sentence.terms, stated.terms), -sentence.place))
            similar = _jaccard(best.terms, stated.terms) >= self.replace_overlap
            corrected.append(best.text if similar else stated.text)
        return _joined(list(dict.fromkeys(corrected)))


def _select(sentences: list[Sentence], asked: frozenset[str], limit: int, known: frozenset[str]) -> str:
    """Greedily takes the sentence that adds most of what is asked, until `limit` characters; at least one."""
    weight = _rarity(sentences)
    left, n_characters = list(sentences), 0
    chosen: list[Sentence] = []
    open_terms = set(asked)
    while left:
        best = max(left, key=_gain(open_terms, asked, known, weight))
        if chosen and n_characters + len(best.text) > limit:
            break
        chosen.append(best)
        n_characters += len(best.text)
        open_terms -= best.terms
        left.remove(best)
        left = [sentence for sentence in left if _jaccard(sentence.terms, best.terms) < 0.7]
    return _joined([sentence.text for sentence in sorted(chosen, key=lambda sentence: sentence.place)])


def _joined(sentences: Sequence[str]) -> str:
    """Sentences in a row, with a blank after those that end as English ones do."""
    return "".join(f"{sentence} " if sentence[-1:].isascii() else sentence for sentence in sentences).strip()


def _rarity(sentences: list[Sentence]) -> dict[str, float]:
    """A term in fewer of the context's sentences weighs more."""
    counts = Counter(term for sentence in sentences for term in sentence.terms)
    return {term: log(1 + len(sentences) / count) for term, count in counts.items()}


def _gain(
    open_terms: set[str], asked: frozenset[str], known: frozenset[str], weight: dict[str, float]
) -> Callable[[Sentence], tuple[float, int]]:
    """What is asked and not said yet counts in full, what was said already for a tenth, what is known against it."""

    def gain(sentence: Sentence) -> tuple[float, int]:
        value = sum(weight[term] for term in sorted(sentence.terms & open_terms))
        value += 0.1 * sum(weight[term] for term in sorted(sentence.terms & asked))
        share_known = len(sentence.terms & known) / len(sentence.terms)
        return value / (len(sentence.terms) + 5) ** 0.5 * (1 - share_known), -sentence.place

    return gain


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0
