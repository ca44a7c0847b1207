"""python -m runner.generate: generates questions with gold from a corpus.

python -m runner.generate corpus.path=my_docs llm=openai out=my_set     the set; see docs/generation.md
python -m runner.generate check dataset=jsonl dataset.documents=...     only the gates, on any data set
python -m runner.generate --cfg ...                                     the configuration, without running it
"""

if __name__ == "__main__":  # before the other imports, which take time and may be interrupted
    from runner.console.interruptible import run_main

    run_main("runner.generate")


import sys
from collections.abc import Sequence

from omegaconf import OmegaConf

from components.errors import RagGridError
from runner.console.display import say_error
from runner.testset.making.composing import composed, settings_of
from runner.testset.making.generation_run import EXIT_INTERRUPTED, run

EXIT_NOT_RUN = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0 means that every cell of topic and task has as many questions as requested, 1 that some cell has fewer. 2 follows
    one clear message if nothing was run. 130 means that the run was interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["check"]:
            from runner.testset.making.gate_check import check

            return check(words[1:])
        if {"-h", "--help"} & set(words):
            print(__doc__)
            return 0
        config = composed([word for word in words if word != "--cfg"])
        if "--cfg" in words:
            print(OmegaConf.to_yaml(OmegaConf.create(config)))
            return 0
        return run(settings_of(config), config)
    except RagGridError as error:
        say_error(error)
        return EXIT_NOT_RUN
    except KeyboardInterrupt:
        say_error("\nInterrupted. Every reply and every finished stage is cached: run the same command to resume.")
        return EXIT_INTERRUPTED
