"""Names of the task queues: what a worker's role polls."""

from typing import Final

CONTROL: Final = "headwater-control"  # workflows
IO: Final = "headwater-io"  # listing, fetching, parsing
EMBED: Final = "headwater-embed"  # the embedder; slots = cores
DB: Final = "headwater-db"  # short transactions
