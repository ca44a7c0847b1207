"""Six notebooks as Python files in jupytext's percent format, which editors open as notebooks.

`python -m analysis notebooks --out DIR` converts them to `.ipynb` files. Each loads the sweep named at its top, or
the small sweep of `start.demo_sweep`.
"""

NOTEBOOKS = (
    "first_sweep",
    "compare_cells",
    "published_table",
    "matrix_in_depth",
    "failure_forensics",
    "power_and_cost",
)
"""Notebooks in reading order."""
