"""Names that the results give to groups of samples, beside the subsets that a data set has itself."""

OVERALL = "overall"
"""All samples: the micro mean."""

MACRO = "macro"
"""The mean over the data set's subsets."""

GROUPINGS = ("topic", "task", "matrix")
"""First parts of the names of groups that cut across the data set's own subsets."""

AVERAGE = "all"
"""Of a topic x task matrix, the row over all topics and the column over all tasks."""
