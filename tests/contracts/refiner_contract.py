"""The contract of every refiner. Above all, each character has a known origin."""

from itertools import pairwise

import numpy as np

from components.protocols import Refinement, Refiner
from components.records import Documents, RefinedDocuments
from tests.contracts.component_contract import ComponentContract

_TEXTS = (
    "",
    " \n\t\u3000",
    "一句话。又一句话。",
    "Intro.\n\n# One\n\nText of one.\r\n\r\n## Two\nA & B.\n\nMore.\n\n# Last",
    "A sentence. Another one:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter it. The end.",
    "Before. <table><tr><th>x</th><td>y &amp; z</td></tr><tr><td>1<br>2</td></tr></table> Behind. 😀",
    "A sentence. Another one:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter it. The end!",
)
DOCUMENTS = Documents(
    [f"d{i}" for i in range(len(_TEXTS))],
    [f"T{i}" for i in range(len(_TEXTS))],
    _TEXTS,
    [{"n": str(i)} for i in range(len(_TEXTS))],
)


class RefinementContract(ComponentContract):
    """Contract of refiners that are a single step."""

    component: Refiner

    def refine(self, documents: Documents = DOCUMENTS) -> RefinedDocuments:
        """The refined documents."""
        (step,) = self.component.steps
        assert isinstance(step, Refinement)
        return step.refine(documents)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Refiner)

    def test_refinement_keeps_all_documents_in_order(self) -> None:
        refined = self.refine()
        assert list(refined.ids) == list(DOCUMENTS.ids)
        assert list(refined.titles) == list(DOCUMENTS.titles)
        assert list(refined.metadata) == list(DOCUMENTS.metadata)
        assert len(refined.texts) == len(_TEXTS)

    def test_refined_pieces_are_ordered_and_do_not_overlap(self) -> None:
        refined = self.refine()
        origins = refined.origins
        columns = (origins.document, origins.start, origins.end, origins.original_start, origins.original_end)
        assert {column.dtype for column in columns} == {np.dtype(np.int32)}
        assert origins.is_copy.dtype == bool
        places = list(zip(origins.document.tolist(), origins.start.tolist(), origins.end.tolist(), strict=True))
        for (document, start, end), (next_document, next_start, _) in pairwise(places):
            assert document < next_document or end <= next_start, (document, start)
        for document, start, end in places:
            assert 0 <= start < end <= len(refined.texts[document])

    def test_refined_copies_equal_their_original_characters(self) -> None:
        refined = self.refine()
        origins = refined.origins
        for row in range(len(origins)):
            document, start, end = (int(part[row]) for part in (origins.document, origins.start, origins.end))
            first, last = int(origins.original_start[row]), int(origins.original_end[row])
            original = _TEXTS[document][first:last]
            assert original
            if origins.is_copy[row]:
                assert refined.texts[document][start:end] == original

    def test_refinement_keeps_blank_texts_blank(self) -> None:
        assert [text.strip() for text in self.refine().texts[:2]] == ["", ""]

    def test_empty_batch_of_documents_gives_an_empty_result(self) -> None:
        refined = self.refine(Documents((), (), ()))
        assert list(refined.texts) == []
        assert len(refined.origins) == 0

    def test_refinement_is_deterministic(self) -> None:
        assert list(self.refine().texts) == list(self.refine().texts)
