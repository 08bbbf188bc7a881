"""A host that knows nothing but Temporal's own command line and JSON."""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PROGRAMS: Final = Path(sys.executable).parent  # `temporal` stands beside the interpreter
START: Final = "temporal workflow execute "
TASK_QUEUE: Final = "headwater-control"
PATIENCE_S: Final = 60.0
# Payloads as they are: made readable, an empty list becomes null.
PRINTED: Final = ("--output", "json", "--no-json-shorthand-payloads")


@dataclass(frozen=True)
class Host:
    """Starts workflows on the Temporal server at ``address``."""

    address: str

    def execute(self, workflow: str, workflow_id: str, given: Any) -> "Answered":
        """The workflow run to its end."""
        arguments = ("--type", workflow, "--task-queue", TASK_QUEUE, "--workflow-id", workflow_id)
        return self._answer([*START.split(), *arguments, "--input", json.dumps(given), *PRINTED])

    def typed(self, command: str) -> "Answered":
        """A command as a README has it, run by a shell."""
        assert command.startswith(START), command
        return self._answer(["sh", "-c", command.replace(START, START + " ".join(PRINTED) + " ", 1)])

    def _answer(self, command: list[str]) -> "Answered":
        done = subprocess.run(
            command,
            env={"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TEMPORAL_ADDRESS": self.address},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.stdout, done.stderr
        return Answered(json.loads(done.stdout))


@dataclass(frozen=True)
class Answered:
    """What Temporal's command line printed of a run."""

    document: Mapping[str, Any]

    @property
    def result(self) -> Any:
        assert self.document["status"] == "COMPLETED", self.failure
        completed = self.document["closeEvent"]["workflowExecutionCompletedEventAttributes"]
        return json.loads(base64.b64decode(completed["result"]["payloads"][0]["data"]))

    @property
    def failure(self) -> tuple[str, str]:
        """The type and the words of the error."""
        assert self.document["status"] == "FAILED", self.document["status"]
        failure = self.document["closeEvent"]["workflowExecutionFailedEventAttributes"]["failure"]
        return failure["applicationFailureInfo"]["type"], failure["message"]


def examples(readme: str) -> dict[str, str]:
    """The commands of a README that start a workflow, by the workflow's name and in their order."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    return {re.findall(r"--type (\w+)", block)[0]: block for block in blocks}
