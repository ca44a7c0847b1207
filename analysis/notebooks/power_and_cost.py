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
# Two questions before you pay for a large sweep: are there enough samples to detect a difference that matters, and is the best cell worth its price?

# %% tags=["parameters"]
SWEEP = ""  # a sweep's folder, or its id in results/; if empty, a small demo that is run once
METRIC = ""  # "[subset:]metric"; if empty, the leading metric of your sweep, and rouge_l in the demo
TARGET = 0.02  # the smallest difference that would change your decision

# %%
import numpy as np
import pandas as pd

from analysis.charts.line_plot import LinePoint, PlotLine, line_plot
from analysis.charts.scatter import Point, scatter
from analysis.notebooks.start import open_sweep, picture
from components.statistics import pareto_front
from runner.results import COSTS, known_costs

sweep, METRIC = open_sweep(SWEEP, METRIC, compares=True)
names = sweep.cells.set_index("cell_id")["name"]

# %% [markdown]
# ## Which differences can these questions detect?
#
# A test that finds nothing may have had no chance to. `detectable_difference` is the true difference that 80% of such sweeps would find. It varies
# between cells: far smaller differences are detectable between cells that answer nearly everything alike than between cells that often disagree.

# %%
compared = sweep.compare(METRIC)
compared.iloc[1:][["cell_id", "difference", "detectable_difference", "verdict"]].round(4)

# %% [markdown]
# The error of a mean shrinks with the square root of the number of questions: half the difference needs four times as many. (More precisely, the number
# of groups counts: questions about one document count for less than questions about different ones. Answers that are right or wrong need somewhat
# fewer, because a smaller difference adds less to the variance.)

# %%
n = int(compared["n"].iloc[0])
sizes = [n * factor for factor in (0.5, 1, 2, 4, 8, 16)]
detectable = compared["detectable_difference"].dropna()
lines = [
    PlotLine(label, [LinePoint(float(size), value * np.sqrt(n / size)) for size in sizes])
    for label, value in (("the hardest comparison", detectable.max()), ("the easiest one", detectable.min()))
    if len(detectable)  # with too few groups, no difference of any size is detectable
]
picture(line_plot(lines, "questions", f"{METRIC}: difference that would be detected reliably"))

# %%
needed = n * (detectable / TARGET) ** 2
if len(needed):
    print(f"to detect a difference of {TARGET} in {METRIC}: about {needed.min():,.0f} to {needed.max():,.0f} questions")
else:
    print("too few groups to detect a difference of any size")
print(f"in this sweep: {n}")

# %% [markdown]
# Before you pay, `python -m runner -m ... run.plan_only=true` reports the same for a planned sweep, and the number of requests and tokens that it would
# take.
#
# ## What does quality cost?
#
# The tokens of passages in a prompt need no model. With a model, there are also tokens as counted by the provider, seconds per question, and money by
# your price list.

# %%
cells = sweep.rank_cells(METRIC)
costs = known_costs(cells)
print("known for all cells:", ", ".join(cost.head for cost in costs))
columns = [METRIC, "context_tokens", "latency_p50_s", "one_time_s", "cost"]
sweep.cells[["name", *(column for column in columns if column in sweep.cells)]].round(4)

# %% [markdown]
# A cell is on the **front** if no other cell is at least as good and at least as cheap. Ignore all others, unless they have other advantages. The front
# compares only means, so look at the test above before you pay for its upper end.

# %%
cost = costs[0] if costs else COSTS["one_time_seconds"]
parsed = sweep.metric(METRIC)
values = np.array([parsed.value(cell) for cell in cells])
prices = np.array([cost.measure(cell) for cell in cells])
on_front = pareto_front(values if parsed.direction() else -values, prices)
points = [
    Point(names[cell.cell_id], price, value, is_on_front=bool(front), is_strong=place == 0)
    for place, (cell, price, value, front) in enumerate(zip(cells, prices, values, on_front))
]
picture(scatter(points, cost.head, METRIC, f"{METRIC} against {cost.head}"))

# %% [markdown]
# ## What would a model charge?
#
# A back-of-the-envelope figure for a thousand questions to a model with these prices of a million tokens. Replace them by your prices.

# %%
PRICE_PROMPT, PRICE_COMPLETION, ANSWER_TOKENS = 0.15, 0.60, 150

tokens = [COSTS["context_tokens"].measure(cell) for cell in cells]
rows = [(names[cell.cell_id], parsed.value(cell), n_tokens) for cell, n_tokens in zip(cells, tokens)]
table = pd.DataFrame(rows, columns=["name", METRIC, "context_tokens"])
table["cost per 1,000 questions"] = (table["context_tokens"] * PRICE_PROMPT + ANSWER_TOKENS * PRICE_COMPLETION) / 1_000
table.sort_values("cost per 1,000 questions").round(3)

# %% [markdown]
# A sweep with a real model stores the true numbers (`cost`, `prompt_tokens`, `completion_tokens` in `sweep.cells`), and `run.max_cost=5` stops it before
# it spends more.
#
# **Then:** `python -m analysis report SWEEP` has all of this on one page, and `python -m runner.export SWEEP best --out DIR` makes the best cell a
# pipeline that answers questions.
