"""The classes of samples: their names for readers, their meanings, and their colours."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.forensics.outcomes import Outcome
from components.forensics.stages import BROKEN, EvidenceStage


@dataclass(frozen=True)
class SampleClass:
    """A class of samples. `fill` is the colour of its bars, `ink` the colour of text on them."""

    name: str
    label: str
    meaning: str
    fill: str
    ink: str


RIGHT, RIGHT_WITHOUT, TYPICAL, REACHED = "right", "right_without_evidence", "typical", "reached"
UNKNOWN = "unknown"

_DARK, _LIGHT = "#1a1d21", "#ffffff"
_ON_LIGHT = {"#d3a51f", "#c9b79c", "#8fb8d0", "#b8bec6", "#d3dbe1", "#a5cfb4", "#e6e3dc", "#86ad93"}

_TABLE = (
    ("not_in_corpus", "not in the corpus", "the gold document is absent", "#4a148c"),
    (
        "not_retrieved",
        "not retrieved",
        "a gold passage is missing from all hits, at any rank",
        "#7a1fa0",
    ),
    ("cut", "cut by a chunk border", "a border between chunks splits the gold", "#a8320a"),
    (
        "in_part",
        "partly in the prompt",
        "the gold is longer than a chunk, and the first top_k hold part of it",
        "#b04a3c",
    ),
    ("ranked_low", "ranked below top_k", "the gold was found, but ranked too low", "#bd5510"),
    ("dropped", "dropped from the prompt", "the gold was within top_k, but the prompt was full", "#806500"),
    ("compressed", "removed by the compressor", "the gold was chosen for the prompt, but compressed away", "#3f6212"),
    ("distracted", "answered from another passage", "the gold was in the prompt, the answer is not from it", "#d3a51f"),
    ("invented", "unsupported claims", "the gold was in the prompt, no passage supports some claim", "#8e2f6b"),
    ("unused", "gold in the prompt, not used", "no part of the answer comes from the gold", "#c9b79c"),
    ("wrong_with_evidence", "gold used, still wrong", "the gold was in the prompt and used", "#66758a"),
    ("partly", "partly right", "states part of the reference", "#8fb8d0"),
    (
        "low",
        "long text, low score",
        "in the lowest quarter of its subset, which is not an absolute judgement",
        "#b8bec6",
    ),
    ("false_answer", "answered an unanswerable question", "the documents do not answer the question", "#ad1457"),
    ("unexplained", "wrong, cause unknown", "wrong, and no evidence shows why", "#6b6b6b"),
    ("refused", "refused", "the model declined to answer", "#5d4037"),
    ("truncated", "truncated", "the answer reached the maximum length", "#6d4c41"),
    ("empty", "empty", "nothing was answered", "#455a64"),
    ("error", "no reply", "the model's server failed", "#37474f"),
    (TYPICAL, "long text, typical score", "above the lowest quarter of its subset", "#d3dbe1"),
    (REACHED, "gold in the prompt", "nothing says whether the answer is right", "#a5cfb4"),
    (UNKNOWN, "no gold, not rated", "no gold to look for in the prompt, and no rating of the answer", "#e6e3dc"),
    (RIGHT_WITHOUT, "right without the gold", "the gold was not in the prompt, the answer is right anyway", "#86ad93"),
    (RIGHT, "right", "states what the reference states", "#23683f"),
)
"""Name, label, meaning and colour, in the order of the pipeline, then of the answer. Successes come last."""

CLASSES: Mapping[str, SampleClass] = {
    name: SampleClass(name, label, meaning, fill, _DARK if fill in _ON_LIGHT else _LIGHT)
    for name, label, meaning, fill in _TABLE
}
"""Classes by name."""


def name_class(failure: str, outcome: str, stage: str) -> str:
    """Return the name of the class of a sample from the parts of its verdict."""
    if failure:
        return failure
    if outcome == Outcome.RIGHT:
        return RIGHT_WITHOUT if stage in BROKEN else RIGHT
    if outcome == Outcome.TYPICAL:
        return TYPICAL
    return REACHED if stage == EvidenceStage.IN_CONTEXT else UNKNOWN
