"""Choices that the command line of `python -m runner.annotate` offers. The module imports nothing heavy."""

from enum import StrEnum

THRESHOLDS = (4, 3)
"""Lowest accepted ratings: 4 accepts samples that are good as they are, 3 also those worth correcting. OmniEval rejects
samples rated 1 or 2 and corrects those rated 3.
"""


class AnnotationFormat(StrEnum):
    """Format of an export for annotators: tasks for Label Studio as JSON, or a CSV sheet."""

    LABEL_STUDIO = "label-studio"
    CSV = "csv"


class AnnotatorFrom(StrEnum):
    """Source of an annotator's name: Label Studio's `completed_by`, or the file name. A CSV file always has one
    annotator, named by the file.
    """

    COMPLETED_BY = "completed_by"
    FILE = "file"


class Language(StrEnum):
    """Language of the instructions. The samples may be in another one."""

    ZH = "zh"
    EN = "en"
