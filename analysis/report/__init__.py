"""The report of a sweep: one page, one Markdown file and one JSON file with the same numbers.

`source` opens a sweep. A module per section gathers its content into plain records (`answer_section`, `cells_section`,
...). `record` joins them to a `Report`, and `report_page`, `report_markdown` and `as_json` render it.
"""
