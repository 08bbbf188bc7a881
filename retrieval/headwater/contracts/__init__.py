"""The inputs and outputs of the public workflows: one JSON object in, one out, in any language.

Inputs ignore fields they do not know. Fields are added with defaults; none is renamed or gets another meaning.
"""

from headwater.contracts.access import (
    AccessOutcome,
    ExpiringGrant,
    Grants,
    SetSourceAccessInput,
    SetSourceAccessResult,
    SourceGrants,
)
from headwater.contracts.deletion import (
    DeletedSource,
    DeleteSourcesInput,
    DeleteSourcesResult,
    PropagateDeletionInput,
    PropagateDeletionResult,
)
from headwater.contracts.generation import (
    CollectGarbageInput,
    CollectGarbageResult,
    SetGenerationInput,
    SetGenerationResult,
)
from headwater.contracts.ingest import IngestOutcome, IngestSource, IngestSourcesInput, IngestSourcesResult
from headwater.contracts.reindex import ReindexCorpusInput, ReindexCorpusResult, ReindexProgress
from headwater.contracts.repoint import (
    FailedRename,
    Renamed,
    RenamedPrefix,
    RenameSourcesInput,
    RenameSourcesResult,
    RepointResult,
    RepointSourceInput,
)
from headwater.contracts.shared import Conflict, RequestInput, WorkflowInput
from headwater.contracts.sync import SyncCorpusInput, SyncFailure, SyncNow, SyncNowInput, SyncResult, SyncStatus
from headwater.contracts.tick import SyncTickInput, SyncTickResult

__all__ = [
    "AccessOutcome",
    "CollectGarbageInput",
    "CollectGarbageResult",
    "Conflict",
    "DeleteSourcesInput",
    "DeleteSourcesResult",
    "DeletedSource",
    "ExpiringGrant",
    "FailedRename",
    "Grants",
    "IngestOutcome",
    "IngestSource",
    "IngestSourcesInput",
    "IngestSourcesResult",
    "PropagateDeletionInput",
    "PropagateDeletionResult",
    "ReindexCorpusInput",
    "ReindexCorpusResult",
    "ReindexProgress",
    "RenameSourcesInput",
    "RenameSourcesResult",
    "Renamed",
    "RenamedPrefix",
    "RepointResult",
    "RepointSourceInput",
    "RequestInput",
    "SetGenerationInput",
    "SetGenerationResult",
    "SetSourceAccessInput",
    "SetSourceAccessResult",
    "SourceGrants",
    "SyncCorpusInput",
    "SyncFailure",
    "SyncNow",
    "SyncNowInput",
    "SyncResult",
    "SyncStatus",
    "SyncTickInput",
    "SyncTickResult",
    "WorkflowInput",
]
