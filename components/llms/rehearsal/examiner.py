"""The rehearsal as judge of answers and contexts: it compares texts character by character.

A sentence is a claim. A claim is supported if the passages contain it, or each of its parts around "and". It is
contradicted if they contain it with other figures. Everything else is judged by words that texts have in common.
"""

import json
import re
from collections.abc import Callable, Sequence

from components.text.refusals import is_refusal
from components.text.seeded import seeded_fraction
from components.text.sentences import split_sentences

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ITEM = re.compile(r"^\[\d+\] (.*)$", re.MULTILINE)
_AND = re.compile(r"\band\b|并且|，而且")
_WORD = re.compile(r"[\u4e00-\u9fff]{2}|[a-z]{4,}")
_ENDS = ".。!！,，"
_ALL_FROM, _PART_FROM = 0.7, 0.3
_GRADES_ABOVE = (0.1, 0.4, 0.7)
"""Shares of the words of a question."""


def split(prompt: str, flawed_share: float) -> str | None:
    """Return the sentences of a text as claims, without refusals and questions."""
    if '{"claims":' not in prompt:
        return None
    text = _text_between(prompt, ("[Text]", "【文本】"), ("Split the text", "文本是对问题的回答"))
    sentences = dict.fromkeys(sentence for line in _lines(text) for sentence in split_sentences(line))
    claims = [sentence for sentence in sentences if not is_refusal(sentence) and sentence[-1] not in "?？"]
    return _reply(claims=claims)


def check(prompt: str, flawed_share: float) -> str | None:
    """Return the verdict on each claim."""
    if '{"verdicts":' not in prompt:
        return None
    passages = _text_between(prompt, ("[Passages]", "【资料】"), ("[Claims]", "【陈述】"))
    claims = _text_between(
        prompt,
        ("[Claims]", "【陈述】"),
        ("Check each claim", "The claims are the", "请逐条对照", "这些陈述是"),
    )
    verdicts = [
        {
            "number": number,
            "reason": "by its characters",
            "verdict": _add_flaw(verdict_on(claim, passages), prompt, claim, flawed_share),
        }
        for number, claim in enumerate(_ITEM.findall(claims), start=1)
    ]
    return _reply(verdicts=verdicts)


def verdict_on(claim: str, text: str) -> str:
    """Return "supported", "contradicted" or "neither"."""
    compact_text, parts = _compact(text), [_compact(part) for part in _AND.split(claim)]
    if all(part in compact_text for part in parts):
        return "supported"
    masked = _NUMBER.sub("#", compact_text)
    has_numbers = any(_NUMBER.search(part) for part in parts)
    if has_numbers and all(_NUMBER.sub("#", part) in masked for part in parts):
        return "contradicted"
    return "neither"


def _add_flaw(verdict: str, prompt: str, claim: str, flawed_share: float) -> str:
    if seeded_fraction(f"{claim}\n{prompt}") >= flawed_share:
        return verdict
    return "neither" if verdict == "supported" else "supported"


def derive(prompt: str, flawed_share: float) -> str | None:
    """Return the answer itself, once for each requested question."""
    if '"noncommittal":' not in prompt:
        return None
    answer = _text_between(prompt, ("[Answer]", "【回答】"), ("Write ", "请写出 ")).strip()
    number = re.search(r"(?:Write|请写出) (\d+)", prompt)
    questions = [f"{answer[:80].rstrip(_ENDS)} ({n})?" for n in range(1, int(number[1] if number else 1) + 1)]
    return _reply(questions=questions, noncommittal=is_refusal(answer))


def choose_sentences(prompt: str, flawed_share: float) -> str | None:
    """Return the numbers of the sentences that have a word of the question."""
    if '{"sentences":' not in prompt or not re.search(r"^(?:\[Sentences\]|【句子】)$", prompt, re.MULTILINE):
        return None
    question = _text_between(prompt, ("[Question]", "【问题】"), ("[Sentences]", "【句子】"))
    sentences = _text_between(prompt, ("[Sentences]", "【句子】"), ("Which of", "哪些句子"))
    numbered_sentences = enumerate(_ITEM.findall(sentences), start=1)
    return _reply(sentences=[number for number, sentence in numbered_sentences if _words(question) & _words(sentence)])


def rate(prompt: str, flawed_share: float) -> str | None:
    """Return 1 for a passage with a sentence of the answer; without an answer, rate by the words of the question."""
    if '"grade":' not in prompt or not re.search(r"^(?:\[Passages?\]|【资料】)$", prompt, re.MULTILINE):
        return None
    if ("[Passage]\n" in prompt and "How well does" in prompt) or "这段资料对提出问题的人" in prompt:
        return _grade_by_words(prompt)
    if not re.search(r"^(?:\[Reference answers\]|\[Answer\]|【参考答案】|【回答】)$", prompt, re.MULTILINE):
        return _rate_by_words(prompt)
    expected = _text_between(
        prompt, ("[Reference answers]", "[Answer]", "【参考答案】", "【回答】"), ("[Passage]", "【资料】")
    )
    passage = _compact(_text_between(prompt, ("[Passage]", "【资料】"), ("Was this", "要得出")))
    sentences = [sentence for line in _lines(expected) for sentence in split_sentences(line)]
    return _reply(reason="by its sentences", grade=int(any(_compact(sentence) in passage for sentence in sentences)))


def _grade_by_words(prompt: str) -> str:
    words = _words(_text_between(prompt, ("[Question]", "【问题】"), ("[Passage]", "【资料】")))
    passage = _words(_text_between(prompt, ("[Passage]", "【资料】"), ("How well", "这段资料")))
    share = len(words & passage) / len(words) if words else 0.0
    return _reply(reason="by its words", grade=sum(share > limit for limit in _GRADES_ABOVE))


def _rate_by_words(prompt: str) -> str:
    ends = ("Do the passages", "Suppose", "这些资料", "假如")
    passages = _text_between(prompt, ("[Passages]", "【资料】"), ("[Question]", "【问题】", *ends))
    words = _words(_text_between(prompt, ("[Question]", "【问题】"), ("[Passages]", "【资料】", *ends)))
    share = len(words & _words(passages)) / len(words) if words else 0.0
    return _reply(reason="by its words", grade=2 if share > _ALL_FROM else 1 if share > _PART_FROM else 0)


def make_nuggets(prompt: str, flawed_share: float) -> str | None:
    """Return the sentences of a text as nuggets. Only the first is vital."""
    if '{"nuggets":' not in prompt:
        return None
    text = _text_between(prompt, ("[Text]", "【文本】"), ("The text answers", "文本是对问题的回答"))
    sentences = dict.fromkeys(sentence for line in _lines(text) for sentence in split_sentences(line))
    nuggets = [
        {"nugget": sentence, "importance": "okay" if number else "vital"} for number, sentence in enumerate(sentences)
    ]
    return _reply(nuggets=nuggets)


def assign_nuggets(prompt: str, flawed_share: float) -> str | None:
    """Grade how far an answer states each nugget: fully, in part if it has half of its words, or not."""
    if '{"assignments":' not in prompt:
        return None
    answer = _text_between(prompt, ("[Answer]", "【回答】"), ("[Nuggets]", "【要点】"))
    nuggets = _text_between(prompt, ("[Nuggets]", "【要点】"), ("Does the answer", "回答有没有"))
    assignments = [
        {"number": number, "assignment": _assignment(nugget, answer)}
        for number, nugget in enumerate(_ITEM.findall(nuggets), start=1)
    ]
    return _reply(assignments=assignments)


def _assignment(nugget: str, answer: str) -> str:
    if _compact(nugget) in _compact(answer):
        return "support"
    words = _words(nugget)
    return "partial_support" if words and 2 * len(words & _words(answer)) >= len(words) else "not_support"


EXAMINERS: list[Callable[[str, float], str | None]] = [
    split,
    check,
    derive,
    choose_sentences,
    rate,
    make_nuggets,
    assign_nuggets,
]


def _text_between(prompt: str, starts: Sequence[str], ends: Sequence[str]) -> str:
    """Return the text between the first line that begins with a start and the last later line that begins with an end.

    Raises LookupError if the prompt lacks such lines.
    """
    first = min((position for start in starts if (position := prompt.find(f"\n{start}\n")) >= 0), default=-1)
    begin = prompt.find("\n", first + 1) + 1
    last = max(prompt.rfind(f"\n{end}", begin - 1) for end in ends)
    if first < 0 or last < 0:
        raise LookupError(f"no lines that begin with {starts} and {ends} in a prompt that begins with {prompt[:80]!r}")
    return prompt[begin:last]


def _lines(text: str) -> list[str]:
    """Return the texts of numbered items, or the whole text if it has none."""
    return _ITEM.findall(text) or [text]


def _compact(text: str) -> str:
    return "".join(text.split()).strip(_ENDS).lower()


def _words(text: str) -> set[str]:
    lowered = text.lower()
    bigrams = {lowered[i : i + 2] for i in range(len(lowered) - 1)}
    return set(_WORD.findall(lowered)) | {bigram for bigram in bigrams if re.fullmatch(r"[\u4e00-\u9fff]{2}", bigram)}


def _reply(**reply: object) -> str:
    return json.dumps(reply, ensure_ascii=False)
