"""Error rate and power of recommendations: the short form of
`python -m benchmarks decisions`.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.decision import tested_levels as levels_of  # renamed, because pytest would collect it as a test
from benchmarks import decisions

SETTING = replace(decisions.SETTINGS[1], n=100)
N_SWEEPS = 24


@pytest.fixture(scope="module")
def sweeps_without_effects() -> list[decisions.Recommendations]:
    random = np.random.default_rng(1)
    return [decisions.simulate(SETTING, random) for _ in range(N_SWEEPS)]


def test_sweeps_without_effects_rarely_name_a_level(sweeps_without_effects: list[decisions.Recommendations]) -> None:
    n_named = sum(map(decisions.names_any, sweeps_without_effects))
    assert n_named <= stats.binom.ppf(0.99, N_SWEEPS, decisions.ALPHA)


def test_uncorrected_p_values_name_a_level_too_often(sweeps_without_effects: list[decisions.Recommendations]) -> None:
    """Without these effects, the test above could not fail."""
    n_named = sum(
        any(entry.p is not None and entry.p <= decisions.ALPHA for entry in found.entries)
        for found in sweeps_without_effects
    )
    assert n_named > stats.binom.ppf(0.95, N_SWEEPS, decisions.ALPHA)


def test_effect_of_the_stated_size_is_found(sweeps_without_effects: list[decisions.Recommendations]) -> None:
    entries = [found.find("overall", decisions.PLANTED_AXIS) for found in sweeps_without_effects]
    size = float(np.mean([entry.detectable for entry in entries if entry and entry.detectable]))
    random = np.random.default_rng(2)
    n_sweeps = 12
    planted = [decisions.simulate(SETTING, random, size) for _ in range(n_sweeps)]
    n_found = sum(decisions.finds_planted(found, "overall") for found in planted)
    assert n_found >= stats.binom.ppf(0.01, n_sweeps, 0.75)


def test_stated_size_near_the_ceiling_includes_its_own_variance() -> None:
    mostly_right = replace(decisions.SETTINGS[2], n=100)
    random = np.random.default_rng(3)
    samples, cells = decisions.draw_samples(mostly_right.n, random), decisions.list_cells(mostly_right)
    latent = decisions.draw_latent(cells, samples.clusters, random)
    scores = mostly_right.score(latent, np.zeros_like(latent))
    scored = next(iter(decisions.score_scenarios(scores, cells, samples)))
    (tested,) = (
        one
        for one in levels_of.tested_levels(scored, levels_of.make_designs(scored), 1_999)
        if one.design.axis == decisions.PLANTED_AXIS
    )
    size, without = tested.detectable(0.05), replace(tested, right_or_wrong=None).detectable(0.05)
    assert size is not None
    assert without is not None
    assert size > 1.2 * without
