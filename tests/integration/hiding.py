"""Sources that rest on each other, hidden as a host would ask for it, and what the library gives out afterwards."""

from activities.store import Store
from activities.store.sources.tombstones import Propagation, propagate
from headwater.contracts.deletion import Reason
from headwater.embedders.hashing import HashEmbedder
from headwater.models import Authorization
from headwater.retriever import Retriever
from tests.integration.asked import new_request, who
from tests.integration.staging_factory import EVERYONE, Corpus, Document

ALICE = who("alice")
JANITOR = who("janitor")
SERVICES = {("acme", "janitor")}


def hide(
    store: Store,
    corpus: Corpus,
    source_id: str,
    reason: Reason = "forgotten",
    *,
    by: Authorization = ALICE,
    request_no: int | None = None,
) -> Propagation:
    return propagate(
        store,
        corpus.scope,
        source_id,
        authorization=by,
        reason=reason,
        request_no=new_request(store, corpus, "PropagateDeletion") if request_no is None else request_no,
        actor="host",
        service_principals=SERVICES,
    )


def derived(source_id: str, *parents: str) -> Document:
    return Document(source_id, [f"text of {source_id}"], grants=EVERYONE, lineage=parents)


def found(database: str, corpus: Corpus, by: Authorization = ALICE) -> set[str]:
    """The sources that the library gives out."""
    with Retriever.connect(database, embedder=HashEmbedder(corpus.build.dimensions)) as retriever:
        answer = retriever.retrieve("text", scope=corpus.scope, authorization=by, top_k=32)
        return {hit.source_id for hit in answer.hits}
