"""Formats of tables outside the terminal: Markdown, LaTeX, CSV.

grid      a table as plain texts, with marks on its rows
document  a console that writes tables and notes in one of the formats
markdown_tables, latex, comma_separated  the formats
"""

from analysis.formats.document import FORMATS, TERMINAL, Document
from analysis.formats.grid import BOLD, STAR, Grid, Marks

__all__ = ["BOLD", "FORMATS", "STAR", "TERMINAL", "Document", "Grid", "Marks"]
