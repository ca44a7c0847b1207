"""The installed command `rag-grid-analysis`. It imports little: Ctrl-C ends the rest of the imports in order."""

from runner.console.interruptible import run_main


def run() -> None:
    """Run `python -m analysis`."""
    run_main("analysis.__main__")
