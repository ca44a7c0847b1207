"""A corpus in which every sample fails in a different way, with the expected class of each."""

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from components.clusters import Groups, groups_field
from components.records import Benchmark, Documents, Evidence, Kind, Sample

TEXTS = {
    # Found, but its second half is a chunk without a word of the question.
    "cut": (
        "The quarry opened in spring with ninety workers and two cranes. "
        "Marble from it went north by rail to three towns on the coast."
    ),
    # Longer than any chunk.
    "long": " ".join(f"The {name} of the monastery is old." for name in "abbey barn cellar dairy oven well".split()),
    # Shorter documents that say the word more often come first.
    "low-1": "Lighthouse, lighthouse, lighthouse.",
    "low-2": "Lighthouse, lighthouse.",
    "low-3": "Among the things that sailors see at night is a lighthouse kept by Maren.",
    # Found, but the passage before it leaves no room.
    "big-1": "Windmill, windmill, windmill: one sees them everywhere along the flat and windy northern coast.",
    "big-2": "This windmill was raised by Jonas and his five sons after the war had ended.",
    "hidden": "Nobody who asks will find the answer, which is Xanten.",
    "distracting": "Ferry, ferry, ferry: the boats are blue and white.",
    "ferry": "The ferry is Lea.",
    "telling": "The tunnel was dug by Otto and his men under the hill.",
    "lake": "The lake froze over in the year 1709.",
    "塔": "古塔由陈立主持修建。",
}

ABSENT = "not in the corpus"


@dataclass(frozen=True)
class Case:
    """A sample and the class that the rules should give it in each of the two cells: one whose model repeats what it
    reads, and one whose model repeats the question.
    """

    sample: Sample
    from_context: str
    from_question: str


def _case(
    an_id: str,
    question: str,
    reference: str,
    gold: str,
    from_context: str,
    from_question: str,
    *,
    answerable: bool = True,
    kind: Kind = Kind.QA,
    quote: str = "",
) -> Case:
    text = TEXTS.get(gold, ABSENT)
    start = text.index(quote)
    units = (Evidence(gold, start, start + len(quote or text)),) if gold else ()
    references = (reference,) if reference else ()
    sample = Sample(an_id, "planted", kind, question, references, units, answerable=answerable)
    return Case(sample, from_context, from_question)


CASES = (
    _case("absent", "lake colour?", "Crimson", ABSENT, "not_in_corpus", "not_in_corpus"),
    _case("hidden", "city boats?", "Wesel", "hidden", "not_retrieved", "not_retrieved"),
    _case("cut", "quarry?", "Seven oxen", "cut", "cut", "cut", quote="two cranes. Marble"),
    _case("long", "monastery?", "Brother Anselm", "long", "in_part", "in_part"),
    _case("low", "lighthouse?", "Maren", "low-3", "ranked_low", "ranked_low"),
    _case("dropped", "windmill?", "Jonas", "big-2", "dropped", "dropped"),
    _case("distracted", "ferry?", "Captain Brandt", "ferry", "distracted", "unused"),
    _case("told", "tunnel?", "Gustav", "telling", "wrong_with_evidence", "unused"),
    _case("half", "tunnel digger?", "Otto Grand", "telling", "partly", "unused"),
    _case("right", "lake freezing?", "1709", "lake", "", "unused"),
    _case("古塔", "古塔 修建？", "陈立", "塔", "", "unused"),
    _case("no gold", "lake depth?", "Nine fathoms", "", "unexplained", "unexplained"),
    _case("unanswerable", "lake owner?", "", "", "false_answer", "false_answer", answerable=False),
    _case("refused", "lake: insufficient information?", "Frozen", "lake", "wrong_with_evidence", "refused"),
    _case("filtered", "lake FILTER?", "1710", "lake", "refused", "refused"),
    _case("truncated", "lake CUTOFF?", "1710", "lake", "truncated", "truncated"),
    _case("empty", "lake NOTHING?", "1710", "lake", "empty", "empty"),
    _case("error", "lake FAILURE?", "1710", "lake", "error", "error"),
    # Long texts are low or typical among each other.
    _case("story 0", "lake story", "The lake froze over", "lake", "", "", kind=Kind.CONTINUATION),
    _case("story 1", "lake story lake", "The lake froze over", "lake", "", "low", kind=Kind.CONTINUATION),
    _case("story 2", "lake story lake lake", "The lake froze over", "lake", "", "low", kind=Kind.CONTINUATION),
)


@dataclass(frozen=True)
class Planted:
    """The planted data set. It has the fields of the bundled data set that it replaces."""

    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None
    groups: Groups = groups_field()

    version: ClassVar[int] = 1
    name: ClassVar[str] = "planted"

    def fingerprint(self) -> str:
        """Return the hash of all planted texts and cases."""
        return hashlib.sha256(repr((TEXTS, CASES)).encode()).hexdigest()

    def load(self) -> Benchmark:
        """Return the whole benchmark."""
        ids = sorted(TEXTS)
        documents = Documents(ids, [f"About {own}" for own in ids], [TEXTS[own] for own in ids])
        return Benchmark(documents, tuple(case.sample for case in CASES))


OVERRIDES = (
    "dataset._target_=tests.forensics.planted.Planted",
    "run.plugins=[tests]",
    "run.max_failure_rate=1",
    "dataset.limit=null",
    "llm=scripted",
    "llm.error_on=FAILURE",
    "llm.empty_on=NOTHING",
    "llm.refuse_on=FILTER",
    "llm.truncate_on=CUTOFF",
    "chunk.size=20",
    "top_k=2",
    "retriever.depth=3",
    "context.max_tokens=24",
)
FROM_CONTEXT, FROM_QUESTION = "llm.reply='{context}'", "llm.reply='{question}'"
