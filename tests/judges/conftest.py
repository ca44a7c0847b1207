"""Published questions and scores. Tests that need them are skipped with the reason if they are missing."""

import json
import os
from pathlib import Path
from typing import Any

import pytest


def _shared(*parts: str) -> Path:
    repository = Path(__file__).resolve().parents[2]
    path = Path(os.environ.get("RAG_GRID_SHARED") or repository.parent / "shared", *parts)
    if not path.exists():
        pytest.skip(f"no {path}: set RAG_GRID_SHARED to the folder that holds golden/ and data/")
    return path


@pytest.fixture(scope="session")
def golden() -> list[dict[str, Any]]:
    """Answers of both kinds with the scores that the published implementation gives."""
    cases: list[dict[str, Any]] = json.loads(_shared("golden", "quest_eval.json").read_text(encoding="utf-8"))
    return cases


@pytest.fixture(scope="session")
def published_questions() -> Path:
    """The folder of CRUD-RAG's published question files."""
    return _shared("data", "crud_rag", "quest_eval")
