"""What must never be in a history, in every form it could have there, and everything that Temporal keeps."""

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest, GetWorkflowExecutionHistoryRequest
from temporalio.client import Client
from temporalio.client import WorkflowExecution as Run

_DIGITS: Final = len("0.17677")  # of a component: fewer may be there by chance


async def kept(client: Client, run: Run) -> bytes:
    """All bytes of a run that the server gives out: history with payloads and failures, memo, attributes, what is pending."""
    execution = WorkflowExecution(workflow_id=run.id, run_id=run.run_id)
    described = await client.workflow_service.describe_workflow_execution(
        DescribeWorkflowExecutionRequest(namespace=client.namespace, execution=execution)
    )
    parts, token = [described.SerializeToString()], b""
    while True:
        page = await client.workflow_service.get_workflow_execution_history(
            GetWorkflowExecutionHistoryRequest(namespace=client.namespace, execution=execution, next_page_token=token)
        )
        parts.append(page.SerializeToString())
        token = page.next_page_token
        if not token:
            return b"\n".join(parts)


def forms_of_text(text: str) -> Iterator[bytes]:
    """The text as it is, as JSON has it where only ASCII is allowed, and as UTF-16."""
    for encoded in {text.encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le")}:
        yield from _forms_of_bytes(encoded)


def forms_of_vector(vector: NDArray[np.float32]) -> Iterator[bytes]:
    """Eight neighbouring components as halves or floats of either byte order and as JSON, and each one in digits."""
    for first in range(len(vector) - 7):
        window = vector[first : first + 8]
        if np.count_nonzero(window) > 1:
            for kind in ("<f2", ">f2", "<f4", ">f4", "<f8"):
                yield from _forms_of_bytes(window.astype(kind).tobytes())
            for separator in (",", ", "):
                yield separator.join(str(float(value)) for value in window).encode()
    for value in {float(kind(value)) for value in vector for kind in (np.float16, np.float32)}:
        if value and not (value * 1024).is_integer():  # a number of few digits may be anything
            yield f"{abs(value):.7f}"[:_DIGITS].encode()


def _forms_of_bytes(encoded: bytes) -> Iterator[bytes]:
    """The bytes themselves, in hexadecimal, and in Base64 wherever they stand in what was encoded."""
    yield encoded
    yield encoded.hex().encode()
    for shift in range(3):
        # The first and the last characters depend on the neighbours; what lies between is always the same.
        whole = base64.b64encode(bytes(shift) + encoded)
        yield whole[4 * (shift > 0) : -4]


def found(needles: Iterable[bytes], haystack: bytes) -> Sequence[bytes]:
    """Which of them are there, letter case apart."""
    lowered = haystack.lower()
    return [needle for needle in needles if needle and needle.lower() in lowered]
