"""Reading CSV files as spreadsheet programs save them."""

import json
import re

from components.json_value import Json

_LIST_OF_TEXTS = re.compile(r"\s*\[\s*[\"'“”„‘«]")
"""The beginning of a list of texts, also with quotation marks that a program replaced."""


def delimiter_of(text: str) -> str:
    """Return the first comma, semicolon or tab of a table. Excel writes semicolons where commas are decimal points."""
    return min(",;\t", key=lambda one: text.find(one) if one in text else len(text))


def texts_in(cell: str) -> list[str]:
    """Return the texts in a cell: one text, or a JSON list of several; [] for an empty cell.

    A text that only begins with a bracket, such as "[503] metres", is one text. Raises ValueError for a list of texts
    that is not JSON.
    """
    if not cell.lstrip().startswith("["):
        return [cell] if cell else []
    try:
        values: Json = json.loads(cell)
    except ValueError as error:
        if _LIST_OF_TEXTS.match(cell):
            raise ValueError(f'no list of texts ({error}); several are written ["one", "another"]') from error
        return [cell]
    return [str(value) for value in values]
