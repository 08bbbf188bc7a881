"""`headwater evaluate`: how well a corpus answers queries whose right documents are known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from headwater.errors import LimitError, RerankLimitError
from headwater.evaluation import (
    Evaluation,
    evaluate_retrieval,
    mean,
)
from headwater.limits import CANDIDATES
from headwater.limits import TOP_K as PASSAGES
from headwater.models import Authorization, Scope
from workers.cli.console import Output
from workers.cli.context import Invocation, pass_invocation
from workers.cli.errors import CommandFailed, WrongUsage, arguments
from workers.cli.judged_documents import JudgedDocuments
from workers.cli.judged_queries import Found, JudgedQueries
from workers.cli.options import with_corpus, with_json, with_legs, with_principal
from workers.cli.reranking import reranker_of, unsent
from workers.cli.search import CONTEXT_TOKENS, RESULT_BYTES
from workers.cli.services import open_services

if TYPE_CHECKING:
    from activities.store import Store

TOP_K: Final = PASSAGES.cap  # a document may have many passages among the best
AT: Final = 10
SOURCES_A_PAGE: Final = 1_000
REFUSED_FIRST: Final = 5  # if these cannot be asked, none can
NAMED: Final = 3  # ids in a sentence

FILE: Final = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.command("evaluate", short_help="Measure how well a corpus answers queries with known answers.")
@with_corpus
@with_principal
@click.option(
    "--queries", "queries_file", required=True, type=FILE, metavar="FILE", help='Queries, one {"id", "text"} a line.'
)
@click.option(
    "--qrels",
    "qrels_file",
    required=True,
    type=FILE,
    metavar="FILE",
    help='Judgements, one {"qid", "docid", "rel"} a line.',
)
@click.option(
    "--answers",
    "answers_file",
    type=FILE,
    metavar="FILE",
    help='Answers that a model gave, one {"qid", "text"} a line: their citations are held against what is found.',
)
@click.option(
    "--top-k",
    type=click.IntRange(1, TOP_K),
    default=TOP_K,
    show_default=True,
    metavar="N",
    help="How many passages each query asks for.",
)
@click.option(
    "--candidates",
    type=click.IntRange(1, CANDIDATES.cap),
    metavar="N",
    help="How many passages are found before they are put in order.  [default: those asked for]",
)
@click.option(
    "--at",
    "cuts",
    type=click.IntRange(1, TOP_K),
    multiple=True,
    default=(AT,),
    show_default=True,
    metavar="K",
    help="Measure the first K documents. May be repeated.",
)
@with_legs
@with_json
@pass_invocation
def evaluate_command(
    invocation: Invocation,
    *,
    corpus: str,
    principal: str,
    groups: tuple[str, ...],
    queries_file: Path,
    qrels_file: Path,
    answers_file: Path | None,
    top_k: int,
    candidates: int | None,
    cuts: tuple[int, ...],
    lexical: str,
    fusion: str,
    rerank: str | None,
    exact: bool,
    as_json: bool,
) -> None:
    """Ask a corpus every judged query, as PRINCIPAL, and print precision, recall, nDCG and MRR: means over the queries that
    have a relevant document.

    A document stands where its best passage does. `docid` is a source id, a path in a synced folder, with or without its
    ending, or the id of a file in Drive. `rel` above 0 is relevant, and is what the document gains in nDCG. Documents that are judged
    and not there, or not for PRINCIPAL to read, count as not found. The former are named, the latter are not: so whoever runs
    this can tell which of a list of ids a corpus holds.

    Citation coverage is the share of cited passages that were found for the query: of the citations in --answers, or else of
    those that the library itself gives.
    """
    if candidates is not None and candidates < top_k:
        raise WrongUsage(f"--candidates must be at least --top-k, which is {top_k}.")
    with arguments():
        scope = Scope.parse(corpus)
        who = Authorization(principal_id=principal, tenant_id=scope.tenant_id, group_ids=groups)
    test = JudgedQueries.read(queries_file, qrels_file, answers_file)
    invocation.start_logging()
    asked = {"top_k": top_k, "candidates": candidates, "lexical": lexical, "fusion": fusion, "exact": exact}
    found = _ask(invocation, test, scope, who, asked, rerank=rerank, quiet=as_json)
    report = _report(test, found, scope=scope, who=who, asked={**asked, "rerank": rerank}, cuts=sorted(set(cuts)))
    _notes(invocation.output, test, found, scope, who)
    if as_json:
        invocation.output.json(report)
    else:
        show(invocation.output, report)


def _ask(
    invocation: Invocation,
    test: JudgedQueries,
    scope: Scope,
    who: Authorization,
    asked: Mapping[str, Any],
    *,
    rerank: str | None,
    quiet: bool,
) -> Found:
    from activities.embedder_source import EmbedderSource
    from activities.store import Store
    from activities.store.scopes import live_build
    from headwater import Retriever

    documents, found = JudgedDocuments(test.documents), Found()
    with arguments():
        make_reranker = reranker_of(rerank, invocation.settings)
    with open_services(invocation, temporal=False) as services:
        with Store.open(services.database_url, schema=services.schema, max_size=1) as store:
            build = live_build(store, scope)
            if build is None:
                raise CommandFailed(f"Corpus {scope} does not exist: `headwater status` lists those that do.")
            found.missing = documents.missing(_sources(store, scope))
        embedder = EmbedderSource().of(build)
        with arguments():
            reranker = make_reranker(embedder)
        connected = Retriever.connect(
            services.reader_url,
            embedder=embedder,
            schema=services.schema,
            hosted_sensitivities=invocation.settings.hosted_sensitivities,
        )
        progress = _progress(invocation.output, len(test.queries), quiet=quiet)
        with connected as retriever, progress as advance, arguments():
            for query, text in test.queries.items():
                try:
                    result = retriever.retrieve(
                        text,
                        scope=scope,
                        authorization=who,
                        reranker=reranker,
                        max_context_tokens=CONTEXT_TOKENS,
                        max_result_bytes=RESULT_BYTES,
                        **asked,
                    )
                except RerankLimitError:  # it is away or too slow: the figures would be of that, and not of the corpus
                    raise
                except LimitError as error:
                    found.refused[query] = str(error)
                    if not found.rankings and len(found.refused) >= min(REFUSED_FIRST, len(test.queries)):
                        raise CommandFailed(f"No query can be asked: {error}") from error
                else:
                    answer = None if test.answers is None else test.answers.get(query, "")
                    found.add(query, result, documents.of, answer)
                advance()
    return found


def _sources(store: "Store", scope: Scope) -> Iterator[str]:
    """The ids of the sources that hold passages."""
    from activities.store import status

    cursor: str | None = None
    while True:
        page = status.sources(store, scope, limit=SOURCES_A_PAGE, cursor=cursor)
        yield from (source["source_id"] for source in page["sources"] if source["chunks"])
        cursor = page["next_cursor"]
        if cursor is None:
            return


@contextmanager
def _progress(output: Output, total: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    if quiet or not output.is_interactive:
        yield lambda: None
        return
    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=output.err, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def _report(
    test: JudgedQueries,
    found: Found,
    *,
    scope: Scope,
    who: Authorization,
    asked: Mapping[str, Any],
    cuts: Sequence[int],
) -> dict[str, Any]:
    """The document of ``--json``."""
    evaluations = [evaluate_retrieval(found.rankings, test.judgements, k=k) for k in cuts]
    return {
        "corpus": str(scope),
        "principal": who.principal_id,
        "generation": found.generation,
        **asked,
        "queries": len(test.queries),
        "metrics": [_metrics(evaluation) for evaluation in evaluations],
        "mrr": evaluations[0].mean.reciprocal_rank,
        "citation_coverage": mean(found.coverage),
        "empty": found.empty,
        "truncated": found.cut,
        "unranked": len(found.unranked),
        "refused": [{"qid": query, "reason": reason} for query, reason in found.refused.items()],
        "unjudged_queries": test.unjudged,
        "unknown_queries": len(test.unknown),
        "unknown_documents": len(found.missing),
    }


def _metrics(evaluation: Evaluation) -> dict[str, float]:
    figures = evaluation.mean
    return {"k": evaluation.k, "precision": figures.precision, "recall": figures.recall, "ndcg": figures.ndcg}


def _notes(output: Output, test: JudgedQueries, found: Found, scope: Scope, who: Authorization) -> None:
    """What makes the figures mean less than they seem to."""
    if found.empty:
        forgotten = f": is a --group missing, or may {who.principal_id} read nothing there?"
        output.warn(
            f"{found.empty:,} of {len(test.queries):,} queries found nothing that {who.principal_id} may read"
            f"{forgotten if found.empty == len(found.rankings) else '.'}"
        )
    if found.missing:
        output.warn(
            f"{len(found.missing):,} of {len(test.documents):,} judged documents are not in corpus {scope}, and count as not "
            f"found: {_some(found.missing)}."
        )
    if found.unranked:
        query, reason = next(iter(found.unranked.items()))
        output.warn(
            f"{len(found.unranked):,} of {len(test.queries):,} queries were not put in order, as {query}: {unsent(reason)}"
        )
    if found.refused:
        query, reason = next(iter(found.refused.items()))
        output.warn(f"{len(found.refused):,} queries could not be asked, and count as not answered: {query}: {reason}")
    if test.unknown:
        output.warn(
            f"{len(test.unknown):,} judged queries are not in the file of queries, and are left out: {_some(test.unknown)}."
        )
    if test.unjudged:
        output.note(f"{test.unjudged:,} queries have no relevant document, and are left out.")
    if test.answers is not None and (without := [query for query in test.queries if query not in test.answers]):
        output.note(f"{len(without):,} queries have no answer, which cites nothing: {_some(without)}.")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NAMED]) + (", …" if len(ids) > NAMED else "")


def show(output: Output, report: Mapping[str, Any]) -> None:
    """The document of ``--json`` for a person."""
    output.line(f"{report['queries']:,} queries, {report['top_k']} passages each, generation {report['generation']}")
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in ("first", "precision", "recall", "nDCG"):
        table.add_column(column, justify="right")
    for row in report["metrics"]:
        table.add_row(str(row["k"]), *(f"{row[figure]:.3f}" for figure in ("precision", "recall", "ndcg")))
    output.out.print(table)
    output.line(f"MRR {report['mrr']:.3f}, citation coverage {report['citation_coverage']:.3f}")
