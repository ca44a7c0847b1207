"""The evidence for CRUD-RAG's gold texts: spans of the corpus, or documents that are added to it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from components.datasets.crud_split import CrudItem
from components.datasets.gold_matching import PassageFinder
from components.records import Documents, Evidence, Kind


@dataclass(frozen=True)
class CrudGold:
    """The evidence of each distinct gold text (at least one unit), and the documents to add as `added`, id -> text."""

    evidence: Mapping[str, tuple[Evidence, ...]]
    added: Mapping[str, str]

    def collect_evidence(self, item: CrudItem) -> tuple[Evidence, ...]:
        """Return the distinct units of an item's gold texts, in order."""
        return tuple(dict.fromkeys(unit for text in item.gold_texts for unit in self.evidence[text]))

    def counts(self) -> dict[str, int]:
        """Return the number of distinct gold texts, in total and by result. Each counts under exactly one result."""
        evidence = list(self.evidence.values())
        in_added = sum(any(unit.document_id in self.added for unit in units) for units in evidence)
        absent = sum(units[0].start is None and units[0].document_id not in self.added for units in evidence)
        return {
            "n_gold_texts": len(evidence),
            "n_gold_found_in_corpus": len(evidence) - in_added - absent,
            "n_gold_added": len(self.added),
            "n_gold_within_added": in_added - len(self.added),
            "n_gold_not_in_corpus": absent,
        }


def match_gold(documents: Documents, items: Sequence[CrudItem], min_overlap: float, add_gold: bool) -> CrudGold:
    """Look up every gold text in the corpus. With `add_gold`, add the texts of QA items that are not in it.

    The longest texts are added first, so that a text contained in another is not added again. A text that is found
    nowhere has one unit, a document that is not in the corpus. No retriever can find it, and the notes count it.
    """
    texts = list(dict.fromkeys(text for item in items for text in item.gold_texts))
    in_corpus = PassageFinder(texts, min_overlap)
    in_corpus.add(documents.ids, documents.texts)
    evidence = {text: in_corpus.find(text) for text in texts}
    added = _new_documents(_missing_qa_texts(items, evidence), min_overlap) if add_gold else {}
    missing = [text for text in texts if not evidence[text]]
    in_added = PassageFinder(missing, min_overlap)
    in_added.add(list(added), list(added.values()))
    for text in missing:
        whole = (Evidence(gold_id(text)),)
        evidence[text] = whole if gold_id(text) in added else in_added.find(text) or whole
    return CrudGold(evidence, added)


def _new_documents(texts: Sequence[str], min_overlap: float) -> dict[str, str]:
    """Return the texts that no earlier text contains, by the ids of their documents."""
    finder = PassageFinder(texts, min_overlap)
    added: dict[str, str] = {}
    for text in texts:
        if not finder.find(text):
            added[gold_id(text)] = text
            finder.add([gold_id(text)], [text])
    return added


def gold_id(text: str) -> str:
    """Return the id of the document that consists of this gold text."""
    return f"gold:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _missing_qa_texts(items: Iterable[CrudItem], evidence: Mapping[str, tuple[Evidence, ...]]) -> list[str]:
    texts = {text for item in items if item.sample.kind is Kind.QA for text in item.gold_texts}
    return sorted((text for text in texts if not evidence[text]), key=lambda text: (-len(text), text))
