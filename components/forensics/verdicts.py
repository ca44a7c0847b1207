"""The verdict on one sample of a cell: the stage of its evidence, the outcome of its answer, and the failure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.forensics.failures import Failure, classify_failure
from components.forensics.outcomes import AnsweredSample, JudgedOutcome, Outcome, classify_outcome
from components.forensics.sources import RUN, EvidenceUse, Rule, claim_use, evidence_use, measure_shares
from components.forensics.stages import BROKEN, THETA, EvidenceStage, FoundPiece, GoldUnit, SampleStage, find_stage
from components.json_value import Json
from components.records import AnswerState, Kind

COLUMNS = (
    "kind",
    "question",
    "references",
    "answer_parts",
    "answerable",
    "gold",
    "found_gold",
    "answer",
    "state",
)
"""Columns of the table of samples that determine a verdict."""

FAITHFULNESS = "score/faithfulness"
"""Column of a judge's scores: the share of an answer's claims that the passages in its prompt support."""


@dataclass(frozen=True)
class PromptTexts:
    """The passages of a prompt: passages with some of the gold, and the others."""

    gold: Sequence[str]
    others: Sequence[str]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one sample.

    `doubts` say why the class is uncertain; they are empty if it is certain. `rank_needed` is the rank down to which
    the hits contain enough of all evidence, None if all hits together do not. `rule` is the rule that found where a
    wrong answer comes from, None if the verdict did not need it.
    """

    stage: EvidenceStage
    outcome: Outcome
    failure: Failure
    rank_needed: int | None
    doubts: tuple[str, ...]
    rule: Rule | None = None


@dataclass(frozen=True)
class ExaminedSample:
    """A sample with known stage and outcome. Its verdict may also need the texts of its prompt.

    `faithfulness` is the share of the answer's claims that the passages support, None if no judge said so.
    """

    sample: AnsweredSample
    stage: SampleStage
    judged: JudgedOutcome
    faithfulness: float | None = None

    @property
    def needs_texts(self) -> bool:
        """True if the verdict depends on the source of the answer, and no judge has checked its claims."""
        return self._needs_source and self.faithfulness is None

    @property
    def _needs_source(self) -> bool:
        """True if the answer is wrong, and the evidence was in the prompt."""
        is_wrong = self.judged.outcome is Outcome.WRONG and self.sample.answerable
        return is_wrong and self.stage.stage is EvidenceStage.IN_CONTEXT

    def verdict(self, texts: PromptTexts | None = None) -> Verdict:
        """Return the verdict. If it needs `texts` and they are None, the answer counts as WRONG_WITH_EVIDENCE."""
        use, doubt = self._use(texts) if self._needs_source else (None, "")
        failure = classify_failure(
            self.stage.stage,
            self.judged.outcome,
            use,
            answerable=self.sample.answerable,
            is_filtered=self.sample.state is AnswerState.REFUSED,
        )
        stage_doubt = "whole document" if self.stage.is_uncertain and failure in _LOSSES else ""
        if failure is Failure.IN_PART and not stage_doubt:
            stage_doubt = "long gold"
        doubts = dict.fromkeys(filter(None, (stage_doubt, self.judged.doubt, doubt)))
        return Verdict(
            self.stage.stage,
            self.judged.outcome,
            failure,
            self.stage.rank_needed,
            tuple(doubts),
            self._rule if use and failure.value == use.value else None,
        )

    @property
    def _rule(self) -> Rule:
        return Rule.CHARACTERS if self.faithfulness is None else Rule.CLAIMS

    def _use(self, texts: PromptTexts | None) -> tuple[EvidenceUse, str]:
        if self.faithfulness is not None:
            return claim_use(self.faithfulness), ""
        if texts is None:
            return EvidenceUse.WRONG_WITH_EVIDENCE, "texts not stored"
        is_short = len("".join(self.sample.answer.split())) < RUN
        return evidence_use(
            measure_shares(self.sample.answer, texts.gold, texts.others)
        ), "short answer" if is_short else ""


_LOSSES = frozenset(stage.value for stage in BROKEN)


def examine(
    row: Mapping[str, Json], top_k: int, score: float | None, low_below: float | None, theta: float = THETA
) -> ExaminedSample:
    """Return the stage and the outcome of a row of the table of samples, which has `COLUMNS`.

    `score` and `low_below` are as in `AnsweredSample`. A CUT sample also needs the column `retrieved`, to decide if its
    gold is longer than a chunk. `FAITHFULNESS` is read if the table has it.
    """
    sample = AnsweredSample(
        Kind(row["kind"]),
        row["question"],
        tuple(row["references"]),
        tuple(map(tuple, row["answer_parts"])),
        row["answerable"],
        AnswerState(row["state"]),
        row["answer"],
        score,
        low_below,
    )
    is_searched = row["found_gold"] is not None
    longest = _longest_hit(row.get("retrieved"))
    stage = (
        find_stage(_units(row), top_k, theta, longest) if is_searched else SampleStage(EvidenceStage.NOT_SEARCHED, None)
    )
    return ExaminedSample(sample, stage, classify_outcome(sample), row.get(FAITHFULNESS))


def _longest_hit(hits: Sequence[Mapping[str, Json]] | None) -> int | None:
    """Return the characters of the longest hit, which may have several places, or None if there are no hits."""
    lengths: dict[int, int] = {}
    for hit in hits or ():
        lengths[hit["rank"]] = lengths.get(hit["rank"], 0) + hit["end"] - hit["start"]
    return max(lengths.values(), default=None)


def _units(row: Mapping[str, Json]) -> list[GoldUnit]:
    pieces_by_unit: list[list[FoundPiece]] = [[] for _ in row["gold"]]
    for piece in row["found_gold"]:
        pieces_by_unit[piece["gold"]].append(FoundPiece(piece["rank"], piece["start"], piece["end"]))
    return [
        GoldUnit(
            unit["n_characters"],
            unit["n_in_context"],
            pieces,
            is_document=unit["start"] is None,
            one_of=unit.get("one_of", 0),
            n_chosen=unit.get("n_chosen"),
        )
        for unit, pieces in zip(row["gold"], pieces_by_unit, strict=True)
    ]
