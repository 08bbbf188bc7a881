"""``SetGeneration`` and ``CollectGarbage``: what readers are shown, and how far back they could be."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from headwater.contracts.shared import Output, WorkflowInput
from headwater.errors import ValidationError


class SetGenerationInput(WorkflowInput):
    """Input of ``SetGeneration``: the generation that readers are to see, or whether they stay where they are."""

    generation: Annotated[int, Field(ge=0, lt=2**63, strict=True)] | None = None
    pin: Annotated[bool, Field(strict=True)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.generation is None) == (self.pin is None):
            raise ValidationError("must have either generation or pin")
        return self


class SetGenerationResult(Output):
    """Output of ``SetGeneration``: what readers see now. ``stale`` sources have a newer text than they show."""

    generation: int
    build: int
    pinned: bool
    stale: int = 0


class CollectGarbageInput(WorkflowInput):
    """Input of ``CollectGarbage``. A generation is collected when it is older than both; the defaults are the workers'."""

    keep_generations: Annotated[int, Field(ge=0, strict=True)] | None = None
    older_than_s: Annotated[int, Field(ge=0, strict=True)] | None = None


class CollectGarbageResult(Output):
    """Output of ``CollectGarbage``: what was freed. ``oldest_generation`` is the first that can still be shown."""

    revisions: int = 0
    chunks: int = 0
    documents: int = 0
    builds: int = 0
    staged: int = 0
    requests: int = 0
    oldest_generation: int = 0
