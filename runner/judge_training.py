"""python -m runner.judge_training prepare|train|evaluate: trains a judge on human labels."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.judge_training")


import argparse
import json
import shlex
from dataclasses import fields
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import get_args

from rich.console import Console

from components.errors import ConfigError, RagGridError
from runner.console.command_parser import SWEEP, CommandParser, add_command
from runner.console.display import make_console, print_error
from runner.console.written_files import write_lines
from runner.labels.training.training_settings import Settings

_COMMAND = "python -m runner.judge_training"
_PAGE = "docs/judges.md"


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 is success. 1 means that requests failed: they are left out, counted, and sent again next time. 2 follows one
    clear message.
    """
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except RagGridError as error:
        print_error(error)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=_COMMAND,
        description="Train a judge on human labels.",
        example=f"{_COMMAND} prepare --labels labels.csv --judge omnieval --out prepared",
        page=_PAGE,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = add_command(
        commands,
        "prepare",
        "turn labels into prompts and replies of the judge, in splits",
        example=f"{_COMMAND} prepare --labels labels.csv --judge omnieval --out prepared",
        page=_PAGE,
    )
    preparing.set_defaults(run=_prepare)
    preparing.add_argument(
        "--labels", type=Path, required=True, metavar="FILE", help="human labels: .jsonl, .csv, or Label Studio's .json"
    )
    preparing.add_argument("--judge", required=True, metavar="NAME", help="an option of conf/judge/, e.g. omnieval")
    preparing.add_argument(
        "--sweep",
        metavar="SWEEP",
        help=f"{SWEEP}. If its answers were labelled, questions about one document stay together",
    )
    preparing.add_argument(
        "--split", default="5:1:4", metavar="SHARES", help="shares of train, validation and test (default: %(default)s)"
    )
    preparing.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed for dividing the questions (default: %(default)s)",
    )
    preparing.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="the folder to write")
    preparing.add_argument("overrides", nargs="*", help="overrides, as in python -m runner, e.g. language=zh")
    training = add_command(
        commands,
        "train",
        "train a LoRA adapter for a causal language model (extra `train`)",
        example=f"{_COMMAND} train --data prepared --model Qwen/Qwen3-8B --out trained_judge",
        page=_PAGE,
    )
    _add_training(training)
    evaluating = add_command(
        commands,
        "evaluate",
        "compare the agreement with held-out labels before and after training",
        example=f"{_COMMAND} evaluate --data prepared --trained trained_judge",
        page=_PAGE,
    )
    evaluating.set_defaults(run=_evaluate)
    evaluating.add_argument(
        "--data", type=Path, required=True, metavar="FOLDER", help="the folder that `prepare` wrote"
    )
    evaluating.add_argument(
        "--trained", type=Path, required=True, metavar="FOLDER", help="the folder that `train` wrote"
    )
    evaluating.add_argument(
        "--llm",
        choices=("transformers", "vllm"),
        default="transformers",
        help="library that runs the model (default: %(default)s)",
    )
    evaluating.add_argument("--json", type=Path, metavar="FILE", help="write the whole report to this file")
    evaluating.add_argument(
        "overrides", nargs="*", help="overrides, as in python -m runner, e.g. judge.llm.device=cuda:1"
    )
    return parser


def _add_training(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_train)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="the folder that `prepare` wrote")
    parser.add_argument("--model", required=True, metavar="MODEL", help="an id of the Hugging Face hub, or a folder")
    parser.add_argument("--revision", default="", metavar="COMMIT", help="the commit; empty for a folder")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="the folder to write; an interrupted training in it is resumed",
    )
    parser.add_argument("--strict", action="store_true", help="fail if a pair is too long, instead of leaving it out")
    for field in fields(Settings):
        if field.name not in ("model", "revision"):
            (kind,) = {each for each in (*get_args(field.type), field.type) if isinstance(each, type)} - {NoneType}
            default_note = "" if field.default is None else f" (default: {field.default})"
            parser.add_argument(
                f"--{field.name.replace('_', '-')}",
                type=kind,
                default=field.default,
                metavar="N" if kind in (int, float) else "NAME",
                help=field.metadata["help"] + default_note,
            )


def _prepare(options: argparse.Namespace) -> int:
    from runner.labels.training.preparing import Preparation, prepare  # --help needs none of these imports
    from runner.labels.training.training_tables import prepared_table
    from runner.results import find_sweep

    preparation = Preparation(
        labels=options.labels,
        judge=options.judge,
        overrides=tuple(options.overrides),
        sweep_dir=find_sweep(options.sweep) if options.sweep else None,
        shares=_shares(options.split),
        seed=options.seed,
    )
    manifest = prepare(preparation, options.out)
    console = make_console()
    console.print(prepared_table(manifest))
    for reason, n in manifest.left_out.items():
        console.print(f"{n} x {reason}", markup=False)
    folder = shlex.quote(str(options.out))
    _next(console, f"python -m runner.judge_training train --data {folder} --model MODEL --out trained_judge")
    return 0


def _train(options: argparse.Namespace) -> int:
    from runner.labels.training.prepared_folder import read_manifest
    from runner.labels.training.training import train
    from runner.labels.training.training_tables import losses_table

    settings = Settings(**{field.name: getattr(options, field.name) for field in fields(Settings)})
    training = train(settings, options.data, options.out, strict=options.strict)
    console = make_console()
    console.print(losses_table(training))
    if training.too_long:
        console.print(
            f"left out because they are too long: {len(training.too_long)}, e.g. {training.too_long[0]}", markup=False
        )
    data, out, conf = (shlex.quote(str(path)) for path in (options.data, options.out, options.out / "conf"))
    prepared = read_manifest(options.data)
    judge = shlex.join([f"judge={prepared.judge}", *prepared.overrides])
    console.print(f"use it with: --config-dir {conf} {judge} llm@judge.llm=trained_judge", markup=False, soft_wrap=True)
    _next(console, f"python -m runner.judge_training evaluate --data {data} --trained {out}")
    return 0


def _next(console: Console, command: str) -> None:
    console.print(f"next: {command}", markup=False, soft_wrap=True)


def _evaluate(options: argparse.Namespace) -> int:
    from runner.labels.training.evaluating import evaluate
    from runner.labels.training.training_tables import as_json, compared_table

    compared = evaluate(options.data, options.trained, options.llm, options.overrides)
    console = make_console()
    console.print(compared_table(compared))
    *_, overall = compared.values()
    for reason, n in overall.failures.items():
        console.print(f"failed, left out: {n} x {reason}", markup=False)
    if options.json:
        write_lines(options.json, [json.dumps(as_json(compared), ensure_ascii=False, indent=2)])
    return int(overall.n_failed > 0)


def _shares(text: str) -> tuple[float, ...]:
    try:
        parts = [float(part) for part in text.split(":")]
    except ValueError:
        parts = []
    if len(parts) != 3 or not all(part > 0 for part in parts) or not isfinite(sum(parts)):
        raise ConfigError(f"--split: got {text!r}, expected three numbers above 0, such as 5:1:4")
    return tuple(part / sum(parts) for part in parts)
