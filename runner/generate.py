"""python -m runner.generate corpus.path=my_docs llm=openai out=my_set: generates questions with gold from a corpus."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.generate")


import argparse
import sys
from collections.abc import Sequence

from components.errors import RagGridError
from runner.console.command_parser import CommandParser
from runner.console.display import print_error, say
from runner.console.interruptible import EXIT_INTERRUPTED, EXIT_NOT_RUN


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0 means that every matrix field has as many questions as requested, 1 that some field has fewer. 2 follows an error
    message if nothing was run. 130 means that the run was interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["check"]:
            from runner.testset.making.gate_check import check

            return check(words[1:])
        if {"-h", "--help"} & set(words):
            _parser().print_help()
            return 0
        from omegaconf import OmegaConf  # --help needs none of these imports

        from runner.testset.making.composing import build_settings, compose_generation
        from runner.testset.making.generation_run import run

        config = compose_generation([word for word in words if word != "--cfg"])
        if "--cfg" in words:
            say(OmegaConf.to_yaml(OmegaConf.create(config)))
            return 0
        return run(build_settings(config), config)
    except RagGridError as error:
        print_error(error)
        return EXIT_NOT_RUN
    except KeyboardInterrupt:
        print_error("\nInterrupted. Run the same command again: finished work is cached.")
        return EXIT_INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    """Return a parser that is used only for the help: Hydra reads the overrides."""
    parser = CommandParser(
        prog="python -m runner.generate",
        usage="%(prog)s [-h] [--cfg] [check] key=value ...",
        description=(
            "Generate questions with gold evidence from a corpus. Exit code 0: every topic and task has all its "
            "samples, 1: "
            "some have too few, or a budget ended the run, 2: nothing was run, 130: interrupted."
        ),
        example="python -m runner.generate corpus.path=my_docs llm=openai out=my_set",
        page="docs/generation.md",
    )
    parser.add_argument(
        "key=value", nargs="*", help="settings of the run: corpus.path, llm, checker, out, language, tasks, topics, ..."
    )
    parser.add_argument("check", nargs="?", help="only run the gates, on any data set: see check --help")
    parser.add_argument("--cfg", action="store_true", help="show the whole configuration, without running it")
    return parser
