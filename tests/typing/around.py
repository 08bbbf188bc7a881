"""Read by mypy and pyright, never run: what hosts put around the passages has the types that it is written with here."""

from collections.abc import Iterable, Sequence

from headwater import AsyncRetriever, Authorization, Hit, Retriever, Scope, context_provider, evidence_from_citation
from headwater.context import ContextBlock
from headwater.evidence import Evidence
from headwater.libraries import AsyncLibraries, Libraries, LibrariesResult
from headwater.prompts import Compression, Diversity, LostInTheMiddle, Parent, PostProcessor, Window
from headwater.rewriting import Glossary
from headwater.tool import ToolAnswer, retrieval_tool


class Shout:
    """A host's own step."""

    def process(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return [hit.model_copy(update={"prompt_text": hit.text.upper()}) for hit in hits]


STEPS: tuple[PostProcessor, ...] = (Diversity(), Window(), Parent(), Compression(), LostInTheMiddle(), Shout())


def own_words(query: str) -> list[str]:
    return [query.lower()]


def route(query: str, ids: Sequence[str]) -> Iterable[str]:
    return ids


def sync(
    retriever: Retriever, scope: Scope, alice: Authorization
) -> tuple[list[ContextBlock], ToolAnswer, list[Evidence]]:
    result = retriever.retrieve("q", scope=scope, authorization=alice, post_processors=STEPS, rewriter=own_words)
    retriever.retrieve("q", scope=scope, authorization=alice, post_processors="mmr", rewriter=Glossary({"A": ["b"]}))
    libraries = Libraries(retriever, {"hr": scope}, route)
    found: LibrariesResult = libraries.retrieve("q", authorization=alice, top_k=3)
    blocks = context_provider(retriever, query="q", scope=scope, authorization=alice)()
    blocks += context_provider(libraries, query=lambda messages: None, authorization=alice)([{"role": "user"}])
    answer = retrieval_tool(libraries, authorization=alice)({"query": "q"})
    return (
        blocks,
        answer,
        [evidence_from_citation(one, content_hash="x") for one in (*result.citations, *found.citations)],
    )


async def awaited(
    retriever: AsyncRetriever, scope: Scope, alice: Authorization
) -> tuple[list[ContextBlock], ToolAnswer]:
    libraries = AsyncLibraries(retriever, [("hr", scope)])
    found: LibrariesResult = await libraries.retrieve("q", authorization=alice)
    blocks = await context_provider(retriever, query=found.query, scope=scope, authorization=alice)()
    return blocks, await retrieval_tool(libraries, authorization=alice)('{"query": "q"}')
