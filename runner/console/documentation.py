"""The folder of the installed documentation, whose pages helps and errors name."""

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

_CHECKOUT = Path(__file__).parents[2] / "docs"
_ANY_PAGE = "tutorial.md"


def docs_note() -> str:
    """Return a line with the folder of the installed pages, "" in a checkout, which contains docs/."""
    if (_CHECKOUT / _ANY_PAGE).is_file():
        return ""
    folder = _installed_folder()
    return f"docs/ is installed as {folder}\n" if folder else ""


def _installed_folder() -> Path | None:
    try:
        installed = files("rag-grid") or []
    except PackageNotFoundError:
        return None
    pages = (Path(str(file.locate())) for file in installed if file.parts[-3:] == ("doc", "rag-grid", _ANY_PAGE))
    return next((page.resolve().parent for page in pages if page.is_file()), None)
