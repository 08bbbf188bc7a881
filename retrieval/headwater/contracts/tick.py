"""``SyncTick``: somebody says that a connector's origin may have changed: a schedule, a webhook."""

from typing import Annotated

from pydantic import AfterValidator

from headwater.contracts.shared import Output, WorkflowInput, as_pattern
from headwater.ids import SCOPE_PART, check_scope_part


class SyncTickInput(WorkflowInput):
    """Input of ``SyncTick``."""

    connector: Annotated[str, AfterValidator(lambda name: check_scope_part(name, "connector")), as_pattern(SCOPE_PART)]


class SyncTickResult(Output):
    """Output of ``SyncTick``, which does not wait for the sync.

    ``started`` is false where one was under way already: it makes one more pass when it is through.
    """

    workflow_id: str
    started: bool
