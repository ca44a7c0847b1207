"""Filling in templates of prompts."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace every placeholder such as {question} in one pass, so that braces inside a value stay unchanged."""
    return _build_pattern(tuple(values)).sub(lambda found: values[found.group()], template)


def missing_placeholders(name: str, template: str, placeholders: Sequence[str]) -> list[str]:
    """Return an error message for each of these placeholders that a template called `name` lacks."""
    return [f"{name}: lacks the placeholder {each}" for each in placeholders if each not in template]


@lru_cache(maxsize=100)
def _build_pattern(placeholders: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, placeholders)))
