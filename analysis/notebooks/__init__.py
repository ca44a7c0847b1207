"""Six notebooks as Python files: jupytext's percent format, which editors open as notebooks and everybody can read.

`python -m analysis notebooks --output DIR` makes `.ipynb` files of them. Each loads a sweep that is named at its top, or
the small one of `start.demo_sweep`.
"""

NOTEBOOKS = (
    "first_sweep",
    "compare_cells",
    "published_table",
    "matrix_in_depth",
    "failure_forensics",
    "power_and_cost",
)
"""In the order in which they are read."""
