from dataclasses import replace

import pytest

from components.records import Answer, AnswerState
from components.testset.evidence import EvidenceSettings, evidence_sets
from components.testset.quotes import numbered_sentences
from components.testset.records import Draft, Quote
from components.testset.tasks.question import Question
from tests.contracts.task_contract import CORPUS, AskingTaskContract
from tests.testset.rehearsed import ask
from tests.testset.tasks.configured import LANGUAGES, NAMES, configured


def question(name: str, language: str = "en") -> Question:
    task = configured(name, language)
    assert isinstance(task, Question)
    return task


class TestQuestion(AskingTaskContract):
    component = question("extractive")

    def test_draft_contains_the_fields_of_the_reply(self) -> None:
        reply = (
            '```json\n{"reasoning": "I cannot tell which is best.", "question": "How many?", "answer": 12, '
            '"evidence": [{"sentences": ["[2-4]", 3], "quote": "we cannot say"}, {"sentence": 5}, 4, {}], '
            '"expression": "3 * 4"}\n```'
        )
        draft = self.drafted(reply)
        assert (draft.question, draft.references, draft.expression) == ("How many?", ("12",), "3 * 4")
        assert draft.quotes == (Quote((2, 3, 4), "we cannot say"), Quote((5,)), Quote((4,)))
        assert draft.notes == {"reasoning": "I cannot tell which is best."}

    def test_negative_sentence_numbers_are_unchanged(self) -> None:
        reply = '{"question": "Q?", "answer": "A", "evidence": [{"sentences": [-3, "-4", 2.0, "[5]"]}]}'
        assert self.drafted(reply).quotes == (Quote((-3, -4, 2, 5)),)

    @pytest.mark.parametrize("missing", ["question", "answer", "evidence"])
    def test_incomplete_reply_is_requested_again(self, missing: str) -> None:
        whole = {"question": '"Q?"', "answer": '"A"', "evidence": "[1]"}
        first = ", ".join(f'"{key}": {value}' for key, value in whole.items() if key != missing)
        replies = iter([f"{{{first}}}", '{"question": "Second?", "answer": "A", "evidence": [1]}'])
        written = self.component.write(
            "own", self.evidence()[:1], self.corpus, lambda requests: [answer(next(replies)) for _ in requests]
        )
        assert [draft.question for draft in written.drafts] == ["Second?"]

    def test_prompt_names_the_topic_if_it_exists(self) -> None:
        (own, _) = self.evidence()
        assert "Topic of the question: any\n" in self.component.wording.messages(own, self.corpus)[-1].content
        prompt = self.component.wording.messages(replace(own, topic="trade"), self.corpus)[-1].content
        assert "Topic of the question: Economy > Trade: Who sells what to whom.\n" in prompt

    def drafted(self, reply: str) -> Draft:
        written = self.component.write("own", self.evidence()[:1], self.corpus, lambda _: [answer(reply)])
        (draft,) = written.drafts
        return draft


def answer(text: str) -> Answer:
    return Answer("", AnswerState.OK, text)


def test_question_tasks_reject_invalid_settings() -> None:
    wording = replace(question("extractive").wording, instruction="{documents}")
    assert replace(question("extractive"), n_documents=0, wording=wording).check() == [
        "n_documents: got 0, expected at least 1",
        "instruction: lacks the placeholder {topic}",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(configured(name), Question)])
def test_every_configured_question_is_drafted_and_cites_all_its_documents(name: str, language: str) -> None:
    task = question(name, language)
    sets = evidence_sets(name, task, ["yard"], CORPUS, EvidenceSettings(least_characters=10, most_contained=0.9))
    (draft,) = task.write(name, sets, CORPUS, ask).drafts
    shown = numbered_sentences(draft.evidence.extracts)
    cited = {shown[number - 1].extract for quote in draft.quotes for number in quote.sentences}
    assert cited == set(range(task.n_documents))
