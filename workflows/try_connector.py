"""``TryConnector``: whether a connector's origin can be listed from where the workers are."""

from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.contracts.connectors import TriedConnector, TryConnectorInput
    from workflows.act import act
    from workflows.failures import cause_of
    from workflows.inputs import parse_input


@workflow.defn(name="TryConnector")
class TryConnector:
    @workflow.run
    async def run(self, raw: Any = None) -> TriedConnector:
        asked = parse_input(TryConnectorInput, raw)
        try:
            return await act("try_connector", asked, TriedConnector)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            raise cause_of(error) from None
