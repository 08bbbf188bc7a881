"""Names of the task queues: what a worker's role polls."""

from typing import Final

from headwater.workflow_ids import TASK_QUEUE

CONTROL: Final = TASK_QUEUE  # workflows
IO: Final = "headwater-io"  # listing, fetching, parsing
EMBED: Final = "headwater-embed"  # the embedder; slots = cores
DB: Final = "headwater-db"  # short transactions
TICKS: Final = "headwater-ticks"  # what schedules start: only workers that stay poll it
