"""What Drive refuses, and in which words: the world raises these and the HTTP side writes them down."""


class DriveError(Exception):
    """A refusal with Drive's own status and reason. ``location`` names the parameter to blame, where there is one."""

    def __init__(
        self, status: int, reason: str, message: str, *, location: str | None = None, domain: str = "global"
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.location = location
        self.domain = domain


def not_found(file_id: str) -> DriveError:
    """Drive's answer for what is gone and for what the caller may not see: it never tells which."""
    return DriveError(404, "notFound", f"File not found: {file_id}.", location="fileId")


def drive_not_found(drive_id: str) -> DriveError:
    return DriveError(404, "notFound", f"Shared drive not found: {drive_id}", location="driveId")


def invalid(location: str, message: str = "Invalid Value", *, status: int = 400) -> DriveError:
    """A value that is right in form and wrong today: a token, a query, a combination of parameters."""
    return DriveError(status, "invalid", message, location=location)


def forbidden(
    message: str = "The user does not have sufficient permissions for this file.",
    *,
    reason: str = "insufficientFilePermissions",
) -> DriveError:
    return DriveError(403, reason, message)
