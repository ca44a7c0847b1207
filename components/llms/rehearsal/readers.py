"""The rehearsal as voter, reader, judge and inspector of its own drafts.

A question has its two clues in quotation marks, after its topic. The reader searches for a sentence with both clues and
returns its first number. A topic is chosen by its name. A document with "flaw:" and one of MARKERS gets the matching
vote or inspection.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from components.text.seeded import seeded_fraction, seeded_number
from components.text.sentences import sentence_ends

MARKERS = (
    "flaw:tied_vote",
    "flaw:out_of_domain",
    "flaw:dropped",
    "flaw:corrected",
    "flaw:corrected_twice",
    "flaw:no_verdict",
)
COMMON_KNOWLEDGE = {"Leap": "366", "闰年": "366"}
"""Answers that the reader knows without documents, by words of the question."""
_PAIR = re.compile(r"“([^”]+)”[^“”]{1,3}“([^”]+)”|\"([^\"]+)\" and \"([^\"]+)\"")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DOCUMENT = re.compile(r"<document \d+>[^\n]*\n(.*?)\n</document \d+>", re.DOTALL)
_OPTION = re.compile(r"^\[([1-9]\d*)\] (.+)$", re.MULTILINE)
_WORD = re.compile(r"[\u4e00-\u9fff]{2}|[A-Za-z]{5,}")
_FOLLOW_UPS = ("那么", "And then: ")


def vote(prompt: str, flawed_share: float) -> str | None:
    """Return the option whose name occurs most often in the text.

    A document without a name gets an option that depends on its words; a question without words gets none. Voters
    agree, except on documents with a marker and on a share of the others.
    """
    if '"topic":' not in prompt:
        return None
    options = {_name(option): int(number) for number, option in _OPTION.findall(prompt[: prompt.index('"topic":')])}
    text = prompt[prompt.index('"topic":') :]
    is_document = "<document>" in text
    is_adjudicator = "Opinions differ" in prompt or "不同意见" in prompt
    counts = {name: text.lower().count(name.lower()) for name in sorted(options)}
    best = max(counts, key=counts.__getitem__, default="")
    if not counts or "flaw:out_of_domain" in text or not (is_document or counts[best]):
        return _reply(topic=0)
    if not counts[best]:
        best = sorted(options)[seeded_number(text.partition("<document>")[2]) % len(options)]
    if is_document and not is_adjudicator and ("flaw:tied_vote" in text or seeded_fraction(prompt) < flawed_share):
        best = [*sorted(options), ""][_voter(prompt) % (len(options) + 1)]
    return _reply(topic=options.get(best, 0))


def draft_topics(prompt: str, flawed_share: float) -> str | None:
    """Return the most common words of the documents, or the first names of the drafts."""
    if '"topics":' not in prompt:
        return None
    lines = [option for _, option in _OPTION.findall(prompt[prompt.index('"topics":') :])]
    drafted = [re.fullmatch(r"(.+?) / (.+?)(?:: .*)? \(\d+ / \d+\)", line) for line in lines]
    names = list(dict.fromkeys(match[2] for match in drafted if match))
    if not names:
        names = [word for word, _ in Counter(word for line in lines for word in set(_WORD.findall(line))).most_common()]
    topics = [{"area": "All", "name": name, "description": f"what has to do with {name}"} for name in names[:4]]
    return json.dumps({"topics": topics}, ensure_ascii=False)


def understand(prompt: str, flawed_share: float) -> str | None:
    """Accept a question with both clues; a later turn only together with the turns before it."""
    if '"self_contained":' not in prompt:
        return None
    question = _question(prompt)
    refers_back = question.startswith(_FOLLOW_UPS) and "user: " not in prompt
    is_clear = bool(_PAIR.search(question) or _known_answer(question)) and not refers_back
    return _reply(about=question, missing="" if is_clear else "What is meant?", self_contained=is_clear)


def read(prompt: str, flawed_share: float) -> str | None:
    """Return the numbers that the clues lead to in the documents, or "" unless each pair leads to one. Without
    documents, return the known answer.
    """
    if '"answer":' not in prompt or '"question":' in prompt:
        return None
    question, documents = _question(prompt), _DOCUMENT.findall(prompt)
    numbers = [_numbers(documents, clues) for clues in _clues(question)]
    answer = "; ".join(matching[0] for matching in numbers) if numbers and all(numbers) else ""
    return _reply(answer=answer if documents else _known_answer(question))


def compare(prompt: str, flawed_share: float) -> str | None:
    """Compare the numbers in reference and answer."""
    if '"match":' not in prompt:
        return None
    blocks = _blocks(
        prompt, ("Reference", "参考答案"), ("Answer", "待比对的答案"), ("Does the answer", "就这个问题而言")
    )
    reference, answer = (Counter(_NUMBER.findall(block)) for block in blocks[:2])
    return _reply(match=reference - Counter(["1"]) == answer or reference == answer)


def look_for_others(prompt: str, flawed_share: float) -> str | None:
    """Return another number to which the clues of the question lead in a document."""
    if '"other_answer":' not in prompt:
        return None
    question, reference = _blocks(prompt, ("Question:", "问题："), ("Answer", "认定的正确答案"), ("Could", "如果有人"))[
        :2
    ]
    for number, document in enumerate(_DOCUMENT.findall(prompt), 1):
        values = [value for clues in _clues(question) for value in _numbers([document], clues)]
        if other := next((value for value in values if value not in reference), ""):
            return _reply(other_answer=other, document=number)
    return _reply(other_answer="", document=0)


def support(prompt: str, flawed_share: float) -> str | None:
    """Return the first number of a summary that no document contains."""
    if '"unsupported":' not in prompt:
        return None
    (summary,) = _blocks(prompt, ("Summary:", "摘要："), ("Excerpts", "文档摘录"))
    known_numbers = {number for document in _DOCUMENT.findall(prompt) for number in _NUMBER.findall(document)}
    numbers = _NUMBER.findall(summary.strip().removeprefix("[1] "))
    return _reply(unsupported=next((number for number in numbers if number not in known_numbers), ""))


def inspect(prompt: str, flawed_share: float) -> str | None:
    """Accept every question unless a marker or chance decides otherwise. A corrected one asks for the precise
    figure.
    """
    if '"grade":' not in prompt:
        return None
    question, answer = _blocks(prompt, ("Question:", "问题："), ("Reference answer", "参考答案"), ("Cited", "标注"))
    if "flaw:no_verdict" in prompt:
        return "Hard to say."
    if "flaw:dropped" in prompt:
        return _reply(grade=0)
    corrected = question.replace("exact", "precise").replace("具体", "准确").split("user: ")[-1].strip()
    is_to_correct = "flaw:corrected" in prompt or seeded_fraction(prompt) < flawed_share
    if "flaw:corrected_twice" in prompt or (is_to_correct and corrected not in question):
        again = corrected if corrected not in question else corrected.replace("precise", "very precise")
        return _reply(grade=1, question=again, answer=answer.strip().removeprefix("[1] "), evidence=[], expression="")
    return _reply(grade=2)


READERS: list[Callable[[str, float], str | None]] = [
    vote, draft_topics, understand, look_for_others, support, compare, inspect, read,
]  # fmt: skip


def _reply(**reply: object) -> str:
    return json.dumps({"reason": "It is as the words say.", **reply}, ensure_ascii=False)


def _voter(prompt: str) -> int:
    """Return the number of the voter, 0 to 2."""
    signs = (("librarian", "图书馆"), ("examination", "考试"))
    return next((n for n, words in enumerate(signs, 1) if any(sign in prompt for sign in words)), 0)


def _name(option: str) -> str:
    return option.partition(":")[0].split(" / ")[-1].strip()


def _question(prompt: str) -> str:
    """Return the last question, in any wording of the gates."""
    after = re.split(r"^(?:Question:|问题：)$", prompt, flags=re.MULTILINE)[-1].strip()
    return re.split(r"\n\n", after)[0].split("user: ")[-1].strip()


def _blocks(prompt: str, *headings: Sequence[str]) -> list[str]:
    """Return the texts between lines that start with these headings, in either language."""
    matches = []
    for heading in headings:
        match = re.search(rf"^(?:{'|'.join(map(re.escape, heading))})[^\n]*$", prompt, re.MULTILINE)
        if match is None:
            raise LookupError(f"no line begins with {heading} in a prompt that begins with {prompt[:80]!r}")
        matches.append(match)
    return [prompt[one.end() : other.start()] for one, other in pairwise(matches)]


def _clues(question: str) -> list[tuple[str, str]]:
    return [(pair[0] or pair[2], pair[1] or pair[3]) for pair in _PAIR.findall(question)]


def _numbers(documents: Sequence[str], clues: tuple[str, str]) -> list[str]:
    """Return the first number of each sentence that contains both clues."""
    numbers = []
    for document in documents:
        start = 0
        for end in sentence_ends(document).tolist():
            sentence, start = document[start:end], end
            number = _NUMBER.search(sentence)
            if number and all(clue in sentence for clue in clues):
                numbers.append(number[0])
    return numbers


def _known_answer(question: str) -> str:
    return next((answer for words, answer in COMMON_KNOWLEDGE.items() if words in question), "")
