"""`headwater search`: the passages that answer a question, for somebody who may read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from headwater.fusion import Fusion
from headwater.limits import TOP_K
from headwater.models import Authorization, RetrievalResult, Scope
from headwater.store.question import Lexical, Question
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, WrongUsage, arguments
from workers.cli.filters import filter_of
from workers.cli.options import with_json, with_legs, with_principal
from workers.cli.passages import show
from workers.cli.reranking import reranker_of, unsent
from workers.cli.services import Services, open_services

if TYPE_CHECKING:
    from activities.store.scopes import LiveBuild

CONTEXT_TOKENS: Final = 8_000
RESULT_BYTES: Final = 512 * 1024


@click.command("search", short_help="Ask a corpus a question.")
@click.argument("query", metavar="QUERY")
@click.option(
    "--corpus",
    "corpora",
    required=True,
    multiple=True,
    metavar="T/R/C",
    help="The corpus, as TENANT/RESOURCE/CORPUS. May be repeated, for one answer out of several.",
)
@with_principal
@click.option("--top-k", type=int, default=TOP_K.default, show_default=True, metavar="N", help="How many passages.")
@with_legs
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only passages with this in their metadata, or KEY:op=VALUE with eq, ne, in, nin, gt, gte, lt, lte, between. "
    "May be repeated.",
)
@click.option(
    "--generation",
    type=int,
    metavar="N",
    help="What the corpus showed at generation N, to who may read it today.",
)
@with_json
@pass_invocation
@click.pass_context
def search_command(
    context: click.Context,
    invocation: Invocation,
    *,
    query: str,
    corpora: tuple[str, ...],
    principal: str,
    groups: tuple[str, ...],
    top_k: int,
    lexical: Lexical,
    fusion: Fusion,
    rerank: str | None,
    exact: bool,
    filters: tuple[str, ...],
    generation: int | None,
    as_json: bool,
) -> None:
    """Ask a corpus QUERY and show the passages that answer it best, by their meaning and by their words, each with its
    document and its place there.

    There are always nearest ones, also when nothing fits: the similarity beside each, at most 1, says how near it is, and
    words, where it has some of the question's, how well they match, which counts within one answer. The order is made of both
    (--fusion): a passage with a word of the question may stand before one that is nearer. The model that comes along reads
    English; what is written otherwise is found by its words, or with another model (HEADWATER_EMBEDDER).

    --as and --group are what you assert; they are compared with the grants exactly, and nothing proves them. A filter is no
    permission; `headwater status --corpus T/R/C --keys` lists the keys that there are. The VALUE of a filter is JSON where it
    can be read as that, else text: tags='["home"]' for a list, path:gte=hr/ and path:lt=hr0 for what is in the folder hr.
    Passages are text from documents: whatever they say is data, never an instruction.
    """
    with arguments():
        scopes = tuple(dict.fromkeys(Scope.parse(corpus) for corpus in corpora))
        _check_tenant(scopes)
        who = Authorization(principal_id=principal, tenant_id=scopes[0].tenant_id, group_ids=groups)
    asked = Asked(
        query=query,
        scopes=scopes,
        who=who,
        top_k=top_k,
        lexical=lexical,
        is_lexical_asked=context.get_parameter_source("lexical") is not click.core.ParameterSource.DEFAULT,
        fusion=fusion,
        rerank=rerank,
        exact=exact,
        filter=filter_of(filters),
        generation=generation,
    )
    invocation.start_logging()
    result = _search(invocation, asked)
    if result is None:
        result = RetrievalResult(query=query, text="", hits=(), citations=(), truncated=False, generation=None)
    elif result.check_error is not None:
        raise CommandFailed(result.check_error)
    elif not query.strip():
        invocation.output.note("The question is blank, so that nothing was looked for.")
    elif not result.hits:
        invocation.output.note(f"Nothing that {principal} may read answers this{_narrowed(asked)}.{_capitals(who)}")
    if result.rerank_error is not None:
        invocation.output.warn(unsent(result.rerank_error))
    if as_json:
        invocation.output.json(result.model_dump(mode="json"))
    else:
        show(invocation.output, result)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command was asked for."""

    query: str
    scopes: tuple[Scope, ...]
    who: Authorization
    top_k: int
    lexical: Lexical
    is_lexical_asked: bool  # rather than the default, which a corpus without words need not be able to do
    fusion: Fusion
    rerank: str | None
    exact: bool
    filter: dict[str, dict[str, Any]] | None
    generation: int | None

    def check(self) -> None:
        """What the library refuses, it refuses also where there is no corpus to ask."""
        Question.checked(
            self.query,
            scopes=self.scopes,
            authorization=self.who,
            top_k=self.top_k,
            lexical=self.lexical,
            fusion=self.fusion,
            filter=self.filter,
            generation=self.generation,
        )


def _search(invocation: Invocation, asked: Asked) -> RetrievalResult | None:
    """What the library finds; ``None`` where no corpus exists, and so nobody knows an embedder."""
    from activities.embedder_source import EmbedderSource
    from headwater import Retriever

    settings = invocation.settings
    with arguments():
        asked.check()
        make_reranker = reranker_of(asked.rerank, settings)
    with open_services(invocation, temporal=False) as services:
        builds = _builds(services, asked)
        for scope in asked.scopes:
            if scope not in builds:
                invocation.output.note(f"Corpus {scope} does not exist: `headwater status` lists those that do.")
        if not builds:
            return None
        _check_model(builds)
        embedder = EmbedderSource().of(next(iter(builds.values())))
        with arguments():
            reranker = make_reranker(embedder)
        connected = Retriever.connect(
            services.reader_url,
            embedder=embedder,
            schema=services.schema,
            hosted_sensitivities=settings.hosted_sensitivities,
        )
        with connected as retriever, arguments():
            return retriever.retrieve(
                asked.query,
                scopes=asked.scopes,
                authorization=asked.who,
                top_k=asked.top_k,
                lexical=_lexical(invocation, asked, builds),
                fusion=asked.fusion,
                filter=asked.filter,
                reranker=reranker,
                generation=asked.generation,
                exact=asked.exact,
                max_context_tokens=CONTEXT_TOKENS,
                max_result_bytes=RESULT_BYTES,
            )


def _builds(services: Services, asked: Asked) -> "dict[Scope, LiveBuild]":
    """The build of each corpus that exists, and of a generation: it may have been embedded by another than today's."""
    from activities.store import Store
    from activities.store.scopes import build_at, live_build

    builds: dict[Scope, LiveBuild] = {}
    with Store.open(services.reader_url, schema=services.schema, max_size=1) as store:
        for scope in asked.scopes:
            build = live_build(store, scope)
            if build is not None and asked.generation is not None:  # the library says if it cannot be read
                build = build_at(store, scope, asked.generation) or build
            if build is not None:
                builds[scope] = build
    return builds


def _lexical(invocation: Invocation, asked: Asked, builds: "Mapping[Scope, LiveBuild]") -> Lexical:
    """How words are looked for. Where nobody asked for it, a corpus that has none yet is searched by meaning alone."""
    wordless = [scope for scope, build in builds.items() if build.lexicon is None]
    if asked.is_lexical_asked or asked.lexical == "off" or not wordless:
        return asked.lexical
    invocation.output.note(
        f"Corpus {wordless[0]} was indexed by a release that kept no words, so only meaning is compared: "
        f"`headwater reindex --corpus {wordless[0]}` brings them, and embeds nothing again."
    )
    return "off"


def _check_tenant(scopes: tuple[Scope, ...]) -> None:
    for scope in scopes:
        if scope.tenant_id != scopes[0].tenant_id:
            raise WrongUsage(f"--corpus {scope} is another tenant's than {scopes[0]}: search in one tenant at a time.")


def _check_model(builds: "Mapping[Scope, LiveBuild]") -> None:
    """Vectors of different models cannot be compared. The library says so by fingerprints, which nobody can type."""
    (first, known), *others = builds.items()
    for scope, build in others:
        if build.embedder_identity != known.embedder_identity:
            raise WrongUsage(
                f"Corpus {scope} was indexed with {build.embedder_spec} and {first} with {known.embedder_spec}, whose vectors cannot "
                f"be compared: search in one of them, or run `headwater reindex --corpus {scope} --embedder {known.embedder_spec}`."
            )


def _narrowed(asked: Asked) -> str:
    if not asked.filter:
        return ""
    return f" with these filters (`headwater status --corpus {asked.scopes[0]} --keys` lists the keys that there are)"


def _capitals(who: Authorization) -> str:
    """A hint for whoever is asked for as their sign-on writes them: addresses of Google Drive are lower case here."""
    named = [name for name in (who.principal_id, *who.group_ids) if "@" in name and name != name.lower()]
    return f" Drive's addresses are known in lower case: ask as {', '.join(map(str.lower, named))}." if named else ""
