"""Filling in prompts."""

import re
from collections.abc import Mapping


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replaces every place such as {question} in one pass, so that braces inside a value stay as they are."""
    return re.sub("|".join(map(re.escape, values)), lambda place: values[place.group()], template)
