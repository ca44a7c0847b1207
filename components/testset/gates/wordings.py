"""Wordings of questions in Chinese and English: words that ask, and words that point at a text that readers do not
see.
"""

import re
import unicodedata

_ASKING = re.compile(
    r"""
      [?？؟]
    | 什么|哪|谁|何|几|多少|怎|吗|呢|是否|能否|可否|是不是|有没有|多[大长高久重远宽深快]
    | 请|列[出举]|说明|比较|对比|分析|描述|概[括述]|总结|阐[述明]|解释|介绍|计算|简述|论述|评[价述]|指出|归纳|梳理|谈谈
    | \b(?:who|whom|whose|what|which|when|where|why|how)\b
    | (?:^|[.;:,]\s+)(?:please\s+)?(?:list|name|describe|explain|compare|contrast|summari[sz]e|identify|calculate
        |discuss|analy[sz]e|outline|state|give|provide|tell|show|find|determine|evaluate|assess|define|estimate|compute
        |is|are|was|were|do|does|did|can|could|will|would|has|have|had|should)\b
    """,
    re.VERBOSE,
)

_TEXT = "(?:文章|文档|文本|材料|资料|段落|选段|片段|语段|上下文|报道|新闻|节选)"
_CHINESE_POINTING = (
    rf"(?:上|下|本|该|此|这)(?:一|几|两|三|些)?(?:篇|段|份|则){_TEXT}?|(?:本|该|此|这)(?:文章|文档|文本|段落|选段|片段|语段)",
    r"上文|下文|本文|原文|前文|(?<![中天人语英日作外古水])文中(?![心国医学])|(?<![应活])该文(?![化明件旅体学献博创物教])|此文|文内",
    rf"(?:以上|上述|所给|给定|给出的?|提供的|前述){_TEXT}",
    rf"(?:根据|依据|基于|结合|参考|按照|从){_TEXT}",
    rf"(?<!个人)(?<!公开){_TEXT}(?:中|里|内|所|并未|没有|未)?(?:提到|提及|所述|描述|指出|叙述|说明了|讲述)",
    rf"{_TEXT}[\d一二三四甲乙ABC]+(?:中|里|提|和|与|、)",
    rf"第[\d一二三四]+(?:篇|段|份|则){_TEXT}?",
    r"本(?:报告|公告|公司|研究|作者)|作者(?:认为|指出|提到|是如何|如何)",
)
_NOUN = r"(?:documents?|passages?|texts?|article|excerpts?|paragraphs?|extracts?|snippets?|contexts?)"
_ENGLISH_POINTING = (
    rf"\b(?:the|these|those|both|each)\s+(?:(?:given|provided|above|following|two|three|first|second)\s+){{0,2}}{_NOUN}\b"
    r"(?!\s+(?:of|on|by|for|entitled|titled|called|named|that|which|signed|issued|filed|\d|[ivx]+\b|['\"“]"
    r"|management|messag|mining|processing))(?!-)",
    rf"\b(?:this|said|aforementioned|above-mentioned)\s+{_NOUN}\b",
    rf"\b(?:according to|based on|in|from)\s+(?:the\s+)?(?:given|provided|above|following)\s+{_NOUN}\b",
    r"\b(?:mentioned|described|discussed|stated|listed|shown|given|provided|as)\s+(?:above|earlier in the text)\b",
    r"\bthe\s+above\b|\bthis\s+(?:report|filing|study|paper|news|story)\b|\bthe\s+authors?\b(?!\s+of)",
    rf"\baccording to\s+(?:the\s+)?{_NOUN}\b(?!\s+of)",
)
_POINTING = re.compile("|".join((*_CHINESE_POINTING, *_ENGLISH_POINTING)))


def is_asking(question: str) -> bool:
    """Return True if the text is worded as a question or a task, in Chinese or English, or contains a question mark."""
    return _ASKING.search(_plain(question)) is not None


def pointing_words(text: str) -> str:
    """Return the words that point at a text before the writer ("according to the passage", 上文), or "" if there are no
    such words.

    Named texts are ignored: "the articles of association", "该文化".
    """
    match = _POINTING.search(_plain(text))
    return match[0] if match else ""


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())
