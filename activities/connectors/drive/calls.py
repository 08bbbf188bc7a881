"""Every call that is made of Drive, with the flags and the mask without which its answer would silently lack something.

Shared drives are left out of every answer unless a call says twice that it knows of them; a page without a token is the
end of a listing, unless the mask forgot to ask for one.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from activities.connectors.drive import fields
from activities.connectors.drive.errors import Call, DriveFault, Of, is_fault
from activities.connectors.drive.service import DriveService
from headwater.connectors import DocumentFault, InvalidCursor
from headwater.errors import TransientError

FILES_MAX: Final = 1_000  # in a page of files or changes
PERMISSIONS_MAX: Final = 100
DRIVES_MAX: Final = 100  # ten unless asked for
MY_DRIVE: Final = "root"  # Drive's alias for the account's own top folder, whose real id it answers with
_NEXT: Final = "nextPageToken"
# They go into addresses and cursors. Drive's have some hundred characters.
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,4096}\Z")


class DriveCalls:
    """Drive as one account sees it. Answers are Drive's own JSON objects; lists in them are lists of objects."""

    def __init__(self, service: DriveService) -> None:
        self._service = service
        self._account = service.account
        client = service.client
        self._files: Any = client.files()
        self._changes: Any = client.changes()
        self._permissions: Any = client.permissions()
        self._drives: Any = client.drives()
        self._about: Any = client.about()
        self._operations: Any = client.operations()

    @property
    def account(self) -> str:
        return self._account

    def close(self) -> None:
        self._service.close()

    def within(self, seconds: float) -> AbstractContextManager[None]:
        """All that is asked in here takes no longer than that, all in all."""
        return self._service.within(seconds)

    def about(self) -> dict[str, Any]:
        """Who asks. The cheapest call there is: it tells an outage of Drive from the fault of one file."""
        return self._answer(self._about.get(fields=fields.ABOUT.fields), self._call("say who it is asked by"))

    def shared_drives(self, *, page_token: str | None = None) -> dict[str, Any]:
        """A page of the shared drives that the account is a member of."""
        request = self._drives.list(pageSize=DRIVES_MAX, pageToken=page_token, fields=fields.DRIVES_LIST.fields)
        return _listed(self._answer(request, self._call("list the shared drives", cursor=page_token)), "drives")

    def shared_drive(self, drive_id: str) -> dict[str, Any]:
        """Raises `SharedDriveGone`."""
        request = self._drives.get(driveId=drive_id, fields=fields.DRIVES_GET.fields)
        return self._answer(request, self._call(f"read shared drive {drive_id}", Of.DRIVE))

    def start_page_token(self, *, drive_id: str | None = None) -> str:
        """Where the change feed stands now. Each shared drive has a feed of its own, whose tokens mean nothing to another."""
        request = self._changes.getStartPageToken(
            driveId=drive_id, supportsAllDrives=True, fields=fields.START_PAGE_TOKEN.fields
        )
        call = self._call(f"say where the changes{_of(drive_id)} stand", _kind(drive_id))
        token = self._answer(request, call).get("startPageToken")
        if not isinstance(token, str) or not _TOKEN.match(token):
            raise DriveFault(f"Drive was asked to {call.action} and gave no token.")
        return token

    def files(
        self,
        query: str,
        *,
        page_token: str | None = None,
        page_size: int = FILES_MAX,
        drive_id: str | None = None,
        folder_id: str | None = None,
    ) -> dict[str, Any]:
        """A page of the files that match. It may be empty and not the last, and with ``incompleteSearch`` it is not all.

        Never of ``allDrives``, of which Drive says itself that it may leave out some. A listing of one folder names it, so that
        404 means that this folder is gone.
        """
        request = self._files.list(
            q=query,
            pageToken=page_token,
            pageSize=min(page_size, FILES_MAX),
            corpora="drive" if drive_id else "user",
            driveId=drive_id,
            spaces="drive",
            supportsAllDrives=True,
            includeItemsFromAllDrives=True,
            fields=fields.FILES_LIST.fields,
        )
        if folder_id is None:
            call = self._call(f"list the files{_of(drive_id)}", _kind(drive_id), cursor=page_token)
        else:
            call = self._call(f"list folder {folder_id}", Of.FILE, cursor=page_token)
        return _listed(self._answer(request, call), "files")

    def changes(self, page_token: str, *, page_size: int = FILES_MAX, drive_id: str | None = None) -> dict[str, Any]:
        """A page of changes, with where to go on: ``nextPageToken``, or at the end ``newStartPageToken``.

        Raises `InvalidCursor` also for a page with neither: taken for the end, it would lose what comes after it.
        """
        request = self._changes.list(
            pageToken=page_token,
            pageSize=min(page_size, FILES_MAX),
            driveId=drive_id,
            spaces="drive",
            includeRemoved=True,
            restrictToMyDrive=False,
            supportsAllDrives=True,
            includeItemsFromAllDrives=True,
            fields=fields.CHANGES_LIST.fields,
        )
        call = self._call(f"list the changes{_of(drive_id)}", _kind(drive_id), cursor=page_token)
        answer = _listed(self._answer(request, call), "changes")
        if not answer.get(_NEXT) and not answer.get("newStartPageToken"):
            raise InvalidCursor(
                f"Drive was asked to {call.action} and did not say where to go on: it lists everything anew."
            )
        return answer

    def file(self, file_id: str, *, resource_key: str | None = None) -> dict[str, Any]:
        """What a listing says of a file. Raises `DocumentGone`, which is also what a file is that may not be seen."""
        request = self._files.get(fileId=file_id, supportsAllDrives=True, fields=fields.FILES_GET.fields)
        call = self._call(f"read file or folder {file_id}", Of.FILE)
        return _of_file(self._answer(_keyed(request, file_id, resource_key), call), file_id)

    def content_of(self, file_id: str, *, resource_key: str | None = None) -> dict[str, Any]:
        """What must be the same after a download as before it."""
        request = self._files.get(fileId=file_id, supportsAllDrives=True, fields=fields.CONTENT_GET.fields)
        call = self._call(f"read file {file_id}", Of.FILE)
        return _of_file(self._answer(_keyed(request, file_id, resource_key), call), file_id)

    def permissions(
        self, file_id: str, *, page_token: str | None = None, resource_key: str | None = None
    ) -> dict[str, Any]:
        """A page of who may see a file. Raises `DocumentDenied` where the account may not know."""
        request = self._permissions.list(
            fileId=file_id,
            pageToken=page_token,
            pageSize=PERMISSIONS_MAX,
            supportsAllDrives=True,
            fields=fields.PERMISSIONS_LIST.fields,
        )
        # Not as with a cursor: that one file's pages cannot be turned must not begin a whole listing anew.
        call = self._call(f"list the permissions of file {file_id}", Of.FILE)
        return _listed(self._answer(_keyed(request, file_id, resource_key), call), "permissions")

    def download(self, file_id: str, *, max_bytes: int, resource_key: str | None = None) -> bytes:
        """The bytes of a file that has any."""
        request = self._files.get_media(fileId=file_id, supportsAllDrives=True)
        call = self._call(f"download file {file_id}", Of.FILE)
        return self._service.media(_keyed(request, file_id, resource_key), call, max_bytes=max_bytes)

    def export(self, file_id: str, media_type: str, *, max_bytes: int, resource_key: str | None = None) -> bytes:
        """A document of Google's as something else. Raises `DocumentTooLarge` above Drive's own 10 MB too."""
        request = self._files.export_media(fileId=file_id, mimeType=media_type)
        call = self._call(f"export file {file_id} as {media_type}", Of.FILE)
        return self._service.media(_keyed(request, file_id, resource_key), call, max_bytes=max_bytes)

    def export_link(self, file_id: str, url: str, *, max_bytes: int) -> bytes:
        """The same from one of ``exportLinks``, which know no limit."""
        return self._service.link(url, self._call(f"export file {file_id} by its link", Of.LINK), max_bytes=max_bytes)

    def begin_download(self, file_id: str, media_type: str, *, resource_key: str | None = None) -> dict[str, Any]:
        """An operation that prepares a file of any size: to be asked after with `operation`."""
        request = self._files.download(fileId=file_id, mimeType=media_type, fields=fields.DOWNLOAD.fields)
        call = self._call(f"prepare file {file_id} as {media_type}", Of.FILE)
        return self._answer(_keyed(request, file_id, resource_key), call)

    def operation(self, name: str, *, file_id: str) -> dict[str, Any]:
        request = self._operations.get(name=name, fields=fields.OPERATION.fields)
        return self._answer(request, self._call(f"say how far file {file_id} is prepared", Of.FILE))

    def prepared(self, file_id: str, url: str, *, max_bytes: int) -> bytes:
        """What such an operation prepared, at the address that it gave."""
        return self._service.link(url, self._call(f"download file {file_id} as prepared", Of.LINK), max_bytes=max_bytes)

    def _answer(self, request: Any, call: Call) -> dict[str, Any]:
        return self._service.answer(request, call)

    def _call(self, action: str, of: Of = Of.ACCOUNT, *, cursor: str | None = None) -> Call:
        return Call(action, of, has_cursor=cursor is not None, account=self._account, root_url=self._service.root_url)


@contextmanager
def told_from_an_outage(calls: DriveCalls) -> Iterator[None]:
    """Faults in here are `DocumentFault`, one file's own, if Drive is well otherwise. That is asked only after a fault.

    A connection that breaks off is one too: some files do that every time.
    """
    try:
        yield
    except TransientError as fault:
        if not is_fault(fault):
            raise
        calls.about()  # raises what goes for every file
        # How often it is asked again is not decided here.
        raise DocumentFault(str(fault), retry_after_s=fault.retry_after_s) from None


def quote(value: str) -> str:
    """``value`` as a string of a search query: quotation marks and backslashes in it are escaped."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _of(drive_id: str | None) -> str:
    return f" of shared drive {drive_id}" if drive_id else ""


def _kind(drive_id: str | None) -> Of:
    return Of.DRIVE if drive_id else Of.ACCOUNT


def _keyed(request: Any, file_id: str, resource_key: str | None) -> Any:
    """Some files that are shared by link are found only with their key, which Drive takes in a header."""
    if resource_key:
        request.headers["X-Goog-Drive-Resource-Keys"] = f"{file_id}/{resource_key}"
    return request


def _listed(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """``answer`` with a list at ``name``: Drive leaves out an empty one."""
    found = answer.setdefault(name, [])
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise DriveFault(f"Drive's answer has no list of {name}.")
    for where in (_NEXT, "newStartPageToken"):
        token = answer.get(where)
        if token not in (None, "") and not (isinstance(token, str) and _TOKEN.match(token)):
            raise DriveFault(f"Drive's answer has a {where} that is none.")
    return answer


def _of_file(answer: dict[str, Any], file_id: str) -> dict[str, Any]:
    """``answer``, which is about that file. Taken for an answer, an empty one would read as a file that is gone."""
    if answer.get("id") != file_id and file_id != MY_DRIVE:
        raise DriveFault(f"Drive was asked for file {file_id} and did not answer about it.")
    return answer


__all__ = ["DRIVES_MAX", "FILES_MAX", "MY_DRIVE", "PERMISSIONS_MAX", "DriveCalls", "quote", "told_from_an_outage"]
