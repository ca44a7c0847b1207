"""Reads the comment at the top of a preset, and compares the parts of the paper's pipeline with the cells of a sweep.

The comment has a line that describes the preset, and sections. Each section is a line "# Name: ..." that indented lines
continue. `Paper` lists the paper's parts as overrides, `Instead` the parts that the preset replaces, `Differs` the
differences that no setting can remove, and `Needs` the requirements.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from components.json_value import Json
from runner.pipeline.planned_cells import Job

Parts = Mapping[str, tuple[str, ...]]
"""Values by the name of an axis or the dotted path of a setting."""

_SECTIONS = ("Paper", "Instead", "Differs", "Needs")


@dataclass(frozen=True)
class PresetHead:
    """Parsed comment of a preset.

    The first line holds `about` and the `command`. `paper` and `instead` are empty for a preset without a paper.
    `differs` and `needs` are sentences, "" if missing.
    """

    name: str
    about: str
    command: str
    paper: Parts
    instead: Parts
    differs: str
    needs: str


def read_head(name: str) -> PresetHead | None:
    """Read the head of our preset of that name; None for a custom preset."""
    file = files("sweeps").joinpath(f"{name}.yaml")
    return _parse_head(name, file.read_text(encoding="utf-8")) if file.is_file() else None


def preset_lines(overrides: Sequence[str], jobs: Sequence[Job]) -> Iterator[str]:
    """Yield the plan's lines about the presets among the overrides: the differences of the cells from the paper, and
    their requirements.

    Presets that need nothing and have no paper have no lines.
    """
    for name in _presets(overrides):
        head = read_head(name)
        if head and (head.paper or head.needs != "nothing."):
            yield f"Preset {name}: {head.about}"
            yield from (f"      {label}: {text}" for label, text in _facts(head, jobs) if text)


def replaced_parts(head: PresetHead, jobs: Sequence[Job]) -> Parts:
    """Return the cells' values that the paper does not have, by the paper's part."""
    parts = {name: _difference(_values(jobs, name), values) for name, values in head.paper.items()}
    return {name: values for name, values in parts.items() if values}


def missing_parts(head: PresetHead, jobs: Sequence[Job]) -> Parts:
    """Return the paper's values that no cell has, by part. Parts that the cells replace are absent."""
    replaced = replaced_parts(head, jobs)
    parts = {
        name: _difference(values, _values(jobs, name)) for name, values in head.paper.items() if name not in replaced
    }
    return {name: values for name, values in parts.items() if values}


def _facts(head: PresetHead, jobs: Sequence[Job]) -> Iterator[tuple[str, str]]:
    replaced = replaced_parts(head, jobs)
    yield (
        "not the paper's",
        ", ".join(
            f"{_override(name, values)} (paper: {','.join(head.paper[name])})" for name, values in replaced.items()
        ),
    )
    yield "in the paper and not here", " ".join(_override(*item) for item in missing_parts(head, jobs).items())
    yield "only a part of the data", ", ".join(_limits(jobs))
    yield "differs from the paper", head.differs
    yield "needs", head.needs


def _limits(jobs: Sequence[Job]) -> Iterator[str]:
    for name in ("dataset.limit", "dataset.max_documents"):
        if values := [value for value in _values(jobs, name) if value != "None"]:
            yield _override(name, values)


def _override(name: str, values: Sequence[str]) -> str:
    return f"{name}={','.join(values)}"


def _presets(overrides: Sequence[str]) -> list[str]:
    """Return the names after sweeps=. Hydra accepts several in brackets."""
    chosen = [value for key, _, value in (each.partition("=") for each in overrides) if key.lstrip("+") == "sweeps"]
    return [name.strip() for value in chosen for name in value.strip("[]").split(",")]


def _parse_head(name: str, text: str) -> PresetHead:
    comments = [line.removeprefix("# ") for line in text.splitlines()[1:] if line.startswith("#")]
    about, _, command = comments[0].partition("   ")
    sections = dict.fromkeys(_SECTIONS, "")
    current = ""
    for line in comments[1:]:
        head, colon, rest = line.partition(": ")
        current = head if colon and head in _SECTIONS else current if line.startswith("  ") else ""
        if current:
            sections[current] += f" {line.strip()}" if current != head else rest
    paper, instead = (_parts(sections[each]) for each in ("Paper", "Instead"))
    return PresetHead(name, about, command.strip(), paper, instead, sections["Differs"], sections["Needs"])


def _parts(text: str) -> Parts:
    return {name: tuple(values.split(",")) for name, _, values in (each.partition("=") for each in text.split())}


def _values(jobs: Sequence[Job], name: str) -> list[str]:
    """Return the distinct values of a part in the cells: the option of a group, or else the setting."""
    return list(dict.fromkeys(str(job.axes[name] if name in job.axes else _setting(job.config, name)) for job in jobs))


def _setting(config: Mapping[str, Json], name: str) -> Json:
    value: Json = config
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _difference(values: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the values that are not among the known ones. Numbers are compared by value."""
    numbers = {_normalize(value) for value in known}
    return tuple(value for value in values if _normalize(value) not in numbers)


def _normalize(value: str) -> str:
    try:
        return f"{float(value):g}"
    except ValueError:
        return value
