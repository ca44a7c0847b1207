"""Texts for prompts, and texts to search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.records.chunks import Terms


@dataclass(frozen=True)
class Passage:
    """A text for a prompt, with the title and the metadata of its document.

    `number`, from 1, is the number by which answers cite it; 0 if that is its place among the passages of the prompt.
    """

    text: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    number: int = field(default=0, repr=False)  # cached replies of baselines depend on the repr


@dataclass(frozen=True)
class PassagePlaces:
    """Places of a passage of a prompt in the corpus, as (document position, start, end).

    `own` are the places of the passage itself. `copied` are the places of gold that the passage contains as a copy.
    """

    own: tuple[tuple[int, int, int], ...]
    copied: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Passages:
    """Texts (documents, chunks or queries), with their terms if the receiving component has a `tokenizer`.

    `titles` are the titles of the chunks' documents; empty for queries.
    """

    texts: Sequence[str]
    terms: Terms | None = None
    titles: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class CompressedPassages:
    """Parts of a prompt's passages: per passage, the characters [start, end) of its pieces, in order, without overlaps.

    `unread` is the reason why a model's reply could not be read, `failed` the reason why a request failed; both are ""
    otherwise.
    """

    pieces: tuple[tuple[tuple[int, int], ...], ...]
    unread: str = ""
    failed: str = ""
