"""Whether tokenizers, metrics and prompts are made for the language that the texts of a sweep are in."""

from collections.abc import Collection, Iterator

from components.text.languages import NAMES, UNKNOWN
from runner.engine.identity import parts_of
from runner.pipeline.planned import PlannedCell


def misfits(cells: Collection[PlannedCell]) -> list[str]:
    """A line for each language of the cells' texts for which some of their components are not made."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        found.setdefault(cell.graph.data.language, {}).update(dict.fromkeys(_not_made_for_its_texts(cell)))
    named = {cell.request.cell.language.name for cell in cells}
    return [
        f"language: the texts {_look(language)}: {', '.join(names)}. {_remedy(language, named)}"
        for language, names in found.items()
        if names
    ]


def _remedy(language: str, named: Collection[str]) -> str:
    """What to do: where the language is named for all cells, the components were chosen besides."""
    if named == {language}:
        return "Choose other ones, unless they are meant."
    return f"Add language={language}, or choose other ones."


def _look(language: str) -> str:
    if language in NAMES:
        return f"look {NAMES[language]}, and these are made for others"
    return "are in several languages, or in one that is not recognised, and these are made for one"


def _not_made_for_its_texts(cell: PlannedCell) -> Iterator[str]:
    """The fields of the cell with such components, and the components' names. None for a user who says that texts are
    in several languages: what most of them look like is no better.
    """
    language = cell.graph.data.language
    if cell.request.cell.language.name == UNKNOWN:
        return
    for field in sorted(cell.graph.used):
        for part in parts_of(getattr(cell.request.cell, field)):
            made_for = getattr(part, "languages", ())
            if made_for and language not in made_for:
                yield f"{field} ({type(part).__name__})"
