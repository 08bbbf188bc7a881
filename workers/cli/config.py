"""`headwater config`: every setting, its value, and where it came from."""

import os

import click
from rich.table import Table

from workers.cli.console import plain
from workers.cli.context import Invocation, pass_invocation
from workers.settings import Settings, unknown_variables, variable_of

HIDDEN = "(hidden)"


@click.command("config", short_help="Show every setting and where it came from.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_invocation
def config_command(invocation: Invocation, *, as_json: bool) -> None:
    """Show every setting with its value and where it came from, secrets hidden.

    A HEADWATER_ variable that is not a setting is named: most are misspelt.
    """
    rows = setting_rows(invocation.settings)
    unknown = unknown_variables(os.environ)
    if as_json:
        invocation.output.json({"settings": rows, "unknown": unknown})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("variable", "value", "from", "meaning"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(plain(row[key]) for key in ("name", "value", "source", "description")))
    invocation.output.out.print(table)
    for sentence in unknown:
        invocation.output.warn(sentence)
    if not invocation.settings.uses_configured_services and "TEMPORAL_ADDRESS" in os.environ:
        invocation.output.note("TEMPORAL_ADDRESS is ignored while HEADWATER_DATABASE_URL is not set.")


def setting_rows(settings: Settings) -> list[dict[str, str]]:
    """One row for each setting, as text."""
    return [
        {
            "name": variable_of(name),
            "value": _shown(settings, name),
            "source": "environment" if settings.is_given(name) else "default",
            "description": field.description or "",
        }
        for name, field in Settings.model_fields.items()
    ]


def _shown(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    if name == "database_url":
        return HIDDEN if value is not None else ""
    return ",".join(value) if isinstance(value, tuple) else str(value)
