"""For the tests of hosts: an embedder without a model, a connector's memory without a store, and the suites that every implementation of a protocol passes."""

from headwater._connector_suite import CorpusUnderTest, check_connector
from headwater._embedder_suite import check_embedder
from headwater._memory import MemoryInMemory
from headwater._memory_suite import check_memory
from headwater.embedders.hashing import HashEmbedder

__all__ = ["CorpusUnderTest", "HashEmbedder", "MemoryInMemory", "check_connector", "check_embedder", "check_memory"]
