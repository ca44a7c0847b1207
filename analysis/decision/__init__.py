"""Recommendations from the values of a sweep's cells: by axis, by cell, and by topic and task.

design           the cells that represent each level of an axis, so that levels are compared over the same cells
scenario_scores  all samples, subsets, topics and tasks, with the scores of the cells
recommendations  the levels of each axis that may be the best, in each scenario
tested_levels    the test behind the recommendations
axis_effects     differences between the levels of each axis, with simultaneous confidence intervals
axis_means       the mean of each level of an axis
candidates       the cells that may be the best in each scenario
field_matrix     topic x task: the values of one cell, and the fields in which some cells are significantly better
interactions     pairs of axes whose effects depend on each other
cheapest         the cheapest of several levels or cells
"""

from analysis.decision.axis_effects import AxisEffects, axis_effects
from analysis.decision.candidate_cells import Candidates, candidates
from analysis.decision.field_matrix import FieldMatrix, topic_task_matrix
from analysis.decision.recommendations import Recommendation, Recommendations, recommendations
from analysis.decision.scenario_scores import Scenario, ScenarioScores

__all__ = [
    "AxisEffects",
    "Candidates",
    "FieldMatrix",
    "Recommendation",
    "Recommendations",
    "Scenario",
    "ScenarioScores",
    "axis_effects",
    "candidates",
    "recommendations",
    "topic_task_matrix",
]
