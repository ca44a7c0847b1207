"""Whether a run is made for the language of its corpus, told before anything is asked."""

from collections.abc import Iterable

from components.errors import ConfigError
from components.text.languages import NAMES, UNKNOWN, detect_language


def check_language(named: str, texts: Iterable[str]) -> None:
    """Raises ConfigError if the texts look to be in another language than the one that is named. Drafts in the language
    of the prompts would all be paid for, and rejected.

    Where it is not recognised, and where a user says that there are several, there is nothing to tell.
    """
    found = detect_language(texts)
    if UNKNOWN in (named, found) or found == named:
        return
    raise ConfigError(
        f"language: got {named}, and the texts of the corpus look {NAMES[found]}. Take language={found}; or "
        f"language={UNKNOWN}, which asks in English for the language of the documents, whatever it is."
    )
