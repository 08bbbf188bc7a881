"""`headwater doctor`: looks at everything a command needs, and says what to do about each fault."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click
from rich.text import Text

from headwater.errors import HeadwaterError
from workers.cli import checks
from workers.cli.checks import Check, Status, guarded
from workers.cli.console import Output, printable
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import EXIT_FAILED, WrongUsage, sentence_of
from workers.cli.services import Services, open_services
from workers.settings import SettingsError

MARKS: Final[dict[Status, tuple[str, str]]] = {
    "ok": ("ok     ", "green"),
    "warning": ("warning", "yellow"),
    "fault": ("FAULT  ", "bold red"),
}


@click.command("doctor", short_help="Check everything and say what to do about each fault.")
@click.option(
    "--recall", "corpus", metavar="T/R/C", help="Instead, see how much of the nearest a corpus's search finds."
)
@click.option(
    "--as", "principal", metavar="PRINCIPAL", help="With --recall: who asks (else some of those with grants)."
)
@click.option(
    "--group", "groups", multiple=True, metavar="GROUP", help="With --as: a group of whoever asks. May be repeated."
)
@click.option(
    "--queries",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --recall: the questions, one a line, or JSON lines with a text (else pieces of stored passages).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_invocation
def doctor_command(
    invocation: Invocation,
    *,
    corpus: str | None,
    principal: str | None,
    groups: tuple[str, ...],
    queries: Path | None,
    as_json: bool,
) -> int:
    """Check everything a command needs, and say what to do about each fault.

    The embedded services are started for it, as for any command. Ends with 1 if there is a fault; warnings do not count.

    With --recall, a corpus is asked the same questions as usual and exactly: a large corpus is searched through an index,
    which may miss some of the nearest passages. 0.99 of the nearest ten is good; below 0.9 is a fault, and so is a reader for
    whom nothing can be measured, for nothing there is granted to them.
    """
    if corpus is None and (principal or groups or queries):
        raise WrongUsage("--as, --group and --queries belong to --recall: name the corpus with it.")
    if corpus is not None:
        return _recall(invocation, corpus, principal, groups, queries, as_json=as_json)
    found: list[Check] = []
    for check in _all(invocation):
        found.append(check)
        if not as_json:
            _show(invocation.output, check)
    is_well = all(check.status != "fault" for check in found)
    if as_json:
        invocation.output.json({"ok": is_well, "checks": [asdict(check) for check in found]})
    return 0 if is_well else EXIT_FAILED


def _recall(
    invocation: Invocation,
    corpus: str,
    principal: str | None,
    groups: tuple[str, ...],
    queries: Path | None,
    *,
    as_json: bool,
) -> int:
    from workers.cli.recall import Measured, measured

    invocation.start_logging()
    found: list[Measured] = []
    for each in measured(invocation, corpus, principal=principal, groups=groups, questions=queries):
        found.append(each)
        if not as_json:
            _show(invocation.output, each.as_check())
    if not found:
        invocation.output.note("Nobody who was asked for may read anything there: nothing was measured.")
    is_well = bool(found) and all(each.status != "fault" for each in found)
    if as_json:
        invocation.output.json({"ok": is_well, "corpus": corpus, "readers": [each.as_json() for each in found]})
    return 0 if is_well else EXIT_FAILED


def _all(invocation: Invocation) -> Iterator[Check]:
    yield checks.python()
    yield checks.packages()
    try:
        settings = invocation.settings
    except SettingsError as error:
        yield Check("settings", "fault", str(error), "Correct the variable; the other checks need it.")
        return
    yield checks.settings_found(settings)
    yield checks.variables()
    if not settings.uses_configured_services:
        here = "Set HEADWATER_HOME to another folder."
        yield guarded("home", lambda: checks.home(settings.home), advice=here)
        yield guarded("disk", lambda: checks.disk(settings.home), advice=here)
        yield guarded("ports", checks.ports, advice="See what limits sockets on this machine.")
        again = "Install the package again, or use configured services."
        yield guarded("postgres program", checks.postgres_program, advice=again)
        yield guarded("temporal program", checks.temporal_program, advice=again)
    yield guarded(
        "embedder", lambda: checks.embedder(settings), advice="Set HEADWATER_EMBEDDER to one that is installed."
    )
    yield from _services(invocation)


def _services(invocation: Invocation) -> Iterator[Check]:
    advice = (
        "Check HEADWATER_DATABASE_URL and TEMPORAL_ADDRESS."
        if invocation.settings.uses_configured_services
        else "Do what the sentence says, or look into the logs under HEADWATER_HOME."
    )
    try:
        with open_services(invocation, temporal=True, must_be_migrated=False) as services:
            yield from _look("postgres", checks.database, services, advice)
            yield from _look("temporal", checks.temporal, services, advice)
    except (HeadwaterError, OSError) as error:
        yield Check("services", "fault", sentence_of(error), advice)


def _look(name: str, look: Callable[[Services], Iterator[Check]], services: Services, advice: str) -> Iterator[Check]:
    """The checks of one service; what keeps them from being made is a fault, and the other service is still looked at."""
    try:
        yield from look(services)
    except (HeadwaterError, OSError) as error:
        yield Check(name, "fault", sentence_of(error), advice)


def _show(output: Output, check: Check) -> None:
    mark, style = MARKS[check.status]
    output.out.print(Text.assemble((mark, style), f"  {check.name}: {printable(check.found)}"), soft_wrap=True)
    if check.advice:
        output.out.print(Text(f"         {check.advice}", "bold"), soft_wrap=True)
