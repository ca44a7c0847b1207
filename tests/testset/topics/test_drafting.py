import json

import pytest

from components.errors import ComponentError
from components.llms.scripted import Scripted
from components.records import Request
from components.testset.protocols import TopicSource
from components.testset.topics.drafting import DraftedTopics
from components.testset.wording import Wording
from tests.contracts.component_contract import ComponentContract
from tests.contracts.judge_contract import ScriptedJudge, failed
from tests.testset.composed import built, options
from tests.testset.corpora import SmallCorpus

SOURCE = DraftedTopics(
    Scripted(),
    draft=Wording("", "draft {n}\n{documents}", "Again."),
    merge=Wording("", "merge {n}\n{drafts}", "Again."),
    n_topics=3,
    n_samples=2,
    n_documents=3,
    n_characters=20,
    max_attempts=2,
)
CORPUS = SmallCorpus({f"d{n}": f"text {n}\n</document>" + "x" * 100 for n in range(10)}, {"d3": "A title"})


def tree(*paths: str) -> str:
    rows = [dict(zip(("area", "name"), path.split("/"), strict=True)) for path in paths]
    return json.dumps({"topics": [{**row, "description": f"all of {row['name']}"} for row in rows]})


def script(request: Request) -> str:
    if request.messages[-1].content.startswith("merge"):
        return tree("Banking/Loans", "Banking/Cards")
    return tree("Banking/Loans", "Money/Funds") if request.id == "draft 0" else tree("banking/LOANS", "Banking/Cards")


class TestDraftedTopics(ComponentContract):
    component = SOURCE

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(SOURCE, TopicSource)
        assert SOURCE.n_requests == 3


def test_topic_drafts_are_merged() -> None:
    ask = ScriptedJudge(script)
    found = SOURCE.topics(CORPUS, ask)
    assert [(topic.slug, topic.path, topic.description) for topic in found] == [
        ("loans", ("Banking", "Loans"), "all of Loans"),
        ("cards", ("Banking", "Cards"), "all of Cards"),
    ]
    assert [len(call) for call in ask.calls] == [2, 1]
    assert ask.requests[-1].messages[-1].content == (
        "merge 3\n[1] Banking / Loans: all of Loans (2 / 2)\n[2] Money / Funds: all of Funds (1 / 2)\n"
        "[3] Banking / Cards: all of Cards (1 / 2)"
    )


def test_each_topic_draft_sees_different_documents() -> None:
    ask = ScriptedJudge(script)
    SOURCE.topics(CORPUS, ask)
    lines = [request.messages[-1].content.split("\n")[1:] for request in ask.calls[0]]
    assert [len(own) for own in lines] == [3, 3]
    assert len({line.partition("] ")[2] for own in lines for line in own}) == 6
    assert all(len(line) < 40 and "</document" not in line for own in lines for line in own)
    shuffled = SmallCorpus(dict(reversed(CORPUS.texts.items())), CORPUS.titles)
    again = ScriptedJudge(script)
    SOURCE.topics(shuffled, again)
    assert [r.messages for r in again.requests] == [r.messages for r in ask.requests]


def test_single_topic_draft_is_taken_unchanged() -> None:
    ask = ScriptedJudge(script)
    found = SOURCE.topics(SmallCorpus({"d1": "text"}), ask)
    assert [topic.path for topic in found] == [("Banking", "Loans"), ("Money", "Funds")]
    assert len(ask.requests) == 1


def test_unreadable_topic_draft_is_requested_again_and_left_out() -> None:
    def stubborn(request: Request) -> str:
        return "no" if request.id == "draft 0" else script(request)

    ask = ScriptedJudge(stubborn)
    assert [topic.slug for topic in SOURCE.topics(CORPUS, ask)] == ["loans", "cards"]
    assert [len(call) for call in ask.calls] == [2, 1]
    for reply in ('{"topics": []}', '{"topics": [{"area": "a", "name": " "}]}', tree("A/B", "A/B"), '{"topics": 3}'):
        with pytest.raises(ComponentError, match="got no readable draft from the model"):
            SOURCE.topics(CORPUS, ScriptedJudge(lambda _, reply=reply: reply))  # type: ignore[misc]


def test_topics_beyond_the_maximum_are_cut() -> None:
    ask = ScriptedJudge(lambda _: tree(*(f"A/topic {n}" for n in range(9))))
    assert len(SOURCE.topics(CORPUS, ask)) == 3


def test_topics_require_documents_and_successful_requests() -> None:
    ask = ScriptedJudge(script)
    with pytest.raises(ComponentError, match="the corpus has no documents"):
        SOURCE.topics(SmallCorpus({}), ask)
    assert ask.calls == []
    with pytest.raises(ComponentError, match=r"no connection\. Run the same command again: finished work is cached."):
        SOURCE.topics(CORPUS, ScriptedJudge(failed))


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_topic_drafting_wordings_are_in_the_chosen_language(language: str) -> None:
    source = built(options(language)["topics"]["tree"], DraftedTopics)
    assert ("主题" in source.draft.instruction) == ("主题" in source.merge.instruction) == (language == "zh")
