"""`headwater search`: the passages that answer a question, for somebody who may read them."""

from typing import Final

import click
from rich.text import Text

from headwater.models import Authorization, Hit, RetrievalResult, Scope
from workers.cli.console import Output, one_line, printable
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import arguments
from workers.cli.services import open_services

CONTEXT_TOKENS: Final = 8_000
RESULT_BYTES: Final = 512 * 1024
INDENT: Final = "   "
HEADING_MAX: Final = 200  # characters of a title; a document may have any


@click.command("search", short_help="Ask a corpus a question.")
@click.argument("query", metavar="QUERY")
@click.option("--corpus", required=True, metavar="T/R/C", help="The corpus, as TENANT/RESOURCE/CORPUS.")
@click.option(
    "--as", "principal", required=True, metavar="PRINCIPAL", help="Who asks; only what they may read is found."
)
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group of whoever asks. May be repeated.")
@click.option("--top-k", type=int, default=5, show_default=True, metavar="N", help="How many passages.")
@click.option(
    "--generation",
    type=int,
    metavar="N",
    help="What the corpus showed at generation N, to who may read it today.",
)
@click.option("--exact", is_flag=True, help="Compare every passage, also of a large corpus, whose index may miss some.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_invocation
def search_command(
    invocation: Invocation,
    *,
    query: str,
    corpus: str,
    principal: str,
    groups: tuple[str, ...],
    top_k: int,
    generation: int | None,
    exact: bool,
    as_json: bool,
) -> None:
    """Ask a corpus QUERY and show the passages nearest to it in meaning, each with its document and its place there.

    There are always nearest ones, also when nothing fits: the similarity beside each, at most 1, says how near it is.

    --as and --group are what you assert; they are compared with the grants exactly, and nothing proves them. Passages
    are text from documents: whatever they say is data, never an instruction.
    """
    with arguments():
        scope = Scope.parse(corpus)
        who = Authorization(principal_id=principal, tenant_id=scope.tenant_id, group_ids=groups)
    invocation.start_logging()
    result = _search(invocation, query, scope, who, top_k=top_k, generation=generation, exact=exact)
    if result is None:
        invocation.output.note(f"Corpus {scope} does not exist: `headwater status` lists those that do.")
        result = RetrievalResult(query=query, text="", hits=(), citations=(), truncated=False, generation=None)
    elif not result.hits:
        invocation.output.note(f"Nothing that {principal} may read answers this.{_capitals(who)}")
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    else:
        show(invocation.output, result)


def _search(
    invocation: Invocation,
    query: str,
    scope: Scope,
    who: Authorization,
    *,
    top_k: int,
    generation: int | None,
    exact: bool,
) -> RetrievalResult | None:
    """What the library finds; ``None`` for an unknown corpus, whose embedder nobody knows."""
    from activities.embedder_source import EmbedderSource
    from activities.store import Store
    from activities.store.scopes import build_at, live_build
    from headwater import Retriever

    with open_services(invocation, temporal=False) as services:
        with Store.open(services.reader_url, schema=services.schema, max_size=1) as store:
            build = live_build(store, scope)
            if build is None:
                return None
            if generation is not None:  # which may have been embedded by another; the library says if it cannot be read
                build = build_at(store, scope, generation) or build
        embedder = EmbedderSource().of(build)
        connected = Retriever.connect(services.reader_url, embedder=embedder, schema=services.schema)
        with connected as retriever, arguments():
            return retriever.retrieve(
                query,
                scope=scope,
                authorization=who,
                top_k=top_k,
                generation=generation,
                exact=exact,
                max_context_tokens=CONTEXT_TOKENS,
                max_result_bytes=RESULT_BYTES,
            )


def _capitals(who: Authorization) -> str:
    """A hint for whoever is asked for as their sign-on writes them: addresses of Google Drive are lower case here."""
    named = [name for name in (who.principal_id, *who.group_ids) if "@" in name and name != name.lower()]
    return f" Drive's addresses are known in lower case: ask as {', '.join(map(str.lower, named))}." if named else ""


def show(output: Output, result: RetrievalResult) -> None:
    """The passages for a person, best first."""
    for hit in result.hits:
        output.out.print(_heading(hit), soft_wrap=True)
        output.out.print(Text(f"{INDENT}[{printable(hit.provenance.citation_id)}]", "dim"), soft_wrap=True)
        for line in printable(hit.text).splitlines():
            for part in _folded(output, line):
                output.out.print(Text(INDENT) + part, soft_wrap=True)
        output.out.print()
    if result.truncated:
        output.note("Some passages were left out: the answer would have been too long.")


def _heading(hit: Hit) -> Text:
    title, place = one_line(hit.title or hit.source_id), one_line(hit.locator or "")
    # Most documents begin with their title as a heading: the place then says it already.
    names_itself = place == title or place.startswith(f"{title} › ")
    return Text.assemble(
        (f"{hit.retrieval_rank}. ", "bold"),
        (_short(title), "bold"),
        (_short(place.removeprefix(title) if names_itself else f"  {place}" if place else ""), "cyan"),
        (f"  similarity {hit.score:.3f}", "dim"),
    )


def _short(text: str) -> str:
    return text if len(text) <= HEADING_MAX else f"{text[: HEADING_MAX - 1]}…"


def _folded(output: Output, line: str) -> list[Text]:
    """``line`` in parts that fit beside the indentation; a pipe gets it whole."""
    whole = Text(line)
    return list(whole.wrap(output.out, output.out.width - len(INDENT))) if output.out.is_terminal else [whole]
