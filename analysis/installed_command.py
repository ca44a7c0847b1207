"""The installed command `rag-grid-analysis`. It imports little, so that Ctrl-C during other imports ends it cleanly."""

from runner.console.interruptible import run_main


def run() -> None:
    """Run `python -m analysis` and exit."""
    run_main("analysis.__main__")
