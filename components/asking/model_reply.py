"""Parsing of JSON replies: fenced, surrounded by text, slightly broken, or a bare value.

An unreadable reply leads to None, never to a default. The caller decides which values are valid.
"""

import re
import unicodedata

from components.json_value import Json
from components.text.brackets import bracket_depth
from components.text.thoughts import split_thoughts

_BARE_VALUE = re.compile(r"[^\w+\-−－]*([+\-−－]?\w+)\W*")
_HALF_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""Half of a surrogate pair as a JSON escape. Models break pairs apart, and UTF-8 cannot represent a half."""

_EXAMPLE = re.compile(r"\b(?:examples?|e\.g|format|form|template|such as|like)\b|例|格式|形如|模板|样式", re.IGNORECASE)
_UNABLE = re.compile(
    r"\b(?:I|we)\b[^.!?\n]{0,20}(?:can(?:no|')t|can not|unable|could(?: no|n')t)\b"
    r"|(?:无法|不能|难以)(?:作出|做出|给出|进行)?(?:判断|评判|评分|打分|评估|评价)",
    re.IGNORECASE,
)
"""Words by which a model retracts a reply, or says that it cannot judge."""

_ALTERNATIVES = re.compile(
    r"\s*[+-]?\w{1,9}(?:\s*[,，、]\s*[+-]?\w{1,9}){0,9}\s*[,，]?\s*(?:\bor\b|或者?|[|/])\s*[+-]?\w", re.IGNORECASE
)
"""Several values where one was asked for, as in the form of a request: {"grade": 0, 1 or 2}. Repairing the object would
take the first of them.
"""

_OPENED = re.compile(r"[{｛][^{｛]*$")
"""An object that is open at the end of the text."""

_MAX_NESTING = 100
"""Maximum nesting of brackets, counting unclosed ones. A repeating model opens thousands, and repairing each of them
would scan the rest of the reply.
"""

_HEADING = re.compile(r"\[[^\[\]]*[^\W\d][^\[\]]*\]|【[^【】]+】")
"""A heading of a part of a prompt. Marks such as [3] are not headings."""

_WORDS_FOLLOW = re.compile(r"[^\w{\[\n]*\w")
_TAG = re.compile(r"<[^>]*>")

_WHOLE_NUMBER = re.compile(r"([+-]?\d{1,18})(?:\.0+)?\s*分?")  # Python rejects numbers of thousands of digits
_FLAGS = {"true": True, "yes": True, "是": True, "1": True, "false": False, "no": False, "否": False, "0": False}


def read_object(text: str, key: str) -> dict[str, Json] | None:
    """Return the last JSON object in a reply that has `key`. A reply that is one bare value is read as {key: value}.

    Thoughts, fences and text around the object are ignored, unless they show that it is not the answer; see
    `_is_final_answer`. Almost correct quotes, commas and brackets are repaired. If that finds nothing, full-width
    characters are read as ASCII. Return None if there is no such object.
    """
    shown = strip_thoughts(text)
    for value in json_values(text):
        if isinstance(value, dict) and key in value:
            return value if _is_final_answer(shown, key, is_alone=len(value) == 1) else None
    bare = _BARE_VALUE.fullmatch(shown)
    return {key: bare[1]} if bare else None


def _is_final_answer(reply: str, key: str, *, is_alone: bool) -> bool:
    """Return True if the last object with `key` is the model's answer, and not part of its explanation.

    It is not the answer if it is an example, the requested form, several values to choose from, or a value within a
    sentence (`is_alone`: it lacks the requested reason), or if the model then says that it cannot judge.
    Another request is cheap, a wrong grade is not.
    """
    places = list(re.finditer(rf"\b{key}[\"'”’＂]?\s*[:：]", reply))
    if not places:
        return True
    before = _OPENED.sub("", reply[: places[-1].start()])
    after = reply[places[-1].end() :].replace("｝", "}").partition("}")[2]
    in_a_sentence = is_alone and _WORDS_FOLLOW.match(_strip_tags(after))
    is_form = _ALTERNATIVES.match(reply, places[-1].end())
    return not (is_form or _EXAMPLE.search(_find_caption(before)) or _UNABLE.search(after) or in_a_sentence)


def _strip_tags(text: str) -> str:
    """Remove tags in linear time: the pattern alone would search the end of the text for each unclosed "<"."""
    end = text.rfind(">") + 1
    return _TAG.sub("", text[:end]) + text[end:]


def _find_caption(before: str) -> str:
    """Return the words before an object on its line, or else the previous line if it ends with a colon. Fences are
    ignored.
    """
    *earlier, last_line = before.split("\n")
    lines = [line.strip() for line in earlier if line.strip() and not line.lstrip().startswith("```")]
    if last_line.strip() or not lines:
        return last_line
    return lines[-1] if lines[-1].endswith((":", "：")) else ""


def json_values(text: str) -> list[Json]:
    """Return JSON objects and lists in a reply, the likeliest first.

    The whole reply comes first, then its parts from the last to the first, because models draft before they conclude.
    The list is empty if brackets are nested too deeply.
    """
    from json_repair import loads

    shown = _HALF_ESCAPE.sub("", strip_thoughts(text))
    values: list[Json] = []
    for version in (shown, unicodedata.normalize("NFKC", shown)):
        if bracket_depth(version) > _MAX_NESTING:
            continue
        try:
            value = loads(version)
        except (RecursionError, ValueError):  # for example a number of thousands of digits
            continue
        values += [value, *reversed(value)] if isinstance(value, list) else [value]
    return [value for value in values if isinstance(value, dict | list)]


def copies_placeholder(text: str, instruction: str) -> bool:
    """Return True for an empty text, "...", and a placeholder of the JSON template in an instruction."""
    return f'"{text}"' in instruction or not text.strip(" .…\n\t")


def repeats_heading(text: str, instruction: str) -> bool:
    """Return True if a line begins with a heading of the instruction, such as "[Document]" or "The question:".

    Small models copy their prompt, and then go on in its form.
    """
    headings = tuple(heading for line in instruction.splitlines() if (heading := _heading(line)))
    return any(line.lstrip().startswith(headings) for line in text.splitlines())


def _heading(line: str) -> str:
    """Return the words in square brackets with which a line begins, or a line without places that ends with a colon."""
    if match := _HEADING.match(line):
        return match[0]
    return line if line.endswith((":", "：")) and "{" not in line else ""


def strip_template(text: str, prompt: str, *, is_alone: bool = True) -> str:
    """Return a reply without the JSON template on the last line of its prompt, which some models copy before or instead
    of answering.

    `is_alone` also removes the template without the words before it. Set it only if no answer can equal the template.
    """
    line = prompt.rstrip().rpartition("\n")[2]
    _, brace, rest = line.partition('{"')
    return text.replace(brace + rest if is_alone else line, "") if brace else text


def strip_thoughts(text: str) -> str:
    """Return a reply without the text between <think> and </think>; either tag may be missing."""
    return split_thoughts(text)[1]


def parse_whole_number(value: object) -> int | None:
    """Return a number such as 2, 2.0, "2", "２" or "2分" (two points); None for other values."""
    if isinstance(value, bool):  # in Python, True equals 1
        return None
    number = _WHOLE_NUMBER.fullmatch(unicodedata.normalize("NFKC", str(value)).replace("−", "-").strip())
    return int(number[1]) if number else None


def parse_flag(value: object) -> bool | None:
    """Return a Boolean, also from a word or a digit; None for other values."""
    return _FLAGS.get(unicodedata.normalize("NFKC", str(value)).strip().lower())
