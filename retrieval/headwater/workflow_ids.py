"""Where workflows are started, and their ids: fixed by what they work on, so that Temporal itself lets one run at a time."""

import hashlib
from typing import Final

from headwater.models import Scope

TASK_QUEUE: Final = "headwater-control"
ID_MAX: Final = 255
SCHEDULE_ID_MAX: Final = 220  # Temporal puts a word before it, or a time behind it

# The word that the ids of a workflow begin with.
PREFIXES: Final = {
    "IngestSources": "ingest",
    "SetSourceAccess": "access",
    "DeleteSources": "delete",
    "PropagateDeletion": "propagate",
    "RepointSource": "repoint",
    "RenameSources": "rename",
    "ReindexCorpus": "reindex",
    "RetireBuild": "retire",
    "SetGeneration": "generation",
    "CollectGarbage": "gc",
    "RemoveConnector": "remove",
    "TryConnector": "try",
}


def sync_workflow_id(scope: Scope, connector: str) -> str:
    """The id under which a connector's sync runs, whoever starts it."""
    return _bounded(f"sync:{scope}:{connector}")


def sync_schedule_id(scope: Scope, connector: str) -> str:
    """The id of the schedule that has a connector synced. What it starts is named so too, with the time after it."""
    return _bounded(f"headwater-sync:{scope}:{connector}", SCHEDULE_ID_MAX)


def request_workflow_id(workflow: str, scope: Scope, request_id: str) -> str:
    """The id of a request's run: the same request is the same run."""
    return _bounded(f"{PREFIXES[workflow]}:{scope}:{request_id}")


def scope_workflow_id(workflow: str, scope: Scope) -> str:
    """The id of a workflow that a corpus has at most one run of."""
    return _bounded(f"{PREFIXES[workflow]}:{scope}")


def workflow_id_of(workflow: str, scope: Scope, request_id: str | None) -> str:
    """The id of a run for a request, or for a corpus where the workflow's input has none."""
    return (
        scope_workflow_id(workflow, scope) if request_id is None else request_workflow_id(workflow, scope, request_id)
    )


def _bounded(workflow_id: str, most: int = ID_MAX) -> str:
    """Temporal's limit is 255 characters: a longer id ends in its SHA-256."""
    if len(workflow_id) <= most:
        return workflow_id
    digest = hashlib.sha256(workflow_id.encode()).hexdigest()
    return f"{workflow_id[: most - len(digest) - 1]}~{digest}"
