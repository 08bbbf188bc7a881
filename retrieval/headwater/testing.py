"""For the tests of hosts: an embedder without a model, and the suites that every implementation of a protocol passes."""

from headwater._connector_suite import CorpusUnderTest, check_connector
from headwater._embedder_suite import check_embedder
from headwater.embedders.hashing import HashEmbedder

__all__ = ["CorpusUnderTest", "HashEmbedder", "check_connector", "check_embedder"]
