from dataclasses import replace

from components.testset.records import EvidenceSet, Extract
from components.testset.tasks.continuation import Continuation
from tests.contracts.task_contract import TaskContract, ask
from tests.testset.tasks.configured import configured

COMPONENT = configured("continuation")
assert isinstance(COMPONENT, Continuation)


class TestContinuation(TaskContract):
    component = COMPONENT

    def test_continuation_halves_join_to_the_text(self) -> None:
        for draft in self.written().drafts:
            (extract,) = draft.evidence.extracts
            assert f"{draft.question} {draft.references[0]}" == extract.text
            assert abs(len(draft.question) - len(draft.references[0])) < 120
            assert draft.evidence.near

    def test_continuation_declines_texts_with_few_sentences(self) -> None:
        own = EvidenceSet("e", "own", "", (Extract("d", "", 5, 21, "One. Two! Three?"),))
        (not_drafted,) = COMPONENT.write("own", [own], self.corpus, ask).not_drafted
        assert (not_drafted.cause, not_drafted.detail) == ("declined", "3 sentences, expected at least 4")
        (draft,) = replace(COMPONENT, least_sentences=2).write("own", [own], self.corpus, ask).drafts
        assert (draft.question, draft.references) == ("One. Two!", ("Three?",))
