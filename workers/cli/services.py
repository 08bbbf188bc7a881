"""Which PostgreSQL and Temporal a command uses: the configured ones, or the embedded ones of a home."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from workers.cli.context import Invocation
from workers.cli.errors import CommandFailed, WrongUsage
from workers.telemetry import CORE

if TYPE_CHECKING:
    from temporalio.client import Client

    from workers import embedded

CONNECT_TIMEOUT_S: Final = 10
LOOK_EVERY_S: Final = 2.0


@dataclass(frozen=True)
class Services:
    """Where everything is, for the length of one command."""

    database_url: str
    reader_url: str
    schema: str
    temporal: Mapping[str, Any] | None
    embedded: "embedded.Services | None" = None

    @property
    def is_embedded(self) -> bool:
        return self.embedded is not None

    @property
    def has_workers(self) -> bool:
        """Whether somebody else works: whoever runs the configured services, or a `headwater up` of this home."""
        return self.embedded is None or self.embedded.has_running_up

    @property
    def temporal_address(self) -> str | None:
        return str(self.temporal["target_host"]) if self.temporal else None

    async def trouble(self, *, on_workers_gone: Callable[[], None] | None = None) -> str:
        """Returns, with a sentence, when an embedded server has died and does not come back."""
        while self.embedded is None or (sentence := self.embedded.trouble()) is None:
            if on_workers_gone and not self.has_workers:
                on_workers_gone()
                on_workers_gone = None
            await asyncio.sleep(LOOK_EVERY_S)
        return sentence


@contextmanager
def open_services(invocation: Invocation, *, temporal: bool, must_be_migrated: bool = True) -> Iterator[Services]:
    """The services of this command, running and with the schema up to date.

    Embedded services are started and migrated as needed. Configured ones are only looked at: whoever runs them decides
    when `headwater migrate` locks what.
    """
    settings = invocation.settings
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        target = configured_temporal() if temporal else None
        if must_be_migrated:
            _require_migrated(url, settings.schema_name)
        yield Services(
            database_url=url,
            reader_url=url,
            schema=settings.schema_name,
            temporal=target,
        )
        return
    from activities.store.migrate import migrate
    from workers import embedded

    with embedded.attach(settings.home, temporal=temporal, on_message=invocation.output.note) as running:
        reader_url = running.database_url
        if must_be_migrated:
            migrate(running.database_url, settings.schema_name)
            reader_url = embedded.ensure_reader_login(running.database_url, settings.schema_name)
        yield Services(
            database_url=running.database_url,
            reader_url=reader_url,
            schema=settings.schema_name,
            temporal={"target_host": running.temporal_address} if running.temporal_address else None,
            embedded=running,
        )


def configured_temporal() -> dict[str, Any]:
    """What `Client.connect` needs, from Temporal's own environment configuration."""
    from temporalio.envconfig import ClientConfigProfile

    try:
        profile = ClientConfigProfile.load()
    except RuntimeError as error:
        raise WrongUsage(f"Temporal's configuration cannot be read: {error}.") from error
    if not profile.address:
        raise WrongUsage(
            "HEADWATER_DATABASE_URL is set, so this command needs a Temporal server too: set TEMPORAL_ADDRESS, "
            "or unset HEADWATER_DATABASE_URL to use the embedded services."
        )
    return dict(profile.to_client_connect_config())


def _require_migrated(url: str, schema: str) -> None:
    from activities.store.migrate import pending

    missing = pending(url, schema)
    if missing:
        raise CommandFailed(
            f'The schema "{schema}" of HEADWATER_DATABASE_URL is {len(missing)} migration(s) behind: run `headwater migrate`.'
        )


async def connect_temporal(services: Services, *, core_logs: Literal["ERROR", "WARN"] = "ERROR") -> "Client":
    """A client that speaks our payloads. What its core has to say goes where our logs go."""
    from temporalio.client import Client
    from temporalio.contrib.pydantic import pydantic_data_converter
    from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
    from temporalio.service import RPCError

    if services.temporal is None:
        raise CommandFailed("This command needs Temporal, and none was started; report this.")
    logs = LoggingConfig(
        filter=TelemetryFilter(core_level=core_logs, other_level="ERROR"),
        forwarding=LogForwardingConfig(logger=logging.getLogger(CORE)),
    )
    runtime = Runtime(telemetry=TelemetryConfig(logging=logs))
    connecting = Client.connect(**services.temporal, data_converter=pydantic_data_converter, runtime=runtime)
    try:
        return await asyncio.wait_for(connecting, CONNECT_TIMEOUT_S)
    except (RuntimeError, RPCError, TimeoutError) as error:
        hint = "see `headwater doctor`" if services.is_embedded else "check TEMPORAL_ADDRESS and that the server runs"
        raise CommandFailed(
            f"Temporal at {services.temporal_address} does not answer ({type(error).__name__}): {hint}."
        ) from error
