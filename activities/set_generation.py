"""Activity `set_generation`: moves what readers see, or holds it where it is."""

from temporalio import activity

from activities.containment import contained
from activities.contracts.generation import MovePointer
from activities.store import Store, generations
from headwater.contracts import SetGenerationResult


class PointerMover:
    def __init__(self, store: Store) -> None:
        self._store = store

    @activity.defn(name="set_generation", no_thread_cancel_exception=True)
    @contained
    def set_generation(self, wanted: MovePointer) -> SetGenerationResult:
        if wanted.pin is not None:
            return generations.pin(self._store, wanted.scope, pinned=wanted.pin, actor=wanted.requested_by)
        assert wanted.generation is not None, "the contract asks for one of the two"
        return generations.set_generation(self._store, wanted.scope, wanted.generation, actor=wanted.requested_by)
