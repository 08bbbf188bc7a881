"""``SyncTick``: somebody says that a connector's origin may have changed: a schedule, a webhook."""

from headwater.contracts.shared import ConnectorName, Output, WorkflowInput


class SyncTickInput(WorkflowInput):
    """Input of ``SyncTick``."""

    connector: ConnectorName


class SyncTickResult(Output):
    """Output of ``SyncTick``, which does not wait for the sync.

    ``started`` is false where one was under way already: it makes one more pass when it is through.
    """

    workflow_id: str
    started: bool
