"""The queries of an evaluation, what would be right, and what a corpus gave."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headwater.evaluation import citation_coverage, cited_in, documents_of, relevant
from headwater.models import RetrievalResult
from workers.cli.errors import CommandFailed, WrongUsage
from workers.cli.judgements import read_answers, read_judgements, read_queries


@dataclass(frozen=True)
class JudgedQueries:
    """What is asked, and what would be right."""

    queries: Mapping[str, str]  # those with a relevant document
    judgements: Mapping[str, Mapping[str, float]]  # of these queries
    answers: Mapping[str, str] | None
    unjudged: int  # queries without a relevant document
    unknown: Sequence[str]  # judged queries that are not in the file of queries

    @classmethod
    def read(cls, queries_file: Path, qrels_file: Path, answers_file: Path | None) -> "JudgedQueries":
        queries, judged = read_queries(queries_file), read_judgements(qrels_file)
        judgements = {query: judged[query] for query in queries if relevant(judged.get(query, {}))}
        if not judgements:
            raise WrongUsage(f"{qrels_file} judges no query of {queries_file}: `qid` must be the `id` of a query.")
        return cls(
            {query: queries[query] for query in judgements},
            judgements,
            None if answers_file is None else read_answers(answers_file),
            len(queries) - len(judgements),
            [query for query in judged if query not in queries],
        )

    @property
    def documents(self) -> set[str]:
        return {document for judged in self.judgements.values() for document in judged}


@dataclass
class Found:
    """What the corpus gave."""

    generation: int | None = None
    rankings: dict[str, list[str]] = field(default_factory=dict)
    coverage: list[float] = field(default_factory=list)
    empty: int = 0
    cut: int = 0  # results that left passages out, for they would have been too long
    refused: dict[str, str] = field(default_factory=dict)  # queries that cannot be asked, with the reason
    unranked: dict[str, str] = field(
        default_factory=dict
    )  # queries of which a reranker was given no passage, with the reason
    missing: list[str] = field(default_factory=list)

    def add(self, query: str, result: RetrievalResult, document: Callable[[str], str], answer: str | None) -> None:
        """What came of ``query``. One that failed is no answer, and figures of the others would pass for those of all."""
        if result.check_error is not None:
            raise CommandFailed(f"Query {query} failed, so that nothing is measured: {result.check_error}")
        self.generation = result.generation
        self.rankings[query] = documents_of(result.hits, lambda hit: document(hit.source_id))
        self.empty += not result.hits
        self.cut += result.truncated
        if result.rerank_error is not None:
            self.unranked[query] = result.rerank_error
        cited = [citation.citation_id for citation in result.citations] if answer is None else cited_in(answer)
        if cited or answer is not None:
            self.coverage.append(citation_coverage(cited, (hit.provenance.citation_id for hit in result.hits)))
