# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 6. Power and cost
#
# Two questions before a large sweep is paid for: are there enough questions to see a difference that matters, and is the best cell worth its price?

# %% tags=["parameters"]
SWEEP = ""  # a sweep's folder, or its id in results/; if empty, a small demo that is run once
METRIC = "rouge_l"
WANTED = 0.02  # the smallest difference that would change your decision

# %%
import numpy as np

import analysis
from analysis.charts.line_plot import LinePoint, PlotLine, line_plot
from analysis.charts.scatter import Point, scatter
from analysis.notebooks.start import demo_sweep, picture
from components.statistics import pareto_front
from runner.results import known_costs

sweep = analysis.load(SWEEP or demo_sweep())
names = sweep.cells.set_index("cell_id")["name"]

# %% [markdown]
# ## What can these questions show?
#
# A test that finds nothing may have had no chance to. `detectable_difference` is the true difference that would be found in 80 % of such sweeps. It
# differs between cells: two that answer nearly everything alike are told apart by far smaller differences than two that disagree all the time.

# %%
compared = sweep.compare(METRIC)
compared.iloc[1:][["cell_id", "difference", "detectable_difference", "verdict"]].round(4)

# %% [markdown]
# The error of a mean shrinks with the square root of the number of questions: half the difference needs four times as many. (More precisely, of
# groups: questions about the same document count for less than as many about different ones. Of answers that are right or wrong somewhat fewer do:
# a smaller difference adds less to the variance.)

# %%
n = int(compared["n"].iloc[0])
sizes = [n * factor for factor in (0.5, 1, 2, 4, 8, 16)]
detectable = compared["detectable_difference"].dropna()
drawn = [
    PlotLine(label, [LinePoint(float(size), value * np.sqrt(n / size)) for size in sizes])
    for label, value in (("the hardest comparison", detectable.max()), ("the easiest one", detectable.min()))
    if len(detectable)  # with too few groups no difference of any size shows up
]
picture(line_plot(drawn, "questions", f"{METRIC}: difference that would show up reliably"))

# %%
needed = n * (detectable / WANTED) ** 2
print(f"to show a difference of {WANTED} in {METRIC}: about {needed.min():,.0f} to {needed.max():,.0f} questions")
print(f"in this sweep: {n}")

# %% [markdown]
# Before anything is paid, `python -m runner -m ... run.plan_only=true` says the same of a sweep that is not run yet, and how many requests and tokens it
# would take.
#
# ## What does quality cost?
#
# What passages take in a prompt is known without a model. With one, there are also tokens as the provider counts them, seconds per
# question, and money by your price list.

# %%
costs = known_costs(sweep.results.cells)
print("known of all cells:", ", ".join(cost.head for cost in costs))
columns = [METRIC, "context_tokens", "latency_p50_s", "one_time_s", "cost"]
sweep.cells[["name", *(column for column in columns if column in sweep.cells)]].round(4)

# %% [markdown]
# A cell is on the **front** if no other one is at least as good and at least as cheap. All others can be forgotten, unless something else speaks
# for them. The front compares means only, so look at the test above before you pay for its upper end.

# %%
cost = costs[0]
cells = sweep.ranked(METRIC)
values = np.array([cell.value(METRIC) for cell in cells])
prices = np.array([cost.of(cell) for cell in cells])
on_front = pareto_front(values if sweep.metric(METRIC).direction() else -values, prices)
points = [
    Point(names[cell.cell_id], price, value, is_on_front=bool(front), is_strong=place == 0)
    for place, (cell, price, value, front) in enumerate(zip(cells, prices, values, on_front))
]
picture(scatter(points, cost.head, METRIC, f"{METRIC} against {cost.head}"))

# %% [markdown]
# ## What would a model charge?
#
# A back-of-the-envelope figure for a model at given prices of a million tokens, for a thousand questions: change them to those of yours.

# %%
PRICE_PROMPT, PRICE_COMPLETION, ANSWER_TOKENS = 0.15, 0.60, 150

table = sweep.cells[["name", METRIC, "context_tokens"]].copy()
table["cost per 1,000 questions"] = (table["context_tokens"] * PRICE_PROMPT + ANSWER_TOKENS * PRICE_COMPLETION) / 1_000
table.sort_values("cost per 1,000 questions").round(3)

# %% [markdown]
# A sweep with a real model keeps the true numbers (`cost`, `prompt_tokens`, `completion_tokens` in `sweep.cells`), and `run.max_cost=5` stops it before
# it spends more.
#
# **Then:** `python -m analysis report SWEEP` has all of this on one page, and `python -m runner.export SWEEP best --out DIR` makes the best cell a
# pipeline that answers questions.
