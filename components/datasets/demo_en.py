"""The bundled benchmark in English: the papers of a fictional town, as its companies and its newspaper write them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.datasets.demo import Demo
from components.datasets.labels import TASK_LABELS


@dataclass(frozen=True)
class DemoEn(Demo):
    """The English benchmark, complete or limited to some samples of every subset. See demo.py for its format.

    Subsets group samples by the location of their evidence. Unanswerable questions have no gold and no task.
    """

    data_folder: ClassVar[str] = "demo_en_data"
    labels: ClassVar[Mapping[str, str]] = {
        "one_document": "One document",
        "several_documents": "Several documents",
        "conversations": "Conversations",
        "unanswerable": "Unanswerable",
        "transport": "Transport",
        "energy": "Energy",
        "health": "Health",
        "finance": "Finance",
        "software": "Software",
        **TASK_LABELS,
    }

    @property
    def name(self) -> str:
        return "demo_en"
