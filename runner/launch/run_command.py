"""Implements `python -m runner`: one cell, or with -m a whole grid."""

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
from components.secrets.mask import mask_text, shorten_masked
from runner.console.display import escape_control, print_error
from runner.console.ending_signals import unmask_interrupts
from runner.console.own_packages import add_working_directory
from runner.launch import grid_launcher
from runner.launch.axis_naming import convert_job
from runner.launch.compose import explain_error
from runner.launch.composed_jobs import CONFIG_FOLDER, composed_job, write_jobs
from runner.launch.hydra_folders import job_folder
from runner.launch.hydra_startup import BASE_VERSION
from runner.launch.hydra_state import compose_by_parts, detect_mode_from_flags
from runner.launch.overrides import quote_values, refuse_stray_words
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_INTERRUPTED, EXIT_NOT_RUN, CellFailed, run_sweep

grid_launcher.register()

_OWN_FOLDERS = ("--config-", "-cd", "-cp")
"""Options that name a user's configuration, whose search path may name packages."""

_MAX_QUOTED_CHARACTERS = 300
"""Maximum number of characters of a path that a message quotes."""


@hydra.main(  # type: ignore[untyped-decorator]
    **BASE_VERSION, config_path="pkg://conf", config_name="config"
)
def main(config: DictConfig) -> None:
    """Run a sweep of one cell. Hydra's other launchers call this for each cell of a sweep."""
    settings = HydraConfig.get()
    with open_dict(config):
        config.hydra = settings
    in_sweep = settings.mode is RunMode.MULTIRUN
    if not in_sweep and "sweeps" in settings.runtime.choices:
        print_error("+sweeps: a preset needs -m, even if it has one cell. Add -m.")
        sys.exit(EXIT_NOT_RUN)
    sweep_dir = Path(settings.sweep.dir)
    overrides = list(settings.overrides.task)
    if in_sweep:  # the sweeper's file has the overrides of the whole sweep
        overrides = list(OmegaConf.load(sweep_dir / "multirun.yaml").hydra.overrides.task)
    job = convert_job(config)
    folder = job_folder(settings.sweep.subdir if in_sweep else "") / CONFIG_FOLDER
    write_config = partial(write_jobs, [composed_job(config, job, folder)])
    code = run_sweep([job], sweep_dir.name, overrides, write_config, is_part=in_sweep)
    if code and in_sweep:
        raise CellFailed(f"the cell {' '.join(settings.overrides.task)} ended with exit code {code}")
    if code:
        sys.exit(code)


def move_multirun_first(arguments: list[str]) -> list[str]:
    """Move -m before all overrides: Hydra's parser refuses overrides on both sides of it."""
    flags = [argument for argument in arguments if argument in ("-m", "--multirun")]
    return [*flags[:1], *(argument for argument in arguments if argument not in flags)]


def _add_config_packages(arguments: Sequence[str]) -> None:
    """Let Hydra find files of packages in the working directory, for a user's search path. Raises FileNotFoundError if
    the directory was deleted.
    """
    Path.cwd()
    if any("pkg://" in argument or argument.startswith(_OWN_FOLDERS) for argument in arguments):
        add_working_directory()


def _check_flags(arguments: Sequence[str]) -> None:
    """Raise ConfigError for flags that Hydra refuses with a traceback, and for words that set nothing."""
    _require_no_rerun(arguments)
    given = get_args_parser().parse_args(arguments)
    modes = [name for name in ("run", "multirun", "cfg", "shell_completion", "info") if getattr(given, name)]
    if len(modes) > 1:
        flags = " and ".join(f"--{name}" for name in modes)
        raise ConfigError([f"{flags} are mutually exclusive. Use one of them."])
    if given.resolve and not (given.cfg or given.help):
        raise ConfigError(["--resolve: requires --cfg, whose references it resolves. Use --cfg job --resolve."])
    refuse_stray_words(given.overrides)


def _require_no_rerun(arguments: Sequence[str]) -> None:
    """Raise ConfigError for the option, in any short form, that lets Hydra unpickle a file, which may run any code."""
    reruns = [argument for argument in arguments if argument.startswith("--e")]  # no other option begins like this
    if reruns:
        raise ConfigError(
            [
                f"{reruns[0]}: Hydra would unpickle the file, which may run any code. Run the sweep's command "
                "again (it is in sweep.json): finished work is cached."
            ]
        )


@contextmanager
def _mask_display(arguments: Sequence[str]) -> Iterator[None]:
    """Hide secrets in the configurations and help texts that Hydra prints: with --resolve they contain variables.

    Changes nothing for a command that runs cells.
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
        sys.stdout.write(escape_control(mask_text(shown.getvalue())))


def run_hydra() -> None:
    """Run `main`, and report its errors as one message with exit code 2.

    These are unknown options or keys, and a results folder that cannot be created. HYDRA_FULL_ERROR=1 in the
    environment shows the whole traceback.
    """
    try:
        _add_config_packages(sys.argv[1:])
        sys.argv[1:] = quote_values(move_multirun_first(sys.argv[1:]))
        _check_flags(sys.argv[1:])
    except FileNotFoundError:
        print_error("the working directory was deleted: cd to another directory")
        sys.exit(EXIT_NOT_RUN)
    except ConfigError as error:
        print_error(error)
        sys.exit(EXIT_NOT_RUN)
    if os.environ.get("HYDRA_FULL_ERROR"):
        with compose_by_parts(), _mask_display(sys.argv[1:]):
            main()
        return
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises exceptions instead of printing them
    try:
        with (
            detect_mode_from_flags(sys.argv[1:]),
            compose_by_parts(),
            _mask_display(sys.argv[1:]),
            unmask_interrupts(),
        ):
            main()
    except (HydraException, OmegaConfBaseException, RecursionError) as error:
        print_error(explain_error(error, sys.argv[1:]))
        sys.exit(EXIT_NOT_RUN)
    except KeyboardInterrupt:
        print_error("\nInterrupted before the first stage.")
        sys.exit(EXIT_INTERRUPTED)
    except CellFailed as error:
        print_error(error)
        sys.exit(EXIT_CELL_FAILED)
    except BrokenPipeError:  # the reader of the output, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_INTERRUPTED)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            name = shorten_masked(repr(error.filename), _MAX_QUOTED_CHARACTERS)
            print_error(f"{name}: a path or an option of a group that is too long for the file system. Shorten it.")
            sys.exit(EXIT_NOT_RUN)
        print_error(f"run.results_dir: cannot write to it: {error}. Choose another run.results_dir.")
        sys.exit(EXIT_NOT_RUN)
