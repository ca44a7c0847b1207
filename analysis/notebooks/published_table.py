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
# # 3. Reproduce a table of CRUD-RAG
#
# Published numbers are a check of your numbers. CRUD-RAG (Lyu et al. 2025) tried chunk sizes, overlaps, retrievers, embedding models, values of
# top-k and language models on Chinese news; its tables ship with this project. This notebook compares a sweep with one of them.
#
# The demo has the same kinds of questions, about other texts, and no language model. Its numbers **must** therefore differ: it only shows the steps.
# With the data of CRUD-RAG, the sweep is one command (and hours of a model):
#
# ```text
# python -m runner -m +sweeps=crud_table5 dataset.root=FOLDER         # the paper's models; the file says what it needs
# python -m runner -m +sweeps=crud_table5_free dataset.root=FOLDER    # no model: the same steps, other numbers
# ```

# %% tags=["parameters"]
SWEEP = ""  # a sweep's folder, or its id in results/; if empty, a small demo that is run once
TABLE = "crud_rag/5"  # retrievers; `python -m analysis table` lists all tables
METRIC = ""  # a metric of the table; if empty, rouge_l, or the first one that both the sweep and the table have

# %%
import pandas as pd

import analysis
from analysis.charts.line_plot import LinePoint, PlotLine, line_plot
from analysis.notebooks.start import load_demo, open_sweep, picture
from analysis.published import TABLES, PrintedComparison, PrintedTable, compare_with_printed, pair, read_table

sweep, _ = open_sweep(SWEEP)
pd.DataFrame([{"table": name, "about": info.about} for name, info in TABLES.items()])

# %% [markdown]
# ## Our numbers compared with the published ones
#
# Each cell of the sweep is compared with the row that has its values. Settings that the table fixes and the cell does not share are listed below:
# they are the first explanation of any difference. `published` is true if our metric is defined exactly as in the paper's code, as for metrics whose
# names end in `_crud_compat`. The plain `rouge_l` and `bleu` are the textbook definitions, and are **not** comparable with the table.

# %%
table = read_table(TABLE)


def side_by_side(sweep: analysis.Sweep, table: PrintedTable) -> tuple[PrintedComparison | None, pd.DataFrame]:
    """The comparison and its lines with a cell; None if the sweep has no number of the table."""
    if not pair(table, [cell for cell in sweep.results.cells if cell.status == "OK"]).pairs:
        return None, pd.DataFrame()
    comparison = compare_with_printed(table, table.metrics, sweep.results.cells)
    lines = [
        {
            "metric": block.printed,
            "ours is": block.ours,
            "published": block.is_published_definition,
            "subset": line.number.subset,
            "row": " ".join(level for _, level in line.number.row),
            "ours": line.value,
            "low": line.low,
            "high": line.high,
            "n": line.n,
            "paper": line.number.value,
        }
        for block in comparison.blocks
        for line in block.lines
        if block.ours and line.pair
    ]
    if all(line["ours"] is None for line in lines):
        return None, pd.DataFrame()
    frame = pd.DataFrame(lines).astype(dict.fromkeys(["ours", "low", "high", "paper"], "float64"))
    return comparison, frame.assign(difference=frame["ours"] - frame["paper"])


comparison, lines = side_by_side(sweep, table)
if comparison is None:
    print(f"{sweep.folder}: it has no number of the table {TABLE}, so the rest compares the demo with crud_rag/5.")
    sweep, METRIC = load_demo()
    table = read_table("crud_rag/5")
    comparison, lines = side_by_side(sweep, table)
assert comparison  # the demo has numbers of this table
found = list(lines.dropna(subset="ours")["metric"].unique())
METRIC = METRIC or ("rouge_l" if "rouge_l" in found else found[0])
shown = lines[lines["metric"] == METRIC]
shown.round(3)

# %%
differing = {str(difference) for pair in comparison.paired.pairs for difference in pair.differences}
print("other than in the paper:", *sorted(differing), sep="\n  ")
print(
    "rows without a cell:",
    *(" ".join(level for _, level in row) for row in comparison.paired.rows_without_cell),
    sep="\n  ",
)

# %% [markdown]
# ## Is the order the same?
#
# The level of a score depends on the model that answers. The *order* of retrievers, or the shape over chunk sizes, should survive: compare these if the
# models differ. One line per kind of question, ours and the paper's:

# %%
reading = shown[shown["subset"].str.startswith("read/")]
chosen = shown if reading.empty else reading
curves = [
    PlotLine(
        f"{subset}, {whose}", [LinePoint(row["row"], row[whose]) for _, row in rows.dropna(subset=[whose]).iterrows()]
    )
    for subset, rows in chosen.groupby("subset")
    for whose in ("ours", "paper")
]
picture(line_plot(curves, table.info.about, METRIC))

# %% [markdown]
# With a handful of questions of each kind (`n` above), the demo cannot distinguish retrievers. The paper's rows are over about 800 or 2,000.
#
# `python -m analysis table TABLE SWEEP` prints all of this, and `--csv FILE` writes it.
#
# **Next:** the matrix of topics and tasks (`4_matrix_in_depth.ipynb`).
