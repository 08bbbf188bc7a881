"""Activity `set_generation`: moves what readers see, or holds it where it is."""

import hashlib
from typing import Any

from temporalio import activity

from activities.containment import contained
from activities.contracts.generation import MovePointer
from activities.store import Store, generations, requests
from activities.store.requests import InvalidInput, Owner
from headwater.contracts import SetGenerationResult


class PointerMover:
    """Moves a pointer once for each run of the workflow, as often as the activity is tried.

    An attempt whose answer was lost must not be made again: somebody may have published since, and readers would go back.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @activity.defn(name="set_generation", no_thread_cancel_exception=True)
    @contained
    def set_generation(self, wanted: MovePointer) -> SetGenerationResult:
        request_no = self._request(wanted)
        try:
            moved = self._move(wanted, request_no)
        except InvalidInput:
            requests.release_request(self._store, request_no)
            raise
        requests.finish_request(self._store, request_no, moved.model_dump(mode="json"))
        return moved

    def _move(self, wanted: MovePointer, request_no: int) -> SetGenerationResult:
        asked: dict[str, Any] = {"actor": wanted.requested_by, "request_no": request_no}
        if wanted.pin is not None:
            return generations.pin(self._store, wanted.scope, pinned=wanted.pin, **asked)
        assert wanted.generation is not None, "the contract asks for one of the two"
        return generations.set_generation(self._store, wanted.scope, wanted.generation, **asked)

    def _request(self, wanted: MovePointer) -> int:
        info = activity.info()
        run_id = info.workflow_run_id or ""
        asked = hashlib.sha256(wanted.model_dump_json().encode()).digest()
        owner = Owner(info.workflow_id or "", run_id)
        return requests.claim_request(
            self._store, wanted.scope, workflow="SetGeneration", request_id=run_id, payload_sha256=asked, owner=owner
        ).request_no
