"""`headwater migrate`: bring the schema up to date."""

import click

from workers.cli.context import Invocation, pass_invocation
from workers.cli.services import open_services


@click.command("migrate", short_help="Bring the database schema up to date.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_invocation
def migrate_command(invocation: Invocation, *, as_json: bool) -> None:
    """Bring the schema up to date. Safe twice, and by two processes at once."""
    from activities.store.migrate import migrate

    invocation.start_logging()
    with open_services(invocation, temporal=False, must_be_migrated=False) as services:
        applied = migrate(services.database_url, services.schema)
    if as_json:
        invocation.output.json({"schema": services.schema, "applied": applied})
    elif applied:
        invocation.output.out.print(f"Applied {', '.join(applied)}.")
    else:
        invocation.output.out.print("The schema is up to date.")
