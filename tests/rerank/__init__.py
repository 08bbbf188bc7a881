"""A reranker over HTTP that answers as it is told, in each format and with each fault. Tests only."""
