"""The stages of a cell: a subpackage for each part of the pipeline, and the graph that joins them."""
