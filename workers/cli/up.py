"""`headwater up`: PostgreSQL, Temporal and all workers of one home, in the foreground."""

import asyncio
import logging

import click

from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import WrongUsage
from workers.cli.services import open_services
from workers.cli.worker import work
from workers.options import ROLES


@click.command("up", short_help="Run PostgreSQL, Temporal and all workers here.")
@pass_invocation
def up_command(invocation: Invocation) -> None:
    """Run the embedded PostgreSQL, Temporal with its web page, and all workers, in the foreground.

    Other commands of the same HEADWATER_HOME use what runs here. Ctrl-C or SIGTERM is how this command is meant to end:
    it stops everything and returns 0; a second one leaves at once with 130, and the servers stop by themselves.
    """
    settings = invocation.settings
    if settings.uses_configured_services:
        raise WrongUsage(
            "`headwater up` runs the embedded services: unset HEADWATER_DATABASE_URL, "
            "or run `headwater worker` for the configured ones."
        )
    from workers import embedded

    invocation.start_logging(level=logging.INFO)
    output = invocation.output
    with embedded.mark_up(settings.home), open_services(invocation, temporal=True) as services:
        output.note(f"Addresses and passwords for programs: {settings.home / 'services.json'}")
        if services.embedded is not None:
            output.note(f"Temporal's web page: {services.embedded.temporal_ui}")
        asyncio.run(work(invocation, services, frozenset(ROLES)))
