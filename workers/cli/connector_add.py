"""`headwater connector add`: another place that documents come from."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from headwater.errors import PermanentError, TransientError
from headwater.models import Scope
from workers.cli.connector import place
from workers.cli.context import Invocation, pass_invocation
from workers.cli.corpus import embedder_note, ensure_corpus
from workers.cli.errors import WrongUsage, arguments
from workers.cli.named_connector import parse_name
from workers.cli.offering import OfferingGroup
from workers.cli.options import with_corpus, with_json
from workers.cli.services import open_services

if TYPE_CHECKING:
    from activities.connectors.drive.config import DriveConfig
    from activities.store import Store

ACTOR: Final = "headwater connector add"


@click.group("add", cls=OfferingGroup, short_help="Add a connector.")
def add_group() -> None:
    """Add a connector to a corpus. A local folder's is made by `headwater sync folder`."""


@add_group.command("drive", short_help="Add a part of Google Drive.")
@click.argument("name", metavar="NAME")
@with_corpus
@click.option(
    "--folder-id",
    "folder_ids",
    multiple=True,
    metavar="ID",
    help="Only what lies below this folder: what follows folders/ in its address; root is the account's My Drive. May be repeated.",
)
@click.option("--drive-id", metavar="ID", help="A shared drive; with --folder-id the one in which the folders lie.")
@click.option(
    "--credentials",
    metavar="FILE",
    help="A service account's key, or what authorising as a person wrote; by default the application default credentials of the workers.",
)
@click.option("--subject", metavar="EMAIL", help="The person for whom a service account acts in its domain.")
@click.option("--root-url", metavar="URL", help="Another server that speaks drive/v3, such as an emulator.")
@click.option(
    "--discoverable-as-everyone",
    is_flag=True,
    help="What anyone on the web can find may be read by everyone of the tenant; by default by nobody.",
)
@click.option(
    "--access-map",
    metavar="FILE",
    help='Whom Drive\'s grantees are here: a YAML or TOML file of rules such as {drive: "group:eng@a.test", grant: ["group:engineering"]}.',
)
@with_json
@pass_invocation
def drive_command(
    invocation: Invocation,
    *,
    name: str,
    corpus: str,
    folder_ids: tuple[str, ...],
    drive_id: str | None,
    credentials: str | None,
    subject: str | None,
    root_url: str | None,
    discoverable_as_everyone: bool,
    access_map: str | None,
    as_json: bool,
) -> None:
    """Add a part of Google Drive to a corpus as the connector NAME: some folders, a shared drive, or all that the account sees.

    Who may read a document follows Drive, which tells it only to accounts that may share the document: what the account can merely
    read is found by nobody. Of the credentials only the file's path is stored: it is read by the workers, each
    time. Added again, the connector gets the settings that are given then, all of them, and its next sync lists everything anew.
    """
    settings = _settings(
        {
            "folder_ids": tuple(dict.fromkeys(folder_ids)),
            "drive_id": drive_id,
            "credentials": credentials and os.path.abspath(credentials),
            "subject": subject,
            "root_url": root_url,
            "discoverable_as_everyone": discoverable_as_everyone,
        },
        access_map,
    )
    parse_name(name, corpus)
    scope = Scope.parse(corpus)
    # Configured workers may stand where the file is, and this command not.
    account = None if invocation.settings.uses_configured_services else _account(settings)
    invocation.start_logging()
    from activities.store import Store

    with (
        open_services(invocation, temporal=False) as services,
        Store.open(services.database_url, schema=services.schema, max_size=1) as store,
    ):
        outcome = _kept(invocation, store, scope, name, settings)
    if as_json:
        invocation.output.json(
            {"corpus": corpus, "connector": name, "outcome": outcome, "config": settings.to_config()}
        )
        return
    as_whom = f", as {account}" if account else ""
    invocation.output.line(
        f"Connector {name} of {corpus} is {outcome}: {place('drive', settings.to_config())} of Drive{as_whom}. See with "
        f"`headwater connector test {name}` whether it can be read, and sync it with `headwater sync connector {name}`."
    )


def _settings(given: dict[str, Any], access_map: str | None) -> "DriveConfig":
    """What was asked for, checked before any service is started. Raises `WrongUsage`."""
    from activities.connectors.drive.access_map import AccessMap
    from activities.connectors.drive.config import DriveConfig
    from activities.connectors.drive.service import check_root_url

    for option, value in {**given, "access_map": access_map}.items():
        if value == "":
            raise WrongUsage(f"{_option(option)} is empty: give a value, or leave it out.")
    with _named_as_options(), arguments():
        root_url = None if given["root_url"] is None else check_root_url(given["root_url"])
        table = None if access_map is None else AccessMap.from_file(access_map).to_json()
        chosen = {
            field: value
            for field, value in (given | {"root_url": root_url, "access_map": table}).items()
            if value is not None
        }
        return DriveConfig.parse(chosen)


@contextmanager
def _named_as_options() -> Iterator[None]:
    """A setting that is wrong is called as it was given."""
    try:
        yield
    except WrongUsage as error:
        said = re.sub(r"^Drive connector: (\w+)(\.\d+)*: ", lambda found: f"{_option(found[1])} ", str(error))
        raise WrongUsage(said) from error


def _option(setting: str) -> str:
    return "--" + ("folder-id" if setting == "folder_ids" else setting.replace("_", "-"))


def _account(settings: "DriveConfig") -> str | None:
    """To whom files must be shared; None where that is known only where the workers are. Raises `WrongUsage`."""
    if settings.credentials is None:
        return None
    try:
        return settings.credential_source().sign_in().account
    except (PermanentError, TransientError) as error:
        raise WrongUsage(str(error)) from error


def _kept(invocation: Invocation, store: "Store", scope: Scope, name: str, settings: "DriveConfig") -> str:
    """Whether the connector was added, changed, or there with these settings already."""
    from activities.store.connectors import change_settings, ensure_connector, find_connector

    build = ensure_corpus(store, scope, invocation.settings)
    if note := embedder_note(build, scope, invocation.settings):
        invocation.output.note(note)
    known, config = find_connector(store, scope, name), settings.to_config()
    if known is None or known.kind != "drive":
        with arguments():
            ensure_connector(store, build.scope_id, name, "drive", config, new_rule=False, actor=ACTOR)
        return "added"
    if known.config == config:
        return "unchanged"
    change_settings(store, known, config, actor=ACTOR)
    return "changed"
