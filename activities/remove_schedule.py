"""Activity `remove_schedule`: what had a connector synced ends with it, whoever asked for its end."""

from typing import Final

from temporalio import activity
from temporalio.service import RPCError, RPCStatusCode

from activities.containment import contained_async
from activities.contracts.connectors import RemovedSchedule, RemoveSchedule
from headwater.errors import PermanentError, TransientError
from headwater.workflow_ids import sync_schedule_id

REFUSED: Final = (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED)


@activity.defn(name="remove_schedule")
@contained_async
async def remove_schedule(wanted: RemoveSchedule) -> RemovedSchedule:
    """Whether there was one."""
    name = sync_schedule_id(wanted.scope, wanted.connector)
    try:
        await activity.client().get_schedule_handle(name).delete()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return RemovedSchedule(existed=False)
        if error.status in REFUSED:
            raise PermanentError(
                f"Connector {wanted.connector} is removed, but Temporal refuses to remove its schedule ({error.status.name}): delete "
                f"schedule {name} in Temporal's web page, or let the workers do that."
            ) from None
        raise TransientError(f"Temporal does not remove schedule {name} now ({error.status.name}).") from None
    return RemovedSchedule(existed=True)
