"""What travels between `SetGeneration` and its activity."""

from activities.contracts.payload import Payload
from headwater.models import Scope


class MovePointer(Payload):
    """Either the generation that readers are to see, or whether they stay where they are."""

    scope: Scope
    generation: int | None = None
    pin: bool | None = None
    requested_by: str | None = None
