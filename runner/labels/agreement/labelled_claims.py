"""Has a judge check the claims that people labelled, and writes the claims of a sweep's answers for people to label."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from components.asking.readable_requests import UnreadableReply
from components.datasets.subsampling import draw
from components.errors import ConfigError, DataError
from components.json_value import Json
from components.judges.claim_checks import (
    Check,
    ClaimChecker,
    ClaimExtractor,
    Claims,
    SourceText,
    Verdicts,
    worst_unread,
)
from components.judges.claim_metrics import ClaimMetrics
from components.judges.claim_replies import Support
from components.judges.faithfulness import Faithfulness
from components.records import JudgeInput, Kind, Passage, Sample, ScoreState, Turn
from components.subsets import UNNAMED
from runner.engine.model_replies import build_asker
from runner.engine.plugins.plugin_loading import load_plugins
from runner.engine.store import Store
from runner.labels.claim_labels import LabelledClaim
from runner.labels.label_files import LabelledItem
from runner.labels.rating import Rating, number_questions
from runner.pipeline.building import build_component, read_plugins
from runner.pipeline.scoring.judging import judge_purpose
from runner.pipeline.settings import JudgeSettings
from runner.results import cell_folders, corpus_texts, read_cell, read_samples
from runner.results.hit_texts import read_hit_texts

ChecksAnswers = Faithfulness | ClaimMetrics

_STRONGEST_FIRST = (Support.SUPPORTED, Support.CONTRADICTED, Support.NEITHER)
_COLUMNS = ("id", "question", "history", "answer", "retrieved")


def claim_judge(config: Mapping[str, Json]) -> ChecksAnswers:
    """Return the metric of the configured judge that checks claims of answers. Raises ConfigError if it has none."""
    load_plugins(read_plugins(config))
    settings: JudgeSettings = build_component(config["judge"], JudgeSettings, "judge", read_plugins(config))
    judges = [metric for metric in settings.scores.values() if isinstance(metric, ChecksAnswers)]
    if not judges:
        raise ConfigError("--judge: this judge checks no claims. Choose faithfulness or claims.")
    return judges[0]


def rate_claims(judge: ChecksAnswers, claims: Sequence[LabelledClaim], store: Store) -> list[Rating]:
    """Return the judge's verdict on every claim that has a label. Replies are stored.

    Claims of one answer are checked together, as in a sweep. `judge=claims` checks them against each passage, and its
    verdict is the strongest one: supported by any passage, else contradicted by any.
    """
    groups = _group_by_answer([claim for claim in claims if claim.verdict])
    checks = [
        [
            Check(str(number), item.sample, tuple(claim.claim for claim in item_claims), texts)
            for number, texts in texts_of_item
        ]
        for item, item_claims in groups
        for texts_of_item in [enumerate(_texts(judge, item), start=1)]
    ]
    ask = build_asker(judge.llm, judge_purpose(judge), store)
    replies = iter(ClaimChecker.from_judge(judge).verdicts(list(chain.from_iterable(checks)), ask))
    questions = number_questions([LabelledItem(item, {}) for item, _ in groups])
    return [
        rating
        for (item, item_claims), answer_checks, question in zip(groups, checks, questions, strict=True)
        for rating in _rate(item, item_claims, question, [next(replies) for _ in answer_checks])
    ]


def _group_by_answer(claims: Sequence[LabelledClaim]) -> list[tuple[JudgeInput, list[LabelledClaim]]]:
    groups: dict[tuple[str, ...], list[LabelledClaim]] = {}
    for claim in claims:
        item = claim.judged
        key = (item.sample.id, item.sample.question, item.answer, *(passage.text for passage in item.passages))
        groups.setdefault(key, []).append(claim)
    return [(group[0].judged, group) for group in groups.values()]


def _texts(judge: ChecksAnswers, item: JudgeInput) -> list[tuple[str, ...]]:
    """Return the passages that the judge reads together."""
    texts = tuple(passage.text for passage in item.passages)
    return [(text,) for text in texts] if isinstance(judge, ClaimMetrics) else [texts]


def _rate(
    item: JudgeInput, claims: Sequence[LabelledClaim], question: int, replies: Sequence[Verdicts | UnreadableReply]
) -> Iterator[Rating]:
    unread = [reply for reply in replies if isinstance(reply, UnreadableReply)]
    for i, claim in enumerate(claims):
        judged: str | None
        if unread:
            worst = worst_unread(unread)
            judged, reason = (None if worst.state is ScoreState.FAILED else worst.state.value), worst.reason
        else:
            verdicts = [reply[i] for reply in replies if not isinstance(reply, UnreadableReply)]
            strongest = min(verdicts, key=lambda verdict: _STRONGEST_FIRST.index(verdict.support))
            judged, reason = strongest.support.value, strongest.reason
        remark = reason if judged is None else f"{claim.claim}{f' ({reason})' if reason else ''}"
        yield Rating(item.sample.id, item.answer, question, "claims", str(claim.verdict), judged, remark)


def claims_to_label(
    sweep_dir: Path, judge: ChecksAnswers, n_answers: int, store: Store
) -> list[tuple[JudgeInput, Claims]]:
    """Return `n_answers` answers of a sweep, drawn without duplicates, with their claims as the judge splits them.

    Stored replies are used. Answers without passages or claims are left out. Raises DataError if no answer has passages
    and claims, or if a text is no longer in the store.
    """
    items: dict[tuple[str, str], JudgeInput] = {}
    for folder in cell_folders(sweep_dir):
        corpus = corpus_texts(read_cell(folder), sweep_dir)
        for row in read_samples(folder, _COLUMNS):
            if row["answer"] and (hits := [hit for hit in row["retrieved"] if hit["in_context"]]):
                passages = tuple(map(Passage, read_hit_texts(hits, corpus)))
                items.setdefault((row["id"], row["answer"]), JudgeInput(_sample(row), row["answer"], passages))
    sampled = sorted(items.values(), key=lambda item: draw(0, f"{item.sample.id} {item.answer}"))[:n_answers]
    ask = build_asker(judge.llm, judge_purpose(judge), store)
    extractor = ClaimExtractor(judge.system, judge.claim_prompt, judge.reminder, judge.max_claims, judge.max_attempts)
    replies = extractor.claims([SourceText("claims", item.sample, item.answer) for item in sampled], ask)
    with_claims = [
        (item, claims)
        for item, claims in zip(sampled, replies, strict=True)
        if claims and not isinstance(claims, UnreadableReply)
    ]
    if not with_claims:
        reasons = {unread.reason for unread in replies if isinstance(unread, UnreadableReply)}
        why = f" ({min(reasons)})" if reasons else ""
        raise DataError(f"{sweep_dir}: none of {len(sampled)} answers with passages has a claim{why}")
    return with_claims


def _sample(row: Mapping[str, Json]) -> Sample:
    turns = tuple(Turn(turn["question"], turn["answer"]) for turn in json.loads(row["history"] or "[]"))
    return Sample(row["id"], UNNAMED, Kind.QA, row["question"], (), history=turns)
