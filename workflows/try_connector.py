"""``TryConnector``: whether a connector's origin can be listed from where the workers are."""

from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts.connectors import TriedConnector, TryConnectorInput
    from workflows.act import act
    from workflows.failures import told_by_cause
    from workflows.inputs import parse_input


@workflow.defn(name="TryConnector")
class TryConnector:
    @workflow.run
    async def run(self, raw: Any = None) -> TriedConnector:
        asked = parse_input(TryConnectorInput, raw)
        with told_by_cause():
            return await act("try_connector", asked, TriedConnector)
