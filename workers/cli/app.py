"""The command `headwater`: its options, its commands, and how each of them ends."""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from workers.cli.config import config_command
from workers.cli.connector import connector_group
from workers.cli.connector_add import add_group
from workers.cli.connector_remove import remove_command
from workers.cli.connector_try import test_command
from workers.cli.console import ColourChoice, Output
from workers.cli.context import Invocation
from workers.cli.doctor import doctor_command
from workers.cli.errors import EXIT_FAILED, exit_status, sentence_of
from workers.cli.evaluate import evaluate_command
from workers.cli.gc import gc_command
from workers.cli.generation import generation_group
from workers.cli.migrate import migrate_command
from workers.cli.offering import OfferingGroup
from workers.cli.reindex import reindex_command
from workers.cli.rename import rename_command
from workers.cli.schedule import schedule_group
from workers.cli.search import search_command
from workers.cli.source import source_group
from workers.cli.source_delete import delete_command
from workers.cli.source_grant import grant_command, revoke_command
from workers.cli.source_propagate import propagate_command
from workers.cli.status import status_command
from workers.cli.sync import sync_group
from workers.cli.sync_connector import sync_connector_command
from workers.cli.up import up_command
from workers.cli.worker import worker_command

DISTRIBUTION = "headwater-pipeline"


def _print_version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        try:
            number = version(DISTRIBUTION)
        except PackageNotFoundError:
            number = "of an uninstalled checkout"
        click.echo(f"headwater {number}")
        ctx.exit()


@click.group(cls=OfferingGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="When to use colours; auto: on a terminal, unless NO_COLOR is set.",
)
@click.option("--debug", is_flag=True, help="Show a traceback with an error, and more of the logs. May stand anywhere.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
@click.pass_context
def headwater(ctx: click.Context, *, colour: ColourChoice, debug: bool) -> None:
    """Keep a permission-aware retrieval corpus true to its sources.

    Without configuration every command uses its own PostgreSQL and Temporal under HEADWATER_HOME (default ~/.headwater),
    starts them when needed and stops them when it ends, unless `headwater up` runs there, which it then uses. With
    HEADWATER_DATABASE_URL set, the configured services are used instead, and TEMPORAL_ADDRESS and the other TEMPORAL_*
    variables say where Temporal is.

    Data goes to stdout; with --json as exactly one JSON document, or nothing at all if the command fails. Everything else
    goes to stderr. Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.

    Shell completion: eval "$(_HEADWATER_COMPLETE=bash_source headwater)", or zsh_source, or fish_source.
    """
    ctx.obj = Invocation(output=Output(colour=colour), debug=debug)


for command in (
    up_command,
    connector_group,
    sync_group,
    schedule_group,
    search_command,
    evaluate_command,
    status_command,
    source_group,
    rename_command,
    reindex_command,
    generation_group,
    gc_command,
    migrate_command,
    worker_command,
    doctor_command,
    config_command,
):
    headwater.add_command(command)
for command in (delete_command, grant_command, revoke_command, propagate_command):
    source_group.add_command(command)
sync_group.add_command(sync_connector_command)
for command in (add_group, test_command, remove_command):
    connector_group.add_command(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = debug_first(sys.argv[1:] if arguments is None else arguments)
    try:
        if "_HEADWATER_COMPLETE" in os.environ:
            headwater.main(arguments, prog_name="headwater")
        returned: Any = headwater.main(arguments, prog_name="headwater", standalone_mode=False)
        sys.stdout.flush()
        return returned if isinstance(returned, int) else 0
    except BrokenPipeError:
        # Whoever read our output has left (`headwater status | head`): nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except click.exceptions.NoArgsIsHelpError as asked:
        asked.show()
        return asked.exit_code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the last place: a person gets a sentence, not a traceback
        if arguments[:1] == ["--debug"]:
            traceback.print_exc()
        Output(colour=_colour_of(arguments)).fail(sentence_of(error))
        return exit_status(error)


def debug_first(arguments: Sequence[str]) -> list[str]:
    """``--debug`` moved to where it is an option: it is what people add at the end of a command that failed."""
    options = list(arguments[: arguments.index("--")]) if "--" in arguments else list(arguments)
    if "--debug" not in options:
        return list(arguments)
    kept = [option for option in options if option != "--debug"]
    return ["--debug", *kept, *arguments[len(options) :]]


def _colour_of(arguments: Sequence[str]) -> ColourChoice:
    # The error may be that the options could not be parsed.
    for option, following in zip(arguments, [*arguments[1:], ""], strict=True):
        value = option.removeprefix("--color=") if option.startswith("--color=") else following
        if option.startswith("--color") and value in ("always", "never"):
            return "always" if value == "always" else "never"
    return "auto"
