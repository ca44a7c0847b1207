"""Writes the README of an exported folder."""

import re
from collections.abc import Mapping

from components.json_value import Json
from components.subsets import OVERALL
from runner.console.display import escape_control
from runner.results import STAND_INS, CellResult
from runner.results.cell_axes import format_level
from runner.results.leaderboard_order import headlines
from runner.serving.exporting.exported_cell import ExportedCell

_PAGE = """\
# Pipeline of cell {cell_id}

Answers questions as this cell of the sweep {sweep_id} did, on the documents of {dataset} ({n_documents:,} of them).

```bash
pip install -r requirements.txt                  # Python {python}
python pipeline.py --check                       # answers the sweep's {n_samples:,} questions again, and compares
python pipeline.py "a question"                  # answers, and shows the passages; see --help
mlflow models serve -m model --env-manager local # serves it: POST /invocations
```

```python
from pipeline import load_pipeline

pipeline = load_pipeline()
pipeline.answer("a question").text
pipeline.search("a question", n=10)
```

```bash
curl http://127.0.0.1:5000/invocations -H 'Content-Type: application/json' \\
  -d '{{"input": [{{"role": "user", "content": "a question"}}]}}'
```

The answer of the server is in `output`, its passages are in `custom_outputs`.

## The cell

| axis | value |
|---|---|
{axes}

| metric | value | 95% interval | n |
|---|---|---|---|
{metrics}
{stand_ins}
## Files

| path | contents |
|---|---|
| `model/artifacts/pipeline/pipeline.json` | the configuration, and facts about the data |
| `model/artifacts/pipeline/stages/` | documents, chunks, indexes and fitted components, as the sweep stored them |
{model_folders}| `model/code/` | the code |
| `check/` | the sweep's questions and answers, only for `--check` |
| `model/` | a complete MLflow model, which can be copied, logged and registered by itself |
{needs}"""


def readme(cell: ExportedCell) -> str:
    """Return the page as Markdown."""
    result, data = cell.result, cell.description.data
    return _PAGE.format(
        cell_id=result.cell_id,
        sweep_id=_plain(cell.description.sweep_id),
        dataset=_plain(data["name"]),
        n_documents=data["n_documents"],
        n_samples=data["n_samples"],
        python=result.versions.get("python", "3.11"),
        axes="\n".join(
            f"| {_plain(name)} | {_plain(format_level(value))} |" for name, value in cell.description.axes.items()
        ),
        metrics="\n".join(_metric_rows(result, cell.sweep.headline)),
        stand_ins=_stand_ins(cell.description.axes),
        model_folders="| `model/artifacts/pipeline/models/` | pretrained models |\n" if cell.models else "",
        needs=_needs(cell) + _code(cell),
    )


def _stand_ins(axes: Mapping[str, Json]) -> str:
    """Return a warning about components that reply by rule, because the folder may be passed on; "" for none."""
    lines = [f"- {head}. {text}" for (axis, option), (head, text) in STAND_INS.items() if axes.get(axis) == option]
    return "\n".join(["\n## Read with care\n", *lines, ""]) if lines else ""


def _metric_rows(result: CellResult, headline: str) -> list[str]:
    """Return the rows of the leaderboard's metrics."""
    overall = result.metrics.get(OVERALL, {})
    valued = [(name, overall[name]) for name in headlines([result], headline) if overall[name].get("value") is not None]
    return [
        f"| {_plain(name)} | {entry['value']:.4f} | {_interval(entry)} | {entry['n']:,} |" for name, entry in valued
    ]


def _interval(entry: Mapping[str, Json]) -> str:
    low, high = entry.get("ci_low"), entry.get("ci_high")
    return "" if low is None or high is None else f"{low:.4f} to {high:.4f}"


def _needs(cell: ExportedCell) -> str:
    """Return the section on keys and models that the folder lacks."""
    lines = [f"- the API key of a server, in the environment variable `{name}`" for name in cell.key_variables]
    lines += [f"- the model {_plain(model)}, from the Hugging Face hub or its cache" for model in cell.hub_models]
    return "\n".join(["\n## Not included\n", *lines, ""]) if lines else ""


def _code(cell: ExportedCell) -> str:
    """Return the section on third-party code that answering runs."""
    if not cell.code:
        return ""
    lines = [f"- {_plain(each)}" for each in cell.code]
    trust = "Answering requires `--trust`, or `load_pipeline(trust=True)`, because it runs:"
    return "\n".join(["\n## Third-party code\n", trust, "", *lines, ""])


def _plain(text: str) -> str:
    """Return the text on one line, with the markup of Markdown and HTML escaped."""
    line = " ".join(escape_control(text).split())
    return re.sub(r"([\\`*\[\]|~])", r"\\\1", line).replace("&", "&amp;").replace("<", "&lt;")
