"""A small test set, with what makes texts hard: emoji, markup, line breaks, two languages."""

from dataclasses import replace

from components.records import Documents, Evidence, Kind, Sample, Turn
from runner.results import released_set as content

TEXTS = {
    "bridge": "The bridge was opened in 1932. \U0001f309 It was designed by a team. It is 503 metres long.",
    "tower": "<script>alert(1)</script> 塔高三百米。\U0001f5fc\U0001f5fc 建于1889年。\n由埃菲尔设计。",
    "river": "The river is 80 km long.\r\nIt flows under the bridge. =1+1",
}


def unit(document: str, quote: str) -> Evidence:
    start = TEXTS[document].index(quote)
    return Evidence(document, start, start + len(quote))


def sample(name: str, question: str, reference: str, *gold: Evidence, topic: str = "roads", task: str = "qa") -> Sample:
    return Sample(name, f"{task}/{topic}", Kind.QA, question, (reference,), gold, topic, task)


SAMPLES = (
    sample("s1", "When was the bridge opened?", "In 1932", unit("bridge", "The bridge was opened in 1932.")),
    sample("s2", "How long is the bridge?", "503 metres", unit("bridge", "It is 503 metres long.")),
    sample("s3", "塔建于何时?", "1889年\n=SUM(1)", unit("tower", "建于1889年。"), topic="towers"),
    sample(
        "s4",
        "Which flows under what is 503 metres long?",
        "The river",
        unit("river", "It flows under the bridge."),
        unit("bridge", "It is 503 metres long."),
        task="multi_hop",
    ),
    replace(
        sample("s5", "And how long is it?", "80 km", unit("river", "The river is 80 km long."), topic="water"),
        kind=Kind.CONVERSATION,
        history=(Turn("Is there a river?", "Yes"),),
    ),
)


def small_set() -> "content.Testset":
    documents = Documents(list(TEXTS), ["Bridge", "", "River"], list(TEXTS.values()), [{"year": "1932"}, {}, {}])
    return content.Testset(documents, SAMPLES, {"s1": {"draft": "d1", "tags": []}}, about={"models": {"writer": "w"}})
