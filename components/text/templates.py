"""Filling in templates of prompts."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace every place such as {question} in one pass, so that braces inside a value stay unchanged."""
    return _pattern_of(tuple(values)).sub(lambda place: values[place.group()], template)


def missing_places(name: str, template: str, places: Sequence[str]) -> list[str]:
    """Return an error message if a template called `name` lacks one of these placeholders."""
    missing = [placeholder for placeholder in places if placeholder not in template]
    return [f"{name}: has no {' and no '.join(missing)}"] if missing else []


@lru_cache(maxsize=100)
def _pattern_of(places: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, places)))
