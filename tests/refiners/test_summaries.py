from collections.abc import Sequence
from dataclasses import replace

from components.llms.scripted import Scripted
from components.protocols import AskingRefinement
from components.records import Answer, AnswerState, Documents, Request
from components.refiners.summaries import Summaries
from tests.contracts.component_contract import ComponentContract
from tests.contracts.refiner_contract import DOCUMENTS

SUMMARIES = Summaries(Scripted(), "", "{title}: {text}", "Again.", max_attempts=2)


class TestSummaries(ComponentContract):
    component = SUMMARIES

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        self.asked += [request.messages[-1].content for request in requests]
        firsts = [(request.id, request.messages[0].content[:2]) for request in requests]
        return [Answer(an_id, AnswerState.OK, f"<think>hm</think>About {first}") for an_id, first in firsts]

    def test_summary_replaces_the_whole_document(self) -> None:
        self.asked: list[str] = []
        (step,) = SUMMARIES.steps
        assert isinstance(step, AskingRefinement)
        refined, asked = step.refine_by_asking(DOCUMENTS, self.ask)
        assert list(refined.texts) == [*DOCUMENTS.texts[:2], *(f"About T{n}" for n in range(2, 7))]
        assert refined.origins.original_end[1:].tolist() == [len(text) for text in DOCUMENTS.texts[2:]]
        assert refined.origins.is_copy.tolist() == [True] + [False] * 5
        assert refined.counts == {"n_summaries": 5}
        assert self.asked == [f"T{n}: {DOCUMENTS.texts[n]}" for n in range(2, 7)], "blank documents are not asked about"
        assert [own.text for own in asked] == list(refined.texts[2:])

    def test_failed_or_unreadable_summary_keeps_the_document(self) -> None:
        for state, told, n_asked in ((AnswerState.ERROR, "failed", 1), (AnswerState.REFUSED, "unread", 2)):
            n_requests = 0

            def ask(requests: Sequence[Request], state: AnswerState = state) -> list[Answer]:
                nonlocal n_requests
                n_requests += len(requests)
                return [Answer(request.id, state, error="broken") for request in requests]

            documents = Documents(["a"], [""], ["A text."])
            refined, (asked,) = SUMMARIES.refine_by_asking(documents, ask)
            assert list(refined.texts) == ["A text."]
            assert refined.origins.is_copy.all()
            assert getattr(asked, told)
            assert n_requests == n_asked

    def test_copied_prompt_is_not_a_summary(self) -> None:
        """SmolLM2 repeats the headings."""

        def ask(requests: Sequence[Request]) -> list[Answer]:
            return [
                Answer(request.id, AnswerState.OK, "[Summary]\n[Title] A\n\n[Document]\nA.") for request in requests
            ]

        asking = replace(SUMMARIES, instruction="[Title] {title}\n\n[Document]\n{text}\n\nWrite a summary.")
        refined, (asked,) = asking.refine_by_asking(Documents(["a"], ["A"], ["A text."]), ask)
        assert list(refined.texts) == ["A text."]
        assert asked.unread.startswith("cannot be read: [Summary]")

    def test_summaries_of_an_empty_corpus_are_empty(self) -> None:
        refined, asked = SUMMARIES.refine_by_asking(Documents((), (), ()), self.ask)
        assert (list(refined.texts), asked) == ([], [])

    def test_summaries_reject_wrong_placeholders_and_zero_attempts(self) -> None:
        assert replace(SUMMARIES, instruction="{title} {body}").check() == [
            "instruction: lacks the placeholder {text}",
            "instruction: unknown placeholder {body}, expected only {text} and {title}",
        ]  # fmt: skip
        assert replace(SUMMARIES, max_attempts=0).check() == ["max_attempts: got 0, expected at least 1"]
