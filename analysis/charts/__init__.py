"""Charts as SVG text, one module per kind. They need no other program, and equal input gives equal bytes.

Colours are CSS variables with fallback values: a chart works alone, and adopts the light or dark colours of the page
that embeds it. Markup in labels is escaped.
"""
