"""`headwater schedule`: connectors that are synced by themselves, every so often."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from rich.table import Table

from headwater.models import Scope
from workers.cli.connector import at
from workers.cli.console import plain
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, WrongUsage, arguments
from workers.cli.named_connector import find_named, parse_name, with_own_corpus
from workers.cli.offering import OfferingGroup
from workers.cli.options import with_json
from workers.cli.services import Services, connect_temporal, open_services
from workers.lengths import length, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from activities.store import Store
    from workers.sync_schedules import SyncSchedule, SyncSchedules

T = TypeVar("T")
ACTOR: Final = "headwater schedule"
SHORTEST: Final = timedelta(seconds=10)
LONGEST: Final = timedelta(days=365)
AT_ONCE: Final = 16  # schedules that Temporal is asked for at the same time


@click.group("schedule", cls=OfferingGroup, short_help="Have connectors synced by themselves.")
def schedule_group() -> None:
    """Have connectors synced by themselves, every so often, as long as `headwater up` or `headwater worker` runs."""


@schedule_group.command("set", short_help="Sync a connector every so often.")
@click.argument("name", metavar="NAME")
@click.option("--every", required=True, metavar="TIME", help="How often: 90s, 15m, 6h, 1d.")
@with_own_corpus
@with_json
@pass_invocation
def set_command(invocation: Invocation, *, name: str, every: str, corpus: str | None, as_json: bool) -> None:
    """Have the connector NAME synced every so often, from now on; changes the schedule that it has.

    A sync that takes longer than that holds up nothing: one more pass follows it. A paused schedule stays paused.
    """
    wanted = _every(every)
    made = _told(
        invocation,
        name,
        corpus,
        lambda schedules, scope: schedules.set(scope, name, every=wanted),
        action="set_schedule",
        detail={"every": written(wanted)},
        stays=True,
    )
    if as_json:
        invocation.output.json(document(made))
        return
    when = (
        "but it is paused: `headwater schedule resume` lets it go on"
        if made.is_paused
        else f"next at {at(made.next_at)}"
    )
    invocation.output.line(f"Connector {name} of {made.scope} is synced every {written(made.every)}; {when}.")


@schedule_group.command("list", short_help="Show which connectors are synced by themselves.")
@click.option("--corpus", metavar="T/R/C", help="Only of this corpus; by default of all.")
@with_json
@pass_invocation
def list_command(invocation: Invocation, *, corpus: str | None, as_json: bool) -> None:
    """Show which connectors are synced by themselves, how often, and when next."""
    from activities.store.connectors import placed_connectors

    with arguments():
        scope = Scope.parse(corpus) if corpus is not None else None
    invocation.start_logging()
    with _opened(invocation) as (services, store):
        connectors = [(each.scope, each.row.name) for each in placed_connectors(store, scope=scope)]
        found = asyncio.run(_asking(services, lambda schedules: _all(schedules, connectors))) if connectors else []
    if as_json:
        invocation.output.json({"schedules": [document(each) for each in found]})
    elif found:
        invocation.output.out.print(table(found))
    else:
        invocation.output.line(
            "No connector is synced by itself: `headwater schedule set NAME --every 15m` has one synced."
        )


@schedule_group.command("pause", short_help="Stop syncing a connector by itself, until it is resumed.")
@click.argument("name", metavar="NAME")
@with_own_corpus
@with_json
@pass_invocation
def pause_command(invocation: Invocation, *, name: str, corpus: str | None, as_json: bool) -> None:
    """Stop syncing the connector NAME by itself, until it is resumed. A sync that is under way goes on."""
    _changed(
        invocation,
        name,
        corpus,
        as_json,
        lambda schedules, scope: schedules.pause(scope, name),
        "pause_schedule",
        "is paused",
    )


@schedule_group.command("resume", short_help="Sync a connector by itself again.")
@click.argument("name", metavar="NAME")
@with_own_corpus
@with_json
@pass_invocation
def resume_command(invocation: Invocation, *, name: str, corpus: str | None, as_json: bool) -> None:
    """Sync the connector NAME by itself again, as often as before."""
    _changed(
        invocation,
        name,
        corpus,
        as_json,
        lambda schedules, scope: schedules.resume(scope, name),
        "resume_schedule",
        "goes on",
    )


@schedule_group.command("remove", short_help="Stop syncing a connector by itself.")
@click.argument("name", metavar="NAME")
@with_own_corpus
@with_json
@pass_invocation
def remove_command(invocation: Invocation, *, name: str, corpus: str | None, as_json: bool) -> None:
    """Stop syncing the connector NAME by itself, for good. The connector and its documents stay.

    With --corpus it also ends a schedule that is left of a connector which is gone.
    """
    _changed(
        invocation,
        name,
        corpus,
        as_json,
        lambda schedules, scope: schedules.remove(scope, name),
        "remove_schedule",
        "is removed",
        is_end=True,
    )


def document(schedule: "SyncSchedule") -> dict[str, Any]:
    """The schedule as ``--json`` prints it."""
    return {
        "corpus": str(schedule.scope),
        "connector": schedule.connector,
        "every": written(schedule.every),
        "paused": schedule.is_paused,
        "last_at": at(schedule.last_at),
        "next_at": at(schedule.next_at),
    }


def table(schedules: "Sequence[SyncSchedule]") -> Table:
    """The schedules for a person."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("corpus", "connector", "every", "last", "next"):
        shown.add_column(heading, overflow="fold")
    for each in schedules:
        following = "paused" if each.is_paused else at(each.next_at) or ""
        values = (str(each.scope), each.connector, written(each.every), at(each.last_at) or "never", following)
        shown.add_row(*map(plain, values))
    return shown


def _every(written_length: str) -> timedelta:
    every = length(written_length)
    if every is None or not SHORTEST <= every <= LONGEST:
        raise WrongUsage(
            f"--every {written_length} must be a number with s, m, h or d, of 10 seconds at least and a year at most: 15m, 6h, 1d."
        )
    return every


def _changed(
    invocation: Invocation,
    name: str,
    corpus: str | None,
    as_json: bool,
    change: "Callable[[SyncSchedules, Scope], Awaitable[bool]]",
    action: str,
    what: str,
    *,
    is_end: bool = False,
) -> None:
    async def changed(schedules: "SyncSchedules", scope: Scope) -> Scope:
        if not await change(schedules, scope):
            raise CommandFailed(
                f"Connector {name} of {scope} has no schedule: `headwater schedule set {name} --every 15m` makes one."
            )
        return scope

    scope = _told(invocation, name, corpus, changed, action=action, is_end=is_end)
    if as_json:
        invocation.output.json({"corpus": str(scope), "connector": name})
    else:
        invocation.output.line(f"The schedule of connector {name} of {scope} {what}.")


def _told(
    invocation: Invocation,
    name: str,
    corpus: str | None,
    tell: "Callable[[SyncSchedules, Scope], Awaitable[T]]",
    *,
    action: str,
    detail: Mapping[str, Any] | None = None,
    stays: bool = False,
    is_end: bool = False,
) -> T:
    """What ``tell`` returns for the connector that is named, and was then audited as ``action``.

    ``stays`` says who has to run from now on; of what is to end (``is_end``) the connector may be gone already.
    """
    from activities.store.connectors import note_deed, placed_connectors

    scope = parse_name(name, corpus)
    invocation.start_logging()
    with _opened(invocation) as (services, store):
        if is_end and scope is not None and not placed_connectors(store, scope=scope, name=name):
            return asyncio.run(_asking(services, lambda schedules: tell(schedules, scope)))
        found = find_named(store, name, scope)
        told = asyncio.run(_asking(services, lambda schedules: tell(schedules, found.scope)))
        note_deed(store, found.row, actor=ACTOR, action=action, detail=detail)
        if stays and not services.has_workers:
            invocation.output.note("Schedules run while `headwater up` does, and it does not run now.")
    return told


@contextmanager
def _opened(invocation: Invocation) -> "Iterator[tuple[Services, Store]]":
    from activities.store import Store

    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema, max_size=1) as store,
    ):
        yield services, store


async def _asking(services: Services, ask: "Callable[[SyncSchedules], Awaitable[T]]") -> T:
    from temporalio.service import RPCError

    from workers.sync_schedules import SyncSchedules

    client = await connect_temporal(services)
    try:
        return await ask(SyncSchedules(client))
    except RPCError as error:
        raise CommandFailed(
            f"Temporal at {services.temporal_address} refuses ({error.status.name}): {error.message[:300]}."
        ) from error


async def _all(schedules: "SyncSchedules", connectors: Sequence[tuple[Scope, str]]) -> "list[SyncSchedule]":
    slots = asyncio.Semaphore(AT_ONCE)

    async def find(scope: Scope, name: str) -> "SyncSchedule | None":
        async with slots:
            return await schedules.find(scope, name)

    found = await asyncio.gather(*(find(scope, name) for scope, name in connectors))
    return [each for each in found if each is not None]
