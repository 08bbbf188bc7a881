"""Payloads that cannot be decoded fail what they were sent to, at once and by type.

The SDK fails a workflow's *task* over them, which Temporal repeats for ever, with a piece of the input in each error. A
failure of ours goes through, and ends the workflow.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.contrib.pydantic import PydanticPayloadConverter
from temporalio.exceptions import ApplicationError, FailureError

SENTENCE = (
    "input: is not one JSON object in UTF-8, nested less than 200 deep and without halves of surrogate pairs; correct it and "
    "start again."
)


class StrictPayloads(PydanticPayloadConverter):
    """Pydantic's, whose errors are `InvalidInput` and repeat nothing."""

    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        try:
            return super().from_payloads(payloads, type_hints)
        except FailureError:
            raise
        except Exception:  # noqa: BLE001 whatever the decoder says, it may repeat a piece of what it read
            raise ApplicationError(SENTENCE, type="InvalidInput", non_retryable=True) from None


def strict(client: Client) -> Client:
    """``client`` for workers: with our converter, and a codec where it has one."""
    config = client.config()
    config["data_converter"] = replace(config["data_converter"], payload_converter_class=StrictPayloads)
    return Client(**config)
