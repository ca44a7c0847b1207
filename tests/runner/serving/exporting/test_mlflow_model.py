from pathlib import Path

import pytest
import yaml

from runner.serving.exporting.mlflow_model import write_model
from runner.serving.exporting.requirements import Requirements
from runner.serving.folder_description import PIPELINE


@pytest.mark.filterwarnings("ignore::UserWarning")  # MLflow on its own type hints
def test_folder_with_a_percent_encoded_name_gets_an_mlflow_model(tmp_path: Path) -> None:
    """MLflow decodes paths, so it would look for `a b`."""
    folder = tmp_path / "a%20b"
    (folder / PIPELINE).mkdir(parents=True)
    (folder / PIPELINE / "pipeline.json").write_text("{}")
    write_model(folder, Requirements((), ()), "2026-01-01 00:00:00")
    model = yaml.safe_load((folder / "model" / "MLmodel").read_text(encoding="utf-8"))
    assert model["utc_time_created"] == "2026-01-01 00:00:00"
