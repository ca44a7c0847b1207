"""What is shown to a model or searched with a query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.records.chunks import Terms


@dataclass(frozen=True)
class Passage:
    """A text that goes into a prompt, with the title and the metadata of its document. `number`, from 1, is by which it
    is cited, where that is not its place among the passages that it is shown with; else 0.
    """

    text: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    number: int = field(default=0, repr=False)  # baselines' replies are kept by what a passage says of itself


@dataclass(frozen=True)
class PassagePlaces:
    """Where a passage of a prompt is in the corpus, as (document position, start, end): `own` is the passage itself,
    `copied` what of the gold stands in it as a copy.
    """

    own: tuple[tuple[int, int, int], ...]
    copied: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Passages:
    """Texts (documents, chunks or queries), with their terms where the receiving component has a `tokenizer`.

    `titles` are those of the documents that chunks are from; empty for queries.
    """

    texts: Sequence[str]
    terms: Terms | None = None
    titles: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.texts)
