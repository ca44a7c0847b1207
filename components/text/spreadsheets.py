"""CSV as people's spreadsheets save it."""

import json
import re

from components.json_value import Json

_LIST_OF_TEXTS = re.compile(r"\s*\[\s*[\"'“”„‘«]")
"""How a list of texts begins, also where other quotation marks were made of the plain ones."""


def delimiter_of(text: str) -> str:
    """Excel writes semicolons where commas are decimal points; whichever stands in the header first is meant."""
    return min(",;\t", key=lambda one: text.find(one) if one in text else len(text))


def texts_in(cell: str) -> list[str]:
    """Of a cell that holds one text, or a JSON list of several; none of an empty one. What only begins with a bracket,
    such as "[503] metres", is one text.

    Raises ValueError for a list of texts that is not JSON.
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
