"""For the tests of hosts: an embedder and a reranker without a model, a connector's memory without a store, and the suites that every implementation of a protocol passes."""

from headwater._connector_suite import CorpusUnderTest, check_connector
from headwater._embedder_suite import check_embedder
from headwater._memory import MemoryInMemory
from headwater._memory_suite import check_memory
from headwater._reranker_suite import check_reranker
from headwater.embedders.hashing import HashEmbedder
from headwater.rerankers.fake import FakeReranker

__all__ = [
    "CorpusUnderTest",
    "FakeReranker",
    "HashEmbedder",
    "MemoryInMemory",
    "check_connector",
    "check_embedder",
    "check_memory",
    "check_reranker",
]
