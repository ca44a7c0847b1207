"""Runs of shown sentences as gold, widened until their text is unique in their document."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from components.records import Evidence
from components.testset.quotes.numbered_sentences import ShownSentence
from components.testset.records import Extract


class TextRun(NamedTuple):
    """Consecutive sentences of one extract: [first, last], as positions among the shown sentences."""

    first: int
    last: int


@dataclass(frozen=True)
class Sections:
    """The sentences shown to a writer, with their documents by id."""

    extracts: Sequence[Extract]
    shown: Sequence[ShownSentence]
    texts: Mapping[str, str]

    def runs(self, sentences: Collection[int]) -> list[TextRun]:
        """Return the sentences as runs of neighbours."""
        runs: list[TextRun] = []
        for number in sorted(sentences):
            if runs and runs[-1].last == number - 1 and self._share_extract(number - 1, number):
                runs[-1] = TextRun(runs[-1].first, number)
            else:
                runs.append(TextRun(number, number))
        return runs

    def unit(self, run: TextRun) -> Evidence:
        """Return the span of a run in its document, without the whitespace around it."""
        document_id = self.extracts[self.shown[run.first].extract].document_id
        start, end = self.shown[run.first].start, self.shown[run.last].end
        text = self.texts[document_id][start:end]
        return Evidence(document_id, start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip()))

    def text(self, run: TextRun) -> str:
        """Return the text of a run."""
        unit = self.unit(run)
        return self.texts[unit.document_id][unit.start : unit.end]

    def until_unique(self, run: TextRun, max_added: int) -> TextRun | None:
        """Return the run, widened as little as possible until its text occurs once in its document.

        Sentences are added alternately after and before it. Return None if that takes more than `max_added` sentences,
        or more than the extract has.
        """
        for n_added in range(max_added + 1):
            if self._is_unique(run):
                return run
            has_after = run.last + 1 < len(self.shown) and self._share_extract(run.last, run.last + 1)
            has_before = run.first > 0 and self._share_extract(run.first - 1, run.first)
            if has_after and (n_added % 2 == 0 or not has_before):
                run = TextRun(run.first, run.last + 1)
            elif has_before:
                run = TextRun(run.first - 1, run.last)
            else:
                return None
        return None

    def _share_extract(self, one: int, other: int) -> bool:
        return self.shown[one].extract == self.shown[other].extract

    def _is_unique(self, run: TextRun) -> bool:
        words, document = self.text(run), self.texts[self.unit(run).document_id]
        return bool(words) and document.find(words, document.find(words) + 1) < 0
