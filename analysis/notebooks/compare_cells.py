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
# # 2. Compare cells
#
# One cell is always first. Would it be first again with other questions of the same kind? This notebook shows which cells may be the best, what a
# single change gains, and on which questions two cells differ.

# %% tags=["parameters"]
SWEEP = ""  # a sweep's folder, or its id in results/; if empty, a small demo that is run once
METRIC = ""  # "[subset:]metric"; if empty, the leading metric of your sweep, and rouge_l in the demo
BASELINE = ""  # the cell that you chose before the sweep, e.g. "retriever=bm25,chunk.size=64,top_k=2"

# %%
import numpy as np
import pandas as pd

from analysis.charts.dots import Dot, dots
from analysis.decision import recommendations
from analysis.notebooks.start import lowest_ranked_other, open_sweep, picture, yield_rows
from runner.results import find_sweep

sweep, METRIC = open_sweep(SWEEP, METRIC, compares=True)
if SWEEP and sweep.folder != find_sweep(SWEEP):
    BASELINE = ""  # the variable names a cell of that sweep, not of the demo
axes = sweep.axes
names = sweep.cells.set_index("cell_id")["name"]

# %% [markdown]
# ## Which cells may be the best?
#
# All cells have the same questions, so they are compared question by question: a question that is hard for all of them does not count against
# any. `verdict` is the result:
#
# - `best`: the highest mean,
# - `worse`: this cell is not the best one, with 95% confidence, corrected for the number of cells,
# - `may be the best`: these questions cannot tell. It does **not** mean equal.
#
# In a terminal: `python -m analysis compare SWEEP --metric METRIC`.

# %%
compared = sweep.compare(METRIC)
compared[["cell_id", *axes, "mean", "difference", "ci_low", "ci_high", "p_adjusted", "verdict"]].round(4)

# %% [markdown]
# The picture shows the differences from the best cell with the interval of each single comparison. An interval that excludes 0 is not
# enough for a verdict: among many cells some difference looks large by chance, which `p_adjusted` corrects for.

# %%
compared["name"] = compared["cell_id"].map(names)
others = compared.query("verdict != 'best'")
rows = [
    Dot(name, difference, low, high, verdict, verdict == "worse")
    for name, difference, low, high, verdict in yield_rows(others, "name", "difference", "ci_low", "ci_high", "verdict")
]
picture(dots(rows, f"{METRIC}: difference from the best cell", with_zero=True))

# %%
detectable = compared["detectable_difference"]
print(f"{compared['n'][0]} questions in {compared['n_clusters'][0]} independent groups")
if detectable.notna().any():
    print(f"smallest detectable difference: {detectable.min():.3f} to {detectable.max():.3f}")
else:
    print("too few groups to detect a difference of any size")

# %% [markdown]
# ## Against one of your cells
#
# The configuration in production is a baseline that was chosen before the sweep. Name it as `BASELINE` at the top, by its id or by its values. Every
# other cell is then `better`, `worse` or `undecided` against it. These verdicts hold for a baseline that was chosen without these results. Without a
# name, the notebook takes the last cell. It was picked **from the results**, so too many cells look better than it. Read the table only as an
# example then, and report none of its verdicts.

# %%
best = sweep.best(METRIC)
baseline = sweep.cell(BASELINE) if BASELINE else lowest_ranked_other(sweep, METRIC, best)
against = sweep.compare(METRIC, baseline=baseline.cell_id)
print(
    "baseline:",
    names[baseline.cell_id],
    "(named beforehand)" if BASELINE else "(the last cell, picked from the results)",
)
against[["cell_id", *axes, "difference", "p_adjusted", "verdict"]].round(4)

# %% [markdown]
# ## What to take of each axis
#
# Often the question is not which cell, but which chunk size. Every question is averaged over the cells of a level, so that levels are
# compared with far less noise than single cells. Without a significant difference, take the cheapest level.
# In a terminal: `python -m analysis candidates SWEEP`.

# %%
for each in recommendations(sweep.results, METRIC).entries:
    if each.scenario.kind == "all":
        print(f"{each.axis:12} {each.text()}")

# %% [markdown]
# ## On which questions do two cells differ?
#
# A small mean difference can hide large ones in both directions. The scores of both cells, side by side:

# %%
column = f"score/{METRIC.rpartition(':')[2]}"
both = sweep.samples(["subset", "question", "answer", column], cells=[best, baseline])
wide = both.pivot(index=["id", "subset", "question"], columns="cell_id", values=column)
wide["difference"] = wide[best.cell_id] - wide[baseline.cell_id]
wide = wide.dropna().sort_values("difference").reset_index()
np.sign(wide["difference"]).map({1: "better in the best cell", 0: "equal", -1: "worse"}).value_counts()

# %%
ends = pd.concat([wide.head(5), wide.iloc[5:].tail(5)])
rows = [Dot(f"{row['id']}  {row['question'][:24]}", row["difference"]) for _, row in ends.iterrows()]
picture(dots(rows, "the questions with the largest differences", with_zero=True))

# %% [markdown]
# `python -m analysis samples SWEEP best --against CELL` shows such questions with both answers and their hits.
#
# **Next:** compare your numbers with published ones (`3_published_table.ipynb`), or see for which topics and tasks a cell is good
# (`4_matrix_in_depth.ipynb`).
