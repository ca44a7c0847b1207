"""A small corpus for tests of tasks and gates, without an index: what shares most words is nearest."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from components.testset.records import Extract, Topic


@dataclass(frozen=True)
class SmallCorpus:
    """Documents by id. `leaving` are those that samples may take out."""

    texts: Mapping[str, str]
    titles: Mapping[str, str] = field(default_factory=dict)
    topics: Sequence[Topic] = ()
    leaving: Collection[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "titles", {an_id: self.titles.get(an_id, "") for an_id in self.texts})

    def nearest(self, queries: Sequence[str], n: int, *, staying: bool = False) -> list[list[Extract]]:
        found = {an_id: text for an_id, text in self.texts.items() if not (staying and an_id in self.leaving)}
        return [self._nearest(query, found, n) for query in queries]

    def _nearest(self, query: str, texts: Mapping[str, str], n: int) -> list[Extract]:
        shared = {an_id: len(_pairs(query) & _pairs(text)) for an_id, text in texts.items()}
        found = sorted((an_id for an_id in shared if shared[an_id]), key=lambda an_id: (-shared[an_id], an_id))
        return [Extract(an_id, self.titles[an_id], 0, len(self.texts[an_id]), self.texts[an_id]) for an_id in found[:n]]


def _pairs(text: str) -> set[str]:
    return {text[place : place + 2] for place in range(len(text) - 1)}
