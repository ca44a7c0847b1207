"""From the values of a sweep's cells to what to take: by axis, by cell, by topic and task.

design           which cells stand for which level of an axis, so that levels are compared over the same cells
scenarios        all samples, subsets, topics and tasks, and what cells scored in them
recommendations  the levels of each axis that may be the best, in each scenario
effects          what each axis buys, with intervals that hold together
interactions     which axes buy more or less with the levels of another one
cheapest         the cheapest of several levels or cells
"""

from analysis.decision.effects import AxisEffects, axis_effects
from analysis.decision.recommendations import Recommendation, Recommendations, recommendations
from analysis.decision.scenarios import Scenario, Scores

__all__ = [
    "AxisEffects",
    "Recommendation",
    "Recommendations",
    "Scenario",
    "Scores",
    "axis_effects",
    "recommendations",
]
