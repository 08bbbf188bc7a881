"""Timeouts and retries of every activity: one table, so that they can be reviewed together.

An outage is waited out without end. What waiting cannot help is named in `PERMANENT`, by the type an activity raises.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from temporalio.common import RetryPolicy

from workflows.queues import DB, EMBED, IO

PERMANENT: Final = (
    "AccessError",
    "AlreadyRunning",
    "BuildConflict",
    "CheckpointConflict",
    "EmbedderMismatch",
    "HeadwaterError",
    "InvalidCursor",
    "InvalidInput",
    "LimitError",
    "MaskError",
    "MoveRefused",
    "PageConflict",
    "PermanentError",
    "RerankError",
    "RerankLimitError",
    "ScopeError",
    "SharedDriveGone",
    "SlabRefused",
    "SourceUnavailable",
    "StaleFence",
    "StoreError",
    "ValidationError",
)


@dataclass(frozen=True, slots=True)
class Policy:
    task_queue: str
    start_to_close: timedelta
    heartbeat: timedelta | None
    retry: RetryPolicy


def _policy(queue: str, *, seconds: int, heartbeat_s: int | None, first_s: float, longest_s: float) -> Policy:
    return Policy(
        task_queue=queue,
        start_to_close=timedelta(seconds=seconds),
        heartbeat=None if heartbeat_s is None else timedelta(seconds=heartbeat_s),
        retry=RetryPolicy(
            initial_interval=timedelta(seconds=first_s),
            maximum_interval=timedelta(seconds=longest_s),
            maximum_attempts=0,
            non_retryable_error_types=PERMANENT,
        ),
    )


POLICIES: Final = {
    "begin_request": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.5, longest_s=5),
    "end_request": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.2, longest_s=10),
    "begin_pass": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.2, longest_s=10),
    "list_page": _policy(IO, seconds=240, heartbeat_s=20, first_s=2, longest_s=120),
    "prepare_page": _policy(IO, seconds=900, heartbeat_s=20, first_s=2, longest_s=120),
    "embed_batch": _policy(EMBED, seconds=120, heartbeat_s=10, first_s=1, longest_s=60),
    "move_page": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "note_failed_move": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.2, longest_s=10),
    "publish_page": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "accept_ingest": _policy(IO, seconds=120, heartbeat_s=20, first_s=0.2, longest_s=10),
    "end_ingest": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "set_access": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "delete_sources": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "propagate_deletion": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "remove_rag": _policy(DB, seconds=600, heartbeat_s=20, first_s=0.2, longest_s=10),
    "note_layer": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.2, longest_s=10),
    "begin_reindex": _policy(IO, seconds=600, heartbeat_s=20, first_s=1, longest_s=60),
    "stage_green": _policy(IO, seconds=900, heartbeat_s=20, first_s=1, longest_s=60),
    "restage_page": _policy(IO, seconds=900, heartbeat_s=20, first_s=1, longest_s=60),
    "index_slab": _policy(IO, seconds=21_600, heartbeat_s=20, first_s=1, longest_s=30),
    "list_green": _policy(DB, seconds=300, heartbeat_s=20, first_s=0.2, longest_s=10),
    "publish_green": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "flip_build": _policy(DB, seconds=120, heartbeat_s=20, first_s=0.2, longest_s=10),
    "abort_reindex": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "retire_build": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "set_generation": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "collect_page": _policy(DB, seconds=120, heartbeat_s=20, first_s=1, longest_s=60),
    "list_scopes": _policy(DB, seconds=30, heartbeat_s=None, first_s=1, longest_s=60),
    "list_outgrown": _policy(DB, seconds=300, heartbeat_s=20, first_s=1, longest_s=60),
    "begin_removal": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.2, longest_s=10),
    "sweep_page": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "keep_sources": _policy(DB, seconds=30, heartbeat_s=None, first_s=0.2, longest_s=10),
    "drop_connector": _policy(DB, seconds=600, heartbeat_s=20, first_s=0.2, longest_s=10),
    "remove_schedule": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.2, longest_s=10),
    "try_connector": _policy(IO, seconds=120, heartbeat_s=20, first_s=1, longest_s=10),
    "advance_checkpoint": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.2, longest_s=10),
    "end_pass": _policy(DB, seconds=15, heartbeat_s=None, first_s=0.2, longest_s=10),
}

# Of a host's deletion handlers, which have queues of their own: they are tried until they succeed.
HANDLER_TIMEOUT: Final = timedelta(minutes=10)
HANDLER_RETRY: Final = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(minutes=5),
    maximum_attempts=0,
    non_retryable_error_types=PERMANENT,
)
