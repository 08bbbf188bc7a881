"""`changes`: the feeds of a user and of a shared drive."""

from collections.abc import Mapping
from typing import Final

from tests.drive.call import Answer, Call, Handler


def _start(call: Call) -> Answer:
    token = call.world.start_token(call.viewer, drive_id=call.drive_id, supports_all_drives=call.supports_all_drives)
    return {"kind": "drive#startPageToken", "startPageToken": token}


def _list(call: Call) -> Answer:
    page = call.world.list_changes(
        call.viewer,
        call.given("pageToken"),
        drive_id=call.drive_id,
        page_size=call.number("pageSize") or 100,
        include_removed=call.flag("includeRemoved"),
        include_corpus_removals=call.flag("includeCorpusRemovals"),
        include_items_from_all_drives=call.includes_all_drives,
        supports_all_drives=call.supports_all_drives,
        restrict_to_my_drive=call.flag("restrictToMyDrive"),
        view=call.view,
    )
    tokens = {"nextPageToken": page.next_page_token, "newStartPageToken": page.new_start_page_token}
    return {
        "kind": "drive#changeList",
        "changes": page.changes,
        **{name: token for name, token in tokens.items() if token is not None},
    }


HANDLERS: Final[Mapping[str, Handler]] = {
    "drive.changes.getStartPageToken": _start,
    "drive.changes.list": _list,
}
