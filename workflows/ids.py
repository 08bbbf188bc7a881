"""Workflow ids: fixed by what they work on, so that Temporal itself lets one run at a time."""

import hashlib
from typing import Final

from headwater.models import Scope

ID_MAX: Final = 255


def sync_workflow_id(scope: Scope, connector: str) -> str:
    """The id under which a connector's sync runs, whoever starts it."""
    return _bounded(f"sync:{scope}:{connector}")


def _bounded(workflow_id: str) -> str:
    """Temporal's limit is 255 characters: a longer id ends in its SHA-256."""
    if len(workflow_id) <= ID_MAX:
        return workflow_id
    digest = hashlib.sha256(workflow_id.encode()).hexdigest()
    return f"{workflow_id[: ID_MAX - len(digest) - 1]}~{digest}"
