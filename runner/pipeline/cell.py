"""The components of one cell of a sweep."""

from dataclasses import dataclass

from components.pipelines.built_in import BuiltIn
from components.prices import NO_PRICES, Prices
from components.protocols import LLM, Metric, Pipeline
from runner.engine.executors.processes import Processes
from runner.engine.executors.protocol import Executor
from runner.pipeline.answers.cell_answers import AnswerComponents
from runner.pipeline.corpus.cell_texts import CorpusComponents
from runner.pipeline.race_settings import NO_RACE, RaceSettings
from runner.pipeline.ranking.cell_ranking import RankingComponents
from runner.pipeline.scoring.cell_scores import ScoringComponents
from runner.pipeline.scoring.revision_scores import revision_metrics
from runner.pipeline.search.cell_search import SearchComponents
from runner.pipeline.search_settings import NO_SEARCH, SpaceSearchSettings
from runner.pipeline.settings import ExperimentSettings, LanguageSettings, RunSettings, TrackingSettings


@dataclass(frozen=True, kw_only=True)
class Cell(ScoringComponents, AnswerComponents, RankingComponents, SearchComponents, CorpusComponents):
    """The components of one cell. Field names are the names of the configuration groups.

    Each subpackage of the pipeline declares the components of its steps. `repeat` and `judge_repeat` number draws:
    further answers of a model, or judgements of a judge, for the same input. A custom `pipeline` replaces all
    components that search, read and answer.
    """

    top_k: int
    tracking: TrackingSettings
    language: LanguageSettings
    run: RunSettings
    experiment: ExperimentSettings
    executor: Executor = Processes()
    pipeline: Pipeline = BuiltIn()
    prices: Prices = NO_PRICES
    race: RaceSettings = NO_RACE
    search: SpaceSearchSettings = NO_SEARCH
    repeat: int = 0
    judge_repeat: int = 0

    @property
    def answerer(self) -> LLM:
        """The component that answers: the language model, or a custom pipeline."""
        return self.llm if self.pipeline.is_built_in else self.pipeline

    @property
    def computed_metrics(self) -> dict[str, Metric]:
        """Every metric of the cell, including judged ones, under each name that it computes."""
        is_revised = self.pipeline.is_built_in and self.retriever.arms
        reviser_metrics = revision_metrics(self.reviser) if is_revised else ()
        components = (*self.metrics.scores.values(), *self.judge.scores.values(), *reviser_metrics)
        return {name: metric for metric in components for name in metric.names}
