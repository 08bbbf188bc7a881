"""`headwater reindex`: a corpus is built anew in another space or language, beside its readers, and then shown."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final

import click

from headwater.contracts import ReindexCorpusInput, ReindexCorpusResult, ReindexProgress
from headwater.models import Scope
from workers.cli.asking import ask
from workers.cli.console import Output, printable
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import arguments
from workers.cli.named_source import require_corpus
from workers.cli.options import with_corpus, with_json
from workers.cli.question import Question
from workers.cli.services import open_services
from workers.options import ROLES

if TYPE_CHECKING:
    from temporalio.client import WorkflowHandle

    from activities.store.scopes import LiveBuild

LOOK_EVERY_S: Final = 0.5
LINE_EVERY_S: Final = 5.0


@click.command("reindex", short_help="Build a corpus anew with another embedder, chunker or language.")
@with_corpus
@click.option(
    "--embedder",
    metavar="SPEC",
    help="onnx:minilm, onnx:/path/to/folder or hash:384; by default the corpus's own if --chunker or --language is given, else the workers' HEADWATER_EMBEDDER.",
)
@click.option(
    "--chunker",
    metavar="NAME",
    help="chars:SIZE or chars:SIZE/OVERLAP, in characters; by default the corpus's own if --embedder or --language is given, else the workers' HEADWATER_CHUNK_SIZE and _OVERLAP.",
)
@click.option(
    "--language",
    metavar="NAME",
    help="Whose words are stemmed: english, german, …, or none; by default the corpus's own, as `headwater status` shows it.",
)
@with_json
@pass_invocation
def reindex_command(
    invocation: Invocation,
    *,
    corpus: str,
    embedder: str | None,
    chunker: str | None,
    language: str | None,
    as_json: bool,
) -> None:
    """Build the corpus anew with another embedder, chunker or language, from its stored texts, and show that when it is level.

    What the corpus has is what readers see of it: after a rollback, the build that was rolled back to. Passages whose text
    stays the same are not embedded again, unless the embedder is another one.

    Readers stay where they are meanwhile, and what is published meanwhile reaches both. The former build stays for a while:
    going back to a generation before this one shows it again. Ctrl-C stops between two batches; run the command again
    to go on from there.
    """
    from activities.store import Store
    from activities.store.scopes import build_of, live_build

    with arguments():
        scope = Scope.parse(corpus)
        wanted = ReindexCorpusInput(
            scope=scope, embedder=embedder, chunker=chunker, language=language, requested_by="headwater reindex"
        )
    invocation.start_logging()
    with (
        open_services(invocation, temporal=True) as services,
        Store.open(services.database_url, schema=services.schema) as store,
    ):
        require_corpus(store, scope)
        before = live_build(store, scope)
        question = Question(
            "ReindexCorpus", wanted, ReindexCorpusResult, what="re-index", roles=ROLES, waits_its_turn=False
        )
        beside = None if as_json else watching(invocation.output)
        result = ask(invocation, services, store, question, beside=beside)
        after = build_of(store, result.build)
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    elif before is not None and before.build_id == result.build:
        invocation.output.line(
            f"{scope} is as asked for already, {_made_with(after)}: build {result.build}, {result.sources:,} documents, "
            f"{result.chunks:,} chunks."
        )
    else:
        invocation.output.line(
            f"{scope} is shown from build {result.build} since generation {result.generation}, {_made_with(after)}: "
            f"{result.sources:,} documents, {result.chunks:,} chunks; {result.embedded_chunks:,} chunks embedded, "
            f"{result.reused_chunks:,} reused, {result.failed:,} documents failed."
        )


def _made_with(build: "LiveBuild") -> str:
    words = {None: "without words", "none": "words as they stand"}.get(build.language, f"words in {build.language}")
    return f"embedded with {build.embedder_spec}, {words}"


def watching(output: Output) -> "Callable[[WorkflowHandle[Any, Any]], Awaitable[None]]":
    """Shows where the re-index is until cancelled: in place on a terminal, else a line now and then."""

    async def watch(run: "WorkflowHandle[Any, Any]") -> None:
        from temporalio.client import WorkflowQueryFailedError
        from temporalio.service import RPCError

        shown, silent_until = "", 0.0
        with output.err.status("starting") if output.is_interactive else nullcontext() as status:
            while True:
                await asyncio.sleep(LOOK_EVERY_S)
                # It may not have begun, or Temporal may be away for a moment.
                with suppress(RPCError, WorkflowQueryFailedError):
                    line = sentence(await run.query("progress", result_type=ReindexProgress))
                    if status is not None:
                        status.update(printable(line))
                    elif line != shown and time.monotonic() >= silent_until:
                        output.note(line)
                        shown, silent_until = line, time.monotonic() + LINE_EVERY_S

    return watch


def sentence(progress: ReindexProgress) -> str:
    """Where the re-index is, for a person."""
    return (
        f"{progress.phase}: {progress.sources:,} documents, {progress.embedded_chunks:,} chunks embedded, "
        f"{progress.reused_chunks:,} reused"
    )
