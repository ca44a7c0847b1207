"""python -m runner: one cell, or with -m a whole grid."""

import sys

from runner.console.interruptible import run_interruptibly


def run() -> None:
    """Run the command. Interrupts are handled from the first import on."""
    run_interruptibly(_run, "\nInterrupted.\n")


def _run() -> None:
    from components.secrets.output import mask_output
    from components.threads import n_cores
    from runner.launch.command_help import asks_for_help, command_help

    mask_output()
    if "--version" in sys.argv[1:]:  # Hydra would print its own version
        from runner.engine.environment import program_version

        sys.stdout.write(f"rag-grid {program_version()}\n")
        return
    if asks_for_help(sys.argv[1:]):  # Hydra would print every field
        sys.stdout.write(command_help())
        return
    will_log = _will_log(sys.argv[1:])
    if will_log:
        from runner.output.tracking import load_early

        load_early()
    from runner.engine.executors.fork_server import start_early
    from runner.launch.preloading import PRELOADS
    from runner.launch.run_command import run_hydra

    has_idle_core = n_cores() > 1 + will_log  # this process needs a core, and MLflow's process another while it loads
    if has_idle_core and _may_share_work(sys.argv[1:]):
        start_early(PRELOADS)
    run_hydra()


def _will_log(arguments: list[str]) -> bool:
    """Guess whether the command is a grid that is logged to MLflow. A wrong guess costs a process that ends unused."""
    return "-m" in arguments and not any(
        argument.startswith(("tracking", "run.plan_only", "hydra/launcher", "--")) for argument in arguments
    )


def _may_share_work(arguments: list[str]) -> bool:
    """Guess whether the command is a sweep in local processes, which need no settings of Hydra's.

    A wrong guess costs a process that ends unused, or workers that load packages for themselves.
    """
    rest = [argument for argument in arguments if argument != "executor=processes"]
    return "run.workers=1" not in rest and not any(
        argument.startswith(("run.plan_only", "executor=", "--", "-sc")) or "hydra" in argument for argument in rest
    )


if __name__ == "__main__":
    run()
