"""What `python -m runner` does: one cell, or with -m a whole grid."""

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError
from components.secrets.mask import masked, shortened
from runner.console.display import printable, say_error
from runner.launch import grid_launcher
from runner.launch.axis_naming import job_of
from runner.launch.compose import told
from runner.launch.composed_jobs import CONFIG_FOLDER, composed_job, write_jobs
from runner.launch.hydra_state import made_in_parts, mode_from_flags
from runner.launch.overrides import readable, refuse_strays
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_INTERRUPTED, EXIT_NOT_RUN, CellFailed, run_sweep

grid_launcher.register()

_LONGEST_QUOTE = 300
"""Characters of a path that a message repeats."""


@hydra.main(  # type: ignore[untyped-decorator]
    version_base="1.3", config_path="pkg://conf", config_name="config"
)
def main(config: DictConfig) -> None:
    """A sweep of one cell. Under Hydra's other launchers it is called for each cell of a sweep."""
    settings = HydraConfig.get()
    with open_dict(config):
        config.hydra = settings
    in_sweep = settings.mode is RunMode.MULTIRUN
    if not in_sweep and "sweeps" in settings.runtime.choices:
        say_error("+sweeps=... is a sweep of several cells: add -m")
        sys.exit(EXIT_NOT_RUN)
    sweep_dir = Path(settings.sweep.dir)
    overrides = list(settings.overrides.task)
    if in_sweep:  # the sweeper's file has those of the whole sweep
        overrides = list(OmegaConf.load(sweep_dir / "multirun.yaml").hydra.overrides.task)
    job = job_of(config)
    folder = Path(settings.sweep.subdir if in_sweep else "") / CONFIG_FOLDER
    keep = partial(write_jobs, [composed_job(config, job, folder)])
    code = run_sweep([job], sweep_dir.name, overrides, keep, is_part=in_sweep)
    if code and in_sweep:
        raise CellFailed(f"the cell {' '.join(settings.overrides.task)} ended with exit code {code}")
    if code:
        sys.exit(code)


def multirun_first(arguments: list[str]) -> list[str]:
    """The arguments with -m before all overrides: Hydra's parser refuses overrides on both sides of it."""
    flags = [argument for argument in arguments if argument in ("-m", "--multirun")]
    return [*flags[:1], *(argument for argument in arguments if argument not in flags)]


def _see_working_directory() -> None:
    """As under `python -m`, so that the command `rag-grid` finds a user's own components too. At the end of the path:
    there is no need to look there first.
    """
    folder = str(Path.cwd())
    if not sys.flags.safe_path and folder not in sys.path:
        sys.path.append(folder)


def _check_flags(arguments: Sequence[str]) -> None:
    """Raises ConfigError for flags that Hydra refuses with a traceback, and for words that set nothing."""
    _require_no_rerun(arguments)
    given = get_args_parser().parse_args(arguments)
    modes = [name for name in ("run", "multirun", "cfg", "shell_completion", "info") if getattr(given, name)]
    if len(modes) > 1:
        flags = " and ".join(f"--{name}" for name in modes)
        raise ConfigError([f"{flags} ask for different things, expected one of them"])
    if given.resolve and not (given.cfg or given.help):
        raise ConfigError(
            ["--resolve shows a configuration with its references resolved, expected --cfg job --resolve"]
        )
    refuse_strays(given.overrides)


def _require_no_rerun(arguments: Sequence[str]) -> None:
    """Raises ConfigError for the option that has Hydra unpickle a file, which may run any code; short forms count."""
    found = [argument for argument in arguments if argument.startswith("--e")]  # no other option begins so
    if found:
        raise ConfigError(
            [
                f"{found[0]}: Hydra would unpickle the file, which may run any code; give the sweep's command again, "
                "which sweep.json names: what it computed is in the store"
            ]
        )


@contextmanager
def _masked_display(arguments: Sequence[str]) -> Iterator[None]:
    """Hide secrets in the configurations and help texts that Hydra prints: with --resolve they hold the values of
    variables. Changes nothing for a command that runs cells.
    """
    given, _ = get_args_parser().parse_known_args(arguments)
    if not (given.cfg or given.info or given.help or given.hydra_help):
        yield
        return
    shown = StringIO()
    try:
        with redirect_stdout(shown):
            yield
    finally:
        sys.stdout.write(printable(masked(shown.getvalue())))


def run_hydra() -> None:
    """`main` with its errors as one message and exit code 2: an option or key that Hydra does not find, or a results
    folder that cannot be made. HYDRA_FULL_ERROR=1 in the environment shows the whole trace.
    """
    try:
        _see_working_directory()
        sys.argv[1:] = readable(multirun_first(sys.argv[1:]))
        _check_flags(sys.argv[1:])
    except FileNotFoundError:
        say_error("the working directory was removed: cd to one that is there")
        sys.exit(EXIT_NOT_RUN)
    except ConfigError as error:
        say_error(error)
        sys.exit(EXIT_NOT_RUN)
    if os.environ.get("HYDRA_FULL_ERROR"):
        with made_in_parts(), _masked_display(sys.argv[1:]):
            main()
        return
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra lets exceptions through instead of printing them itself
    try:
        with mode_from_flags(sys.argv[1:]), made_in_parts(), _masked_display(sys.argv[1:]):
            main()
    except (HydraException, OmegaConfBaseException) as error:
        say_error(told(error, sys.argv[1:]))
        sys.exit(EXIT_NOT_RUN)
    except KeyboardInterrupt:
        say_error("\nInterrupted before the first stage.")
        sys.exit(EXIT_INTERRUPTED)
    except CellFailed as error:
        say_error(error)
        sys.exit(EXIT_CELL_FAILED)
    except BrokenPipeError:  # whoever read the output, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_INTERRUPTED)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            name = shortened(repr(error.filename), _LONGEST_QUOTE)
            say_error(f"{name}: a path or an option of a group that is too long for the file system; shorten it")
            sys.exit(EXIT_NOT_RUN)
        say_error(f"run.results_dir: cannot write in it: {error}; choose another run.results_dir")
        sys.exit(EXIT_NOT_RUN)
