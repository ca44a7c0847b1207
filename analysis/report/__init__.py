"""The report of a sweep: one page, one Markdown file and one JSON file with the same numbers.

`source` opens a sweep, a module per section gathers what that section says into plain records (`answer`, `cells`,
`cost`, ...), `record` joins them to a `Report`, and `page`, `markdown` and `as_json` render it.
"""
