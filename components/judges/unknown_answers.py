"""Recognition of answers such as "根据文本无法推断" or "It cannot be inferred from the text."."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from components.text.normalize import answer_form

_TEXT = "文本|文字|文章|文中|原文|上文|本文|正文|材料|资料|段落|内容|信息"
_ABOUT_THE_TEXT = re.compile(
    rf"(?:仅|只|单)?(?:根据|依据|基于|按照|凭|就|从|由|在)?(?:上述|以上|上面|给出|给定|提供|所给|现有|已有|这段|该|此|原)?的?"
    rf"(?:{_TEXT})(?:{_TEXT})?(?:之?中|里面?|内|来看|而言)?(?:并|也|都|均)?"
)
_WHAT_WAS_ASKED = re.compile(
    r"(?:出来?)?(?:(?:该|此|这个|这一|相关|具体|确切|任何)?的?(?:答案|问题|问题的答案|时间|结果))?$"
)
_ABOUT_THE_TEXT_IN_ENGLISH = re.compile(
    r"\b(?:based on|according to|given|from|in|by|with)?\s*(?:only\s+)?(?:the|this|that)?\s*(?:given|provided)?\s*"
    r"(?:text|passage|article|document|context|information|source)s?\b(?: alone| provided| given| above)?"
)
_SUBJECT_IN_ENGLISH = re.compile(r"^\s*(?:this|that|it|the answer|the question)?\s*(?:is|was)?\s*")


@dataclass(frozen=True)
class Phrases:
    """Phrases that replace an answer that the text does not give, such as ("无法推断",).

    The prompt requests the first phrase.
    """

    phrases: tuple[str, ...]

    def is_unknown_answer(self, answer: str) -> bool:
        """Return True if the answer is one of the phrases, ignoring case, width, punctuation and whitespace.

        The answer may also contain words for its source ("根据文本", "from the text") or for its object ("答案"), but
        no other words.
        """
        return not self._cores.isdisjoint(_cores([answer]))

    def is_first_phrase(self, answer: str) -> bool:
        """Return True if the answer is exactly the first phrase: the comparison of the published implementation."""
        return answer == self.phrases[0]

    @cached_property
    def _cores(self) -> frozenset[str]:
        return _cores(self.phrases)


def _cores(texts: Iterable[str]) -> frozenset[str]:
    """Return the forms of texts for comparison, with and without the words around a phrase, except empty forms."""
    cores = set()
    for text in texts:
        form = answer_form(text)
        core = _WHAT_WAS_ASKED.sub("", _ABOUT_THE_TEXT.sub("", form))
        core = _SUBJECT_IN_ENGLISH.sub("", _ABOUT_THE_TEXT_IN_ENGLISH.sub("", core))
        core = core.replace(" ", "") if not core.isascii() else " ".join(core.split())
        cores |= {form, core}
    return frozenset(cores - {""})
