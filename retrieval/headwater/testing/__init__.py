"""For the tests of hosts: an embedder and a reranker without a model, a connector's memory without a store, and the suites that every implementation of a protocol passes."""

from headwater.embedders.hashing import HashEmbedder
from headwater.rerankers.fake import FakeReranker
from headwater.testing.connector_suite import CorpusUnderTest, check_connector
from headwater.testing.embedder_suite import check_embedder
from headwater.testing.memory import MemoryInMemory
from headwater.testing.memory_suite import check_memory
from headwater.testing.reranker_suite import check_reranker

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
