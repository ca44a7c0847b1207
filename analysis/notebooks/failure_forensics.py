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
# # 5. Where does it fail, and why?
#
# A low score has many causes, each with a different remedy. The evidence may be missing from the corpus or from the hits, ranked too low, or cut in two
# by a chunk border. Or it was in the prompt, and the answer is still wrong. The gold evidence is a range of characters in a document, not a chunk.
# Rules can therefore find the cause without a model.

# %% tags=["parameters"]
SWEEP = ""  # a sweep's folder, or its id in results/; if empty, a small demo that is run once
METRIC = ""  # chooses the best cell; if empty, the leading metric of your sweep, and rouge_l in the demo

# %%
import pandas as pd

from analysis.charts.curves import Curve, curves
from analysis.charts.stacked_bars import BarKind, stacked_bars
from analysis.forensics import all_verdicts, evidence_depth, failure_counts, transitions
from analysis.notebooks.start import load_demo, lowest_ranked_other, open_sweep, picture
from analysis.report.sample_classes import CLASSES

sweep, METRIC = open_sweep(SWEEP, METRIC)
names = sweep.cells.set_index("cell_id")["name"]
best = sweep.best(METRIC)
failures = sweep.failures(best)
if set(failures["outcome"]) == {"not_judged"}:
    print("No answer was judged in this sweep, so only the search and the prompt can fail here.")
failures[["id", "question", "stage", "outcome", "failure", "is_uncertain", "rank_needed"]].head()

# %% [markdown]
# Each row is a question that failed in the best cell. Two facts are established for each:
#
# - `stage`: how far the evidence got. `not_in_corpus`, `not_retrieved` (no hit has it), `ranked_low` (it is below `top_k`), `cut` (a chunk border
#   goes through it), `in_part` (it is longer than a chunk, and part of it is in the prompt), `dropped` (no room in the prompt), `compressed` (the compressor
#   removed it), `in_context`.
# - `outcome`: the quality of the answer. `right`, `partly`, `wrong`; for long texts, such as summaries, only `low` or `typical` among the answers of
#   the sweep. `not_judged` without an answer.
#
# The class, `failure`, follows from both: the stage at which the evidence was lost, or else the use that the answer made of it. `is_uncertain` marks
# cases that rules cannot decide well.

# %%
failures.groupby(["failure", "is_uncertain"]).size().unstack(fill_value=0)

# %% [markdown]
# ## Cell by cell
#
# A change of settings shifts samples between classes. A larger `top_k` brings `ranked_low` evidence into the prompt, although the answer need not
# improve.

# %%
REMEDIES = {
    "not_in_corpus": "add the document",
    "not_retrieved": "another retriever or embedder, or expand the query",
    "ranked_low": "a reranker, or a larger top_k",
    "cut": "larger chunks, or an overlap",
    "in_part": "a larger top_k, or gold that names the sentences that matter",
    "dropped": "a larger budget, or shorter chunks",
    "compressed": "a larger compressor.share, or no compressor",
    "distracted": "fewer passages, or a reranker",
    "invented": "a prompt that forbids outside knowledge, or another model",
    "unused": "another prompt or model",
    "wrong_with_evidence": "another prompt or model",
    "partly": "another prompt or model",
    "low": "another prompt or model",
}

samples = all_verdicts(sweep.results)
counts = failure_counts(samples).query("failure != ''").pivot(index="cell_id", columns="failure", values="n")
classes = [name for name in CLASSES if name in counts]
kinds = [BarKind(name, CLASSES[name].label, CLASSES[name].fill, CLASSES[name].ink) for name in classes]
fewest_first = counts.loc[counts.sum(axis=1).sort_values().index]
bars = {names[cell_id]: row.to_dict() for cell_id, row in fewest_first.iterrows()}
picture(stacked_bars(bars, kinds, "failures by class"))

# %%
meanings = [(CLASSES[name].label, CLASSES[name].meaning, REMEDIES.get(name, "")) for name in classes]
colours = [f"background: {CLASSES[name].fill}; color: {CLASSES[name].ink}" for name in classes]
pd.DataFrame(meanings, columns=["class", "means", "try"]).style.apply(lambda _: colours, subset="class")

# %% [markdown]
# Which failures does the best cell fix, and which does it introduce? The same questions in the last cell and in the best one:

# %%
compared, verdicts, first = sweep, samples, best
if len(sweep.rank_cells(METRIC)) < 2:
    print(f"{sweep.folder}: no second cell has a value of {METRIC}, so the next table shows the demo.")
    compared, METRIC = load_demo()
    verdicts, first = all_verdicts(compared.results), compared.best(METRIC)
last = lowest_ranked_other(compared, METRIC, first)
moved = transitions(verdicts, last.cell_id, first.cell_id).query("before != after").replace("", "nothing failed")
moved.rename(columns={"before": "in the last cell", "after": "in the best cell"}).head(8)

# %% [markdown]
# ## How deep is the gold in the ranking?
#
# `rank_needed` is the rank down to which the hits contain the whole evidence of a question. The curves show for each cell the share of questions that
# have all of their evidence at a given `top_k`. Where they are flat, more chunks only cost tokens.

# %%
depth = evidence_depth(samples).pivot(index="k", columns="cell_id", values="share")
places = [k for k in (1, 2, 3, 5, 8, 10, 20, 50, 100) if k in depth.index]
alike = {
    tuple(depth.loc[places, cell_id]): names[cell_id] for cell_id in depth
}  # cells with equal searches share a curve
lines = sorted((Curve(name, shares) for shares, name in alike.items()), key=lambda curve: -sum(curve.shares))
picture(curves([str(k) for k in places], lines[:8], "top_k", "share of questions whose evidence is within top_k"))

# %% [markdown]
# ## Look at some
#
# No table replaces reading. One failure of each class, with its question, reference and answer:

# %%
texts = sweep.samples(["question", "references", "answer"], cells=best).set_index("id")
for failure, members in failures.groupby("failure"):
    example = texts.loc[members["id"].iloc[0]]
    print(f"{failure.upper()}  ({len(members)} questions; try: {REMEDIES.get(failure, 'to read them')})")
    for what in ("question", "references", "answer"):
        print(f"   {what:10} {str(example[what])[:110]}")

# %% [markdown]
# In a terminal: `python -m analysis samples SWEEP best --class ranked_low`, with the gold and where it was found.
#
# **Next:** the cost, and the number of questions that a decision needs (`6_power_and_cost.ipynb`).
