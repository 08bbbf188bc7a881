"""What a command asks of a public workflow: one JSON object under its fixed id."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from uuid import uuid4

from pydantic import BaseModel

from headwater.contracts import WorkflowInput
from headwater.workflow_ids import workflow_id_of

Answer = TypeVar("Answer", bound=BaseModel)

# What most questions need: no document is read and nothing embedded.
THINKING: Final = ("control", "db")


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """What a command asks of ``workflow``. ``what`` names it in sentences: "deletion", "re-index"."""

    workflow: str
    wanted: WorkflowInput
    answer: type[Answer]
    what: str
    roles: Collection[str] = THINKING
    waits_its_turn: bool = True  # after somebody else's run under the same id; else that one is named

    @property
    def workflow_id(self) -> str:
        named = (getattr(self.wanted, field, None) for field in ("request_id", "connector"))
        return workflow_id_of(self.workflow, self.wanted.scope, next(filter(None, named), None))


def fresh_request_id() -> str:
    """A request that nobody made before: a command that is run again asks again."""
    return uuid4().hex
