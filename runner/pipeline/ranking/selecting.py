"""Stages that choose a reranker for each subset on one part of the samples, and report on the rest."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from components.clusters import number_clusters
from components.errors import ComponentError
from components.json_value import Json
from components.protocols import Metric, RankingMetric, RerankerSelection
from components.records import Documents, Hits, Sample
from runner.engine.codecs import Columns, SinglePart
from runner.engine.stage import AnyStage, Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples, SamplesCodec, SampleSet
from runner.pipeline.corpus.step_reports import LINE, StepReport
from runner.pipeline.scoring.score_stages import Scoring

RerankerChoices = Mapping[str, Json]


class SelectionSplit(Stage[NDArray[np.bool_]], kind="selection_split", version=1, work=Work.BENCHMARK):
    """bool[n_samples], True for the samples that choose.

    They are the `share` of the labelled samples of each top-level subset, rounded up to whole groups of dependent
    samples. At least one group remains to report on.
    """

    codec = SinglePart("held_out")

    share: float
    seed: int
    samples: Samples
    corpus: Stage[Documents]

    def make(self, run: Run) -> NDArray[np.bool_]:
        """Draw the samples that choose."""
        return self.draw_samples(run.read(self.samples).samples, set(run.read(self.corpus).ids))

    def draw_samples(self, samples: Sequence[Sample], present: set[str]) -> NDArray[np.bool_]:
        """Draw the samples that choose, if the documents in `present` exist.

        A group is drawn by the id of its first sample, so that other samples do not affect it.
        """
        group = number_clusters(samples)
        first_ids = dict(zip(reversed(group.tolist()), reversed([sample.id for sample in samples]), strict=True))
        chosen_clusters: list[int] = []
        for sizes in self._groups_by_set(samples, group, present).values():
            n_needed, n_chosen = self.share * sum(sizes.values()), 0
            for cluster in sorted(sizes, key=lambda cluster: self._draw(first_ids[cluster]))[:-1]:
                if n_chosen < n_needed:
                    chosen_clusters.append(cluster)
                    n_chosen += sizes[cluster]
        held_out: NDArray[np.bool_] = np.isin(group, chosen_clusters)
        return held_out

    def _groups_by_set(
        self, samples: Sequence[Sample], group: NDArray[np.int64], present: set[str]
    ) -> dict[str, dict[int, int]]:
        """Return the groups of each subset with their numbers of labelled samples.

        A group of several subsets belongs to the subset of its first sample.
        """
        home: dict[int, str] = {}
        groups: dict[str, dict[int, int]] = {}
        for sample, cluster in zip(samples, group.tolist(), strict=True):
            if any(unit.document_id in present for unit in sample.gold):
                sizes = groups.setdefault(home.setdefault(cluster, find_top_subset(sample)), {})
                sizes[cluster] = sizes.get(cluster, 0) + 1
        return groups

    def _draw(self, sample_id: str) -> bytes:
        return hashlib.sha256(f"{self.seed}\0{sample_id}".encode()).digest()


def find_top_subset(sample: Sample) -> str:
    """Return the top-level subset of a sample."""
    return sample.subset.split("/")[0]


class ReportedSamples(Stage[SampleSet], kind="reported_samples", version=1, work=Work.BENCHMARK):
    """The samples, in which those that helped to choose a reranker are marked as held out.

    Marked samples count in no aggregate.
    """

    codec = SamplesCodec()

    samples: Samples
    split: SelectionSplit

    def make(self, run: Run) -> SampleSet:
        """Mark the samples that chose."""
        sample_set, held_out = run.read(self.samples), run.read(self.split).tolist()
        marked = [
            replace(each, held_out=is_held_out) for each, is_held_out in zip(sample_set.samples, held_out, strict=True)
        ]
        return SampleSet(tuple(marked), sample_set.labels)


class ChosenByScores(Stage[RerankerChoices], kind="chosen_rerankers", version=2, work=Work.BENCHMARK):
    """The chosen candidate of each subset, in `sets`.

    An entry has the `chosen` candidate, the metric of each candidate (`values`), and the number of samples in the mean
    (`n`). If no sample of a subset could choose, it has the choice over all subsets, which is also in `overall`, and
    `n` is 0. Ties go to the first candidate.
    """

    codec = SinglePart("chosen")

    name: str
    metric: Metric
    candidates: tuple[tuple[str, Stage[Scoring]], ...]
    """Candidates by name, as pairs: the order decides between equal ones, and the order of a mapping would not be in
    the key.
    """
    samples: Samples
    split: SelectionSplit

    def make(self, run: Run) -> RerankerChoices:
        """Compare the candidates. Raises ComponentError if no sample that chooses has a score."""
        samples, held_out = run.read(self.samples).samples, run.read(self.split)
        values = self._values(run)
        can_choose = held_out & ~np.isnan(np.stack(list(values.values()))).any(axis=0)
        if not can_choose.any():
            raise ComponentError(
                f"reranker=selected: none of the {len(samples)} samples has a value of {self.name} and belongs to the "
                "part used to choose. The choice needs two independent labelled samples per subset (python -m "
                "runner.datasets describe shows them). Otherwise choose a reranker."
            )
        sets = np.array([find_top_subset(sample) for sample in samples])
        overall = self._best(values, can_choose)
        choice_by_set: dict[str, Json] = {}
        for name in dict.fromkeys(sets.tolist()):
            is_in_set = can_choose & (sets == name)
            choice_by_set[name] = (
                self._best(values, is_in_set) if is_in_set.any() else {**overall, "values": {}, "n": 0}
            )
        # Sorted, as it will be when it is read from its file.
        return {"overall": overall, "sets": dict(sorted(choice_by_set.items()))}

    def _values(self, run: Run) -> dict[str, NDArray[np.float64]]:
        """Return the metric of every sample by candidate, NaN without a value."""
        column = f"score/{self.name}"
        tables = {name: run.read(stage).scores for name, stage in self.candidates}
        return {name: np.array(table[column].to_pylist(), dtype=np.float64) for name, table in tables.items()}

    def _best(self, values: Mapping[str, NDArray[np.float64]], rows: NDArray[np.bool_]) -> dict[str, Json]:
        means = {name: float(candidate_values[rows].mean()) for name, candidate_values in values.items()}
        sign = 1 if self.metric.larger_is_better else -1
        return {"chosen": max(means, key=lambda name: sign * means[name]), "values": means, "n": int(rows.sum())}


class SelectedHits(Stage[Hits], kind="selected_hits", version=1, work=Work.PER_QUERY):
    """The hits of the candidate that was chosen for each sample's subset."""

    codec = Columns(Hits)

    candidates: Mapping[str, Stage[Hits]]
    chosen: ChosenByScores

    @property
    def also_read(self) -> Sequence[AnyStage]:
        return [self.chosen.samples]

    def make(self, run: Run) -> Hits:
        names = names_by_sample(run.read(self.chosen.samples).samples, run.read(self.chosen))
        rankings = {name: run.read(stage) for name, stage in self.candidates.items()}
        first = next(iter(rankings.values()))
        chunk, score = first.chunk.copy(), first.score.copy()
        for name, hits in rankings.items():
            rows = np.array([chosen == name for chosen in names], dtype=bool)
            chunk[rows], score[rows] = hits.chunk[rows], hits.score[rows]
        return Hits(chunk, score)


def names_by_sample(samples: Sequence[Sample], chosen: RerankerChoices) -> list[str]:
    """Return the candidate that was chosen for each sample's subset."""
    return [chosen["sets"][find_top_subset(sample)]["chosen"] for sample in samples]


@dataclass(frozen=True)
class SelectionReport(StepReport):
    """Report about the choice and its evidence."""

    step: ClassVar[str] = "reranker"

    metric: str
    chosen: ChosenByScores

    @property
    def also_read(self) -> Sequence[AnyStage]:
        return [self.chosen.samples, self.chosen.split]

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return `metric`, `n_held_out` of `n_samples`, and the entries `overall` and `sets` of `ChosenByScores`."""
        chosen, held_out = run.read(self.chosen), run.read(self.chosen.split)
        n_held_out = int(held_out.sum())
        choices = ", ".join(f"{name} -> {choice['chosen']}" for name, choice in chosen["sets"].items())
        line = (
            f"reranker: chosen by {self.metric} on {n_held_out:,} of {len(held_out):,} samples, which count in no "
            f"metric; {choices}"
        )
        return {"metric": self.metric, "n_held_out": n_held_out, "n_samples": len(held_out), **chosen, LINE: line}

    def columns(self, run: Run) -> Mapping[str, pa.Array]:
        """Return `reranker`, the candidate chosen for the sample, and `held_out`, whether the sample helped to
        choose.
        """
        names = names_by_sample(run.read(self.chosen.samples).samples, run.read(self.chosen))
        return {
            "reranker": pa.array(names, pa.string()),
            "held_out": pa.array(run.read(self.chosen.split).tolist(), pa.bool_()),
        }


def selection_problems(reranker: RerankerSelection, metrics: Mapping[str, RankingMetric]) -> list[str]:
    """Return an error message for a metric that the cell does not compute, or that cannot rank."""
    names = [name for metric in metrics.values() if metric.larger_is_better is not None for name in metric.names]
    if reranker.metric in names:
        return []
    return [
        f"reranker.metric: got {reranker.metric!r}, expected a metric of the cell that scores rankings: "
        f"{', '.join(names) or 'it has none'}"
    ]
