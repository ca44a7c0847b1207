"""The scripted model as a writer.

It asks for the number in a sentence by two clues, words of that sentence: whoever sees the sentence can answer, and
nobody else. A document that contains "flaw:<name>" gets a draft with that flaw; see FLAWS for the names.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

_DOCUMENT = re.compile(r"<document (\d+)>.*?\n(.*?)\n</document \1>", re.DOTALL)
_SENTENCE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_MARKER = re.compile(r"flaw:(\w+)")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CLUE = re.compile(r"[\u4e00-\u9fff]{3,8}|[A-Za-z]{4,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_FORM = re.compile(r"^\{\".*$", re.MULTILINE)


@dataclass(frozen=True)
class Fact:
    """A number, the two clues that lead to it, and the sentence in which all three stand."""

    sentence: int
    text: str
    clues: tuple[str, str]
    value: str

    @property
    def cited(self) -> dict[str, Any]:
        return {"sentences": [self.sentence], "quote": self.text}


Reply = dict[str, Any]


def write(prompt: str, flawed_share: float) -> str | None:
    """A reply for the task whose form stands in the prompt."""
    form = _FORM.search(prompt)
    documents = [_SENTENCE.findall(own) for _, own in _DOCUMENT.findall(prompt)]
    if not (form and documents):
        return None
    chance = _fraction(prompt)
    marker = _MARKER.search(prompt, form.end())
    flaw = marker[1] if marker else sorted(FLAWS)[int(chance * 1e6) % len(FLAWS)] if chance < flawed_share else ""
    if flaw == "unreadable":
        return "There is much to be said about these documents."
    facts = [_fact(own, chance) for own in documents]
    known = [fact for fact in facts if fact]
    if flaw == "declined" or len(known) < len(facts):
        return _said({"not_applicable": "no number with two clues in a document"})
    reply = next(written(known, documents) for key, written in _FORMS if key in form[0])
    return _said(FLAWS[flaw](reply, known) if flaw else reply)


def question_about(facts: list[Fact]) -> str:
    """Clues stand in quotation marks, two for each number that is asked for."""
    if _CHINESE.search(facts[0].clues[0]):
        pairs = "，以及".join(f"“{fact.clues[0]}”和“{fact.clues[1]}”" for fact in facts)
        return f"就{pairs}而言，具体数字{'各' * (len(facts) > 1)}是多少？"
    pairs = ", and for ".join(f'"{fact.clues[0]}" and "{fact.clues[1]}"' for fact in facts)
    return f"What {'is the exact figure' if len(facts) == 1 else 'are the exact figures'} for {pairs}?"


def _question(facts: list[Fact], documents: list[list[tuple[str, str]]]) -> Reply:
    answer = "; ".join(fact.value for fact in facts)
    evidence = [fact.cited for fact in facts]
    return {"question": question_about(facts), "answer": answer, "evidence": evidence, "expression": ""}


_FORMS: list[tuple[str, Callable[[list[Fact], list[list[tuple[str, str]]]], Reply]]] = [('"question"', _question)]
"""By what stands in the form of a task alone, the first that fits."""


def _fact(sentences: list[tuple[str, str]], chance: float) -> Fact | None:
    """One of those in the document, by chance."""
    found = [fact for number, text in sentences if (fact := _in_sentence(int(number), text))]
    return found[int(chance * 1000) % len(found)] if found else None


def _in_sentence(number: int, text: str) -> Fact | None:
    """The first number whose clues do not lead to another one."""
    value = NUMBER.search(text)
    clues = list(dict.fromkeys(_CLUE.findall(text)))
    if value is None or len(clues) < 2:
        return None
    return Fact(number, text, (clues[0], clues[-1]), value[0])


def _said(reply: Reply) -> str:
    return json.dumps({"reasoning": "The number is stated once.", **reply}, ensure_ascii=False)


def _fraction(text: str) -> float:
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") / 2**64


def _with(**changes: Callable[[Reply, list[Fact]], Any]) -> Callable[[Reply, list[Fact]], Reply]:
    return lambda reply, facts: {**reply, **{key: change(reply, facts) for key, change in changes.items()}}


def _cited_with_another_number(reply: Reply, facts: list[Fact]) -> list[Reply]:
    return [{"quote": NUMBER.sub("99887766", fact.text, count=1)} for fact in facts]


FLAWS: dict[str, Callable[[Reply, list[Fact]], Reply]] = {
    "declined": lambda reply, facts: reply,
    "unreadable": lambda reply, facts: reply,
    "not_a_question": _with(question=lambda reply, facts: facts[0].clues[0]),
    "points_at_document": _with(
        question=lambda reply, facts: (
            ("根据上述文档，" if _CHINESE.search(reply["question"]) else "According to the document above: ")
            + reply["question"]
        )
    ),
    "answer_in_question": _with(question=lambda reply, facts: f"{reply['question'][:-1]} ({facts[0].text})?"),
    "no_answer": _with(
        answer=lambda reply, facts: "文中没有提及。" if _CHINESE.search(reply["question"]) else "It is not mentioned."
    ),
    "other_language": _with(
        question=lambda reply, facts: (
            "What was said about it in that year by the people there?"
            if _CHINESE.search(reply["question"])
            else "当地的人们在那一年对此事说了些什么？"
        )
    ),
    "personal_data": _with(question=lambda reply, facts: f"{reply['question'][:-1]} (jane.doe@example.com)?"),
    "invented_quote": _with(
        evidence=lambda reply, facts: [{"quote": "Nobody has ever written these words, 无人写过这些话。"}]
    ),
    "changed_number": _with(evidence=_cited_with_another_number),
    "wrong_arithmetic": _with(expression=lambda reply, facts: f"{facts[0].value.replace(',', '')} * 7 + 1"),
    "first_document_alone": _with(evidence=lambda reply, facts: reply["evidence"][:1]),
}
"""What each makes of a good reply. Those of some tasks change nothing for others."""
