"""python -m analysis watch: shows the progress of a running sweep, in the terminal or on a page."""

import argparse

from analysis.table_output import make_console
from analysis.watch.sweep_watcher import Watcher
from runner.console.command_parser import SWEEP
from runner.results import find_sweep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", nargs="?", default="latest", help=f"{SWEEP} (default: %(default)s)")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--once", action="store_true", help="print the state once, and exit")
    ways.add_argument(
        "--serve",
        type=int,
        nargs="?",
        const=0,
        metavar="PORT",
        help="show a page to browsers on this machine, at a free port or at PORT",
    )


def run(options: argparse.Namespace) -> int:
    """Show the state of the sweep until it ends, once, or until Ctrl-C with `--serve`. Returns 0.

    Raises DataError if the sweep cannot be read or the port is taken.
    """
    watcher = Watcher(find_sweep(options.sweep))
    console = make_console()
    if options.serve is not None:
        from analysis.watch.watch_page import HOST, make_server

        watcher.look()
        with make_server(watcher, options.serve) as server:
            console.print(f"page: http://{HOST}:{server.server_address[1]}/   (Ctrl-C ends it)", markup=False)
            server.serve_forever()
        return 0
    from analysis.watch.watch_terminal import show, watch

    if options.once:
        show(console, watcher.look())
    else:
        watch(console, watcher)
    return 0
