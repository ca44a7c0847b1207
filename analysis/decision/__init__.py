"""From the values of a sweep's cells to what to take: by axis, by cell, by topic and task.

design           which cells stand for which level of an axis, so that levels are compared over the same cells
scenarios        all samples, subsets, topics and tasks, and what cells scored in them
recommendations  the levels of each axis that may be the best, in each scenario
tested_levels    the test that they rest on
effects          what each axis buys, with intervals that hold together
candidates       the cells that may be the best in each scenario
matrix           topic x task: what a cell reaches, and where any cell is shown to be better than others
interactions     which axes buy more or less with the levels of another one
cheapest         the cheapest of several levels or cells
"""

from analysis.decision.axis_effects import AxisEffects, axis_effects
from analysis.decision.candidates import Candidates, candidates
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
