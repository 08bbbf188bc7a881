"""What varies between deployments of the workers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from activities.contracts.deletion import Handler
from headwater.lexical import DEFAULT_LANGUAGE
from workers.cores import usable_cores

ROLES: Final = ("control", "io", "embed", "db")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What varies between deployments."""

    max_document_bytes: int
    embedder: str = "hash:384"  # of new corpora and re-indexes
    chunk_size: int = 1000
    chunk_overlap: int = 100
    language: str = DEFAULT_LANGUAGE  # that words are stemmed in
    tenants: Collection[str] = ()
    service_principals: Collection[tuple[str, str]] = ()  # (tenant, principal): may act on sources without a grant
    deletion_handlers: Sequence[Handler] = ()  # of hosts, for what they derived from sources; in this order
    repoint_handlers: Sequence[Handler] = ()  # of hosts, for records in which they name sources; in this order
    keep_generations: int = 100
    keep_days: float = 7.0
    collect_every: timedelta | None = None  # None: no schedule of these workers' making
    serves_schedules: bool = False  # whoever leaves soon begins nothing that goes on by itself
    otlp_endpoint: str | None = None  # of whoever collects spans of indexing; None: there are none
    partition_chunks: int = 20_000  # from this many on, a build gets a partition of its own
    roles: Collection[str] = ROLES
    cores: int = field(default_factory=usable_cores)
