"""Writes the pipeline as an MLflow model: a `ResponsesAgent`, stored as code."""

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from runner.serving.exporting.requirements import Requirements
from runner.serving.folder_description import CODE, PIPELINE

_AGENT = '''\
"""The model that MLflow loads: questions are messages, and passages are in custom_outputs."""

from mlflow.models import set_model

from runner.serving.agent import {maker}

set_model({maker}())
'''

_FILE = "agent.py"
_EXAMPLE = {"input": [{"role": "user", "content": "Hello!"}]}


def write_model(folder: Path, needed: Requirements, created: str) -> None:
    """Write MLflow's own files next to the code and the pipeline in `folder`/model.

    `created` is recorded as the time, so that equal cells give equal files. MLflow asks a model "Hello!" while saving
    it, which may cost money, and copies its files. So we save an agent that answers nothing and has no files, and
    replace it afterwards.
    """
    import mlflow

    model = folder / "model"
    lines = [line.partition("  #")[0] for line in (*needed.answering, *needed.serving)]
    with TemporaryDirectory() as temporary, _quiet():
        stand_in = Path(temporary, PIPELINE.name)
        stand_in.mkdir()
        agent, saved = Path(temporary, _FILE), Path(temporary, "saved")
        agent.write_text(_AGENT.format(maker="make_silent_agent"), encoding="utf-8")
        mlflow.pyfunc.save_model(
            saved,
            python_model=str(agent),
            artifacts={PIPELINE.name: str(stand_in)},
            pip_requirements=lines,
            input_example=_EXAMPLE,
        )
        shutil.rmtree(saved / "artifacts")
        _correct(saved / "MLmodel", model / "artifacts" / PIPELINE.name / "pipeline.json", created)
        shutil.copytree(saved, model, dirs_exist_ok=True)
    (model / _FILE).write_text(_AGENT.format(maker="make_agent"), encoding="utf-8")


def _correct(path: Path, pipeline: Path, created: str) -> None:
    """Record the real contents of the model, and remove everything that would differ between two exports of
    one cell. MLflow reads no file whose path contains %20 or the like, so `path` must be in a temporary folder.
    """
    from mlflow.models import Model

    model = Model.load(str(path))
    model.model_uuid = hashlib.sha256(pipeline.read_bytes()).hexdigest()[:32]
    model.utc_time_created = created
    model.model_size_bytes = None
    flavor = model.flavors["python_function"]
    flavor["code"] = CODE.name
    flavor["model_code_path"] = _FILE
    flavor["artifacts"] = {PIPELINE.name: {"path": f"artifacts/{PIPELINE.name}", "uri": f"artifacts/{PIPELINE.name}"}}
    model.save(str(path))


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress MLflow's advice, the traces of its question, and files of uv from the working directory."""
    before = {name: os.environ.get(name) for name in _OFF}
    logger = logging.getLogger("mlflow")
    level = logger.level
    try:
        os.environ.update(_OFF)
        logger.setLevel(logging.ERROR)
        yield
    finally:
        logger.setLevel(level)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_OFF = {"MLFLOW_UV_AUTO_DETECT": "false", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
