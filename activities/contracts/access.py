"""What travels between `SetSourceAccess` and its activity."""

from activities.contracts.payload import Payload
from headwater.contracts import SourceGrants
from headwater.models import Scope


class SetAccess(Payload):
    scope: Scope
    request_no: int
    requested_by: str | None = None
    grants: tuple[SourceGrants, ...]
