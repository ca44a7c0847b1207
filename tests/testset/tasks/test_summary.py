from components.records import Answer, AnswerState
from components.testset.quotes import numbered_sentences
from components.testset.records import Quote
from components.testset.tasks.summary import Summary
from tests.contracts.task_contract import AskingTaskContract
from tests.testset.tasks.configured import configured

COMPONENT = configured("summary")
assert isinstance(COMPONENT, Summary)


class TestSummary(AskingTaskContract):
    component = COMPONENT

    def test_summary_cites_every_extract_but_the_source(self) -> None:
        for draft in self.written().drafts:
            shown = numbered_sentences(draft.evidence.extracts)
            cited = {shown[number - 1].extract for quote in draft.quotes for number in quote.sentences}
            assert cited == {1, 2, 3}
            assert draft.evidence.near == tuple(extract.document_id for extract in draft.evidence.extracts[1:])

    def test_citations_of_the_source_are_dropped(self) -> None:
        (own, _) = self.evidence()
        n_of_source = sum(shown.extract == 0 for shown in numbered_sentences(own.extracts))
        cited = f'[{{"sentences": [1, {n_of_source + 1}], "quote": "q"}}, {n_of_source}, {{"quote": "alone"}}]'
        written = COMPONENT.write("own", [own], self.corpus, lambda _: [self.reply(cited)])
        assert written.drafts[0].quotes == (Quote((n_of_source + 1,), "q"),)

    def test_summary_of_the_source_alone_is_unreadable(self) -> None:
        (own, _) = self.evidence()
        written = COMPONENT.write("own", [own], self.corpus, lambda _: [self.reply("[1, 2]")])
        assert [own.cause for own in written.not_drafted] == ["unreadable"]

    @staticmethod
    def reply(evidence: str) -> Answer:
        return Answer("", AnswerState.OK, f'{{"event": "E", "summary": "S.", "evidence": {evidence}}}')
