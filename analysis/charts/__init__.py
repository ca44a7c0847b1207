"""Charts as SVG text, one file per kind: no other program is needed to draw them, and equal input gives equal bytes.

Colours are CSS variables with values to fall back on, so that a chart is fine alone and takes the colours of a page,
light or dark, that it is part of. Whatever stands in labels is shown as text.
"""
