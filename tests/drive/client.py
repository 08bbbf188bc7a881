"""Google's own client for a running emulator, for tests that seed it or look at it as a user would."""

from typing import Any

import google.oauth2.credentials
import google_auth_httplib2  # type: ignore[import-untyped]  # it comes without types
from googleapiclient.discovery import build_from_document  # type: ignore[import-untyped]  # it comes without types
from googleapiclient.http import build_http  # type: ignore[import-untyped]  # it comes without types

from tests.drive.discovery import SERVICE_PATH, document
from tests.drive.serving import RunningDrive


def client(drive: RunningDrive, email: str) -> Any:
    """Drive as this user has it. Close it: it holds a connection."""
    return client_with(drive.url, google.oauth2.credentials.Credentials(drive.token(email)))  # type: ignore[no-untyped-call]  # google-auth types some calls


def client_with(url: str, credentials: Any) -> Any:
    """The same, with credentials of the caller's.

    The root is rewritten in the document itself. The client's `api_endpoint` would leave uploads and batches with Google.
    """
    rewritten = {**document(), "rootUrl": f"{url}/", "baseUrl": f"{url}{SERVICE_PATH}"}
    rewritten.pop("mtlsRootUrl", None)
    http = build_http()  # httplib2's own would follow a 308, with which Drive asks for the next chunk of an upload
    http.timeout = 20
    return build_from_document(rewritten, http=google_auth_httplib2.AuthorizedHttp(credentials, http=http))
