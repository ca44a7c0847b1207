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
# # 1. The first sweep
#
# A RAG pipeline has many settings: the length of the chunks, the search, the number of chunks that the model reads. A **sweep** runs every
# combination of the values that you name over the same questions. Each combination is a **cell**.
#
# This notebook runs a small sweep and shows its results: the leading cell, the effect of each setting, and single answers.
# It needs no GPU, no API key and no download.

# %% tags=["parameters"]
SWEEP = ""  # a sweep's folder, or its id in results/; if empty, a small demo that is run once
AXIS, BY = "", ""  # two axes that vary in it; if empty, the first one with numbers and the first other

# %%
from analysis.charts.dots import Dot, dots
from analysis.decision.axis_means import axis_means
from analysis.notebooks.start import DEMO, axes_to_plot, load_demo, open_sweep, picture, second_metric, yield_rows
from analysis.plot import plot

if not SWEEP:
    print("python -m runner -m " + " ".join(DEMO))
sweep, _ = open_sweep(SWEEP)  # analysis.load(SWEEP), or the demo
sweep

# %% [markdown]
# For the demo, the notebook printed the command of the same sweep in a terminal. Values separated by commas vary: 2 retrievers x 3 chunk sizes x 2
# values of `top_k` are 12 cells. From Python, use `runner.run([...])`; `analysis.load` reads the results.
#
# ## The leaderboard
#
# `sweep.cells` has a row per cell, the best first. Each metric has its 95% interval (`low`, `high`) and `n`, the number of questions with a value.
# A metric without its interval says little, because these questions are a sample of all questions that users might ask.

# %%
metric = sweep.results.headline_metric()
axes = sweep.axes
sweep.cells[["cell_id", *axes, metric, f"{metric} low", f"{metric} high", f"{metric} n"]].round(3)

# %% [markdown]
# The same as a picture. Wide intervals that overlap do **not** mean that cells are equally good: all of them answered the same questions,
# and the second notebook makes use of that.

# %%
ok = sweep.cells.query("status == 'OK'").dropna(subset=[metric])
columns = "name", metric, f"{metric} low", f"{metric} high"
rows = [Dot(name, value, low, high, f"{value:.3f}") for name, value, low, high in yield_rows(ok, *columns)]
picture(dots(rows, f"{metric} of all cells"))

# %% [markdown]
# ## What each setting does
#
# A line plot shows one metric over one axis, with a line for each value of a second one. Every point is the mean over the same values of all
# other axes. The command is `python -m analysis plot SWEEP --metric ... --axis ... --by ...`.
#
# The first picture is about the leading metric, the second about the next leaderboard metric that is better if larger. In the demo, the leading one
# is `passage_coverage`, the share of the gold passages that is in the prompt. The second one is `rouge_l`: how many words the answer shares with
# the reference, in the same order.

# %%
plotted, axis_and_by = sweep, (AXIS, BY)
if not sweep.axes or sweep.results.is_chosen_by_scores:
    reason = "scores chose its cells, so means over an axis do not compare" if sweep.axes else "no setting varies"
    print(f"{sweep.folder}: {reason}, and the next two pictures show the demo.")
    (plotted, _), axis_and_by = load_demo(), ("", "")
AXIS, BY = axes_to_plot(plotted, *axis_and_by)
picture(plot(axis_means(plotted.results, plotted.results.headline_metric(), AXIS, BY)))

# %%
picture(plot(axis_means(plotted.results, second_metric(plotted), AXIS, BY)))

# %% [markdown]
# Do the two metrics prefer different values? That is common: finding the right document and giving the model the right words, for example, are
# different tasks. `sweep.metrics` has all metrics over all groups of questions, as rows to filter:

# %%
best = sweep.best()
by_subset = sweep.metrics.query("cell_id == @best.cell_id and metric == @metric and topic.isna() and task.isna()")
by_subset[["subset", "value", "ci_low", "ci_high", "n"]].sort_values("value").round(3)

# %% [markdown]
# Fewer than five independent groups of questions have no interval, because they say too little about other questions.
#
# ## Single questions
#
# `sweep.samples` reads the questions and answers of cells. It reads only the requested columns, so it is fast for large sweeps too. `"best"` names
# the cell to take, here and in all commands: the first row of the leaderboard in sweeps of up to 60 cells.

# %%
score = f"score/{second_metric(sweep)}"
samples = sweep.samples(["question", "references", "answer", "state", score], cells="best")
if (samples["state"] == "not_asked").all():
    print("No model was asked in this sweep (llm=none), so its answers are empty.")
samples.sort_values(score)[["id", "question", "references", "answer", score]].head(3)

# %% [markdown]
# The questions of the demo are Chinese; yours may be in any language. The answers of the demo are sentences picked from the chunks (`llm=extractive`), not written by a model. To sweep with a real model, add
# `llm=ollama llm.model=...` or `llm=openai llm.model=...` to the command.
#
# **Next:** is the first cell really better than the second? (`2_compare_cells.ipynb`)
