"""The steps of the pipeline, one file each, and the cell that joins them."""
