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
# # 4. The topic x task matrix in depth
#
# A mean over all questions hides the strengths of a pipeline. Data sets with topics (funds, insurance, ...) and tasks (extraction, multi-hop reasoning,
# ...) give a matrix of both. A matrix field, one topic with one task, has few questions. This notebook shows how to read the matrix without being
# fooled by chance.

# %% tags=["parameters"]
SWEEP = ""  # a sweep's folder, or its id in results/; if empty, a small demo that is run once
METRIC = ""  # a metric; if empty, the leading metric of your sweep, and rouge_l in the demo

# %%
import pandas as pd

from analysis.charts.dots import Dot, dots
from analysis.notebooks.start import load_demo, lowest_ranked_other, open_sweep, picture, yield_rows

sweep, METRIC = open_sweep(SWEEP, METRIC)
best = sweep.best(METRIC)
# Without topics and tasks there is no matrix. The demo then shows one.
has_matrix = {"topic", "task"} <= {subset.partition("/")[0] for subset in best.metrics}
if not has_matrix:
    print(f"{sweep.folder}: its questions lack topics or tasks, so the rest shows the demo.")
    print(
        'To get them, add "topic" and "task" to each line of the questions (docs/own-data.md), and run the sweep again.'
    )
    sweep, METRIC = load_demo()
    best = sweep.best(METRIC)
matrix = sweep.matrix(METRIC, best)
matrix.round(3)

# %% [markdown]
# Rows are topics, columns are tasks, by the labels of the data set. `All` is the mean over the questions of a row or a column. An empty matrix field has no
# question. The sweep draws the same matrix as a picture, with the number of questions in each matrix field:

# %%
file = sweep.results.folder_of(best) / f"matrix_{METRIC}.svg"  # for other metrics: run.pictures=all
picture(file.read_text(encoding="utf-8")) if file.is_file() else print(f"{file.name}: this sweep did not draw it")

# %% [markdown]
# ## How many questions are in a matrix field?

# %%
n = sweep.matrix(METRIC, best, field="n")
fields = n.drop(index="All", columns="All").stack().dropna()
print(f"{len(fields)} matrix fields with {fields.min():.0f} to {fields.max():.0f} questions,")
print(f"{(fields < 10).sum()} of them with fewer than 10")
n.astype("Int64")

# %% [markdown]
# A matrix field of two questions says hardly anything on its own. The **pooled** value of a matrix field is shrunk towards its topic and its task,
# more strongly for fewer questions. Report raw values, and use pooled ones to see which matrix fields stand out. (A matrix that is too small to
# estimate the differences between matrix fields has no pooled values.)

# %%
raw = matrix.drop(index="All", columns="All").stack().dropna().rename("raw")
pooled = sweep.matrix(METRIC, best, field="pooled").stack().dropna().rename("pooled")
low = sweep.matrix(METRIC, best, field="pooled_low").stack().rename("low")
high = sweep.matrix(METRIC, best, field="pooled_high").stack().rename("high")
fields = raw.to_frame().join([pooled, low, high, n.stack().rename("n")])
fields["moved"] = (fields["pooled"] - fields["raw"]).abs()
fields.sort_values("moved", ascending=False).head(8).round(3)

# %%
ordered = fields.sort_values("pooled" if fields["pooled"].notna().any() else "raw", ascending=False)
chosen = pd.concat([ordered.head(6), ordered.iloc[6:].tail(6)])
rows = [
    Dot(f"{topic} / {task}", raw if pooled is None else pooled, low, high, f"n={n:.0f}, raw {raw:.2f}")
    for topic, task, raw, pooled, low, high, n in yield_rows(
        chosen.reset_index(), "topic", "task", "raw", "pooled", "low", "high", "n"
    )
]
picture(dots(rows, f"{METRIC}: the lowest and the highest matrix fields, pooled"))

# %% [markdown]
# ## Is another cell better somewhere?
#
# This is the trap. With 40 matrix fields of a few questions each, some matrix field will favour any cell by a lot. Rows and columns have more
# questions, so look at the margins first, and test what you find there: `sweep.compare(f"task/extractive:{METRIC}")`.

# %%
if len(sweep.rank_cells(METRIC)) < 2:
    print(f"{sweep.folder}: no second cell has a value of {METRIC}, so the next picture shows the demo.")
    sweep, METRIC = load_demo()
    best = sweep.best(METRIC)
    n = sweep.matrix(METRIC, best, field="n")
other = lowest_ranked_other(sweep, METRIC, best)
difference = sweep.matrix(METRIC, best) - sweep.matrix(METRIC, other)
margins = difference["All"].dropna().rename("difference").to_frame()
margins["n"] = n["All"]
margins = margins.sort_values("difference").reset_index()
rows = [Dot(topic, value, note=f"n={n:.0f}") for topic, value, n in yield_rows(margins, "topic", "difference", "n")]
picture(dots(rows, f"{METRIC} by topic: the best cell minus the last one", with_zero=True))

# %% [markdown]
# Name a winner of a topic only if a test is significant, and never from fewer than 10 questions. `python -m analysis candidates SWEEP` and the report
# (`python -m analysis report SWEEP`) follow this rule.
#
# **Next:** why answers are wrong (`5_failure_forensics.ipynb`).
