"""Detection of answers that refuse to answer, shared by metrics, prompts and forensics.

A change of this module can change what counts as a refusal. Raise the `version` of the gates of test sets that use it.
"""

import re
from functools import cache

from components.text.containing import contains, form_to_search

ABSTENTIONS = ("insufficient information", "信息不足")
"""Phrases that `prompt=english_abstain` and `prompt=chinese_abstain` ask for. They have no other use, so they count
anywhere in an answer.
"""

_N_CHARACTERS_SEARCHED, _MAX_REFUSAL_CHARACTERS = 60, 200
"""A refusal says so at its beginning. A long text with such a beginning usually answers after all."""

_CHINESE = (
    r"(?:无法|不能|没法|难以|未能)(?:直接|准确|明确|据此|从中|从[^，。]{0,10}中)?(?:回答|确定|得知|获知|判断|推断|提供|给出|找到|作答|得出)",
    r"(?:没有|未|并未|没|并没有)(?:明确|直接|具体)?(?:提及|提到|提供|说明|给出|涉及|包含|找到|记载|披露)",
    r"(?:没有|缺乏|缺少)(?:足够|充分|相关|任何)(?:的)?(?:相关)?(?:的)?(?:信息|资料|内容|依据|数据)",
    r"(?:信息|资料|材料|依据)(?:并)?(?:不足|不充分|不够)",
    r"(?:我|本人)(?:也|并|暂时|目前)?不(?:知道|清楚|了解|确定)",
    r"^(?:很)?(?:抱歉|对不起)|^不知道|^未知$|^不(?:清楚|详)$",
)
_ENGLISH = (
    r"\b(?:cannot|can not|cant|could not|couldnt|am unable to|is unable to|unable to|not able to|not possible to|"
    r"impossible to)\s(?:be\s)?(?:\w+\s)?(?:answer|answered|determine|determined|infer|inferred|find|found|provide|"
    r"provided|say|tell|know|known|conclude|concluded|identify|identified|assist|help|fulfill|comply)\b",
    r"\b(?:do|does|did|is|are|was|were|has|have)\s?(?:not|nt)\s(?:\w+\s)?(?:mention|mentioned|provide|provided|"
    r"specify|specified|state|stated|contain|include|included|given|disclose|disclosed|say|available|know|sure)\b",
    r"\b(?:dont|doesnt|didnt|isnt|arent|wasnt|werent|hasnt|havent)\s(?:\w+\s)?(?:mention|mentioned|provide|provided|"
    r"specify|specified|state|stated|contain|include|included|given|disclose|disclosed|say|available|know|sure)\b",
    r"\bno\s(?:\w+\s)?(?:information|mention|evidence|answer|data|details?)\b",
    r"\b(?:not enough|insufficient|lack of)\s(?:\w+\s)?(?:information|context|evidence|data|details?)\b",
    r"^(?:im sorry|i am sorry|sorry)\b|^(?:unknown|unanswerable|not mentioned|not specified|n a|na)$",
)


def is_refusal(answer: str) -> bool:
    """Return True for a text in Chinese or English that says that there is no answer; False for an empty text.

    It has fewer than 200 characters and says so in its first 60, or it contains one of `ABSTENTIONS`. Case, width and
    punctuation do not matter. Only listed wordings in these two languages are recognized.
    """
    form = form_to_search(answer)
    if any(contains(form, phrase) for phrase in ABSTENTIONS):
        return True
    return len(form) < _MAX_REFUSAL_CHARACTERS and _refusals().search(form[:_N_CHARACTERS_SEARCHED]) is not None


@cache
def _refusals() -> re.Pattern[str]:
    return re.compile("|".join((*_CHINESE, *_ENGLISH)))
