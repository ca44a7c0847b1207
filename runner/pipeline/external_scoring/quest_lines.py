"""RAGQuestEval scores for the question-by-question answers that another system's judge gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf

from components.judges.quest_eval_scores import NAMES, quest_scores
from components.judges.unknown_answers import Phrases
from components.means import combine_mean, mean_scores
from components.protocols import Tokenizer
from components.records import Scores
from runner.pipeline.external_scoring.answer_lines import QuestLine


@dataclass(frozen=True)
class QuestAnswers:
    """The four scores of `quest_scores`, with the phrases for "cannot be inferred" of conf/judge/quest_eval/."""

    tokenizer: Tokenizer
    names: tuple[str, ...] = NAMES

    larger_is_better: ClassVar[bool | None] = True

    def score(self, lines: Sequence[QuestLine]) -> dict[str, Scores]:
        """Return the scores of each line by name."""
        phrases = Phrases(_phrases())
        outcomes = [
            quest_scores(line.answers_reference, line.answers_generated, phrases, self.tokenizer) for line in lines
        ]
        return {name: mean_scores([outcome[name] for outcome in outcomes]) for name in NAMES}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return means float64[...] from sums float64[..., 2]."""
        return combine_mean(sums)


def _phrases() -> tuple[str, ...]:
    """Return the phrases, Chinese first: the first phrase is the published one."""
    folder = files("conf").joinpath("judge", "quest_eval")
    options = [OmegaConf.create(folder.joinpath(name).read_text(encoding="utf-8")) for name in ("zh.yaml", "en.yaml")]
    return tuple(str(phrase) for option in options for phrase in option.scores.quest_eval.cannot_infer)
