"""The refusals that follow from the world's state, each in Drive's own words."""

from tests.drive.refusal import Refusal


def not_found(file_id: str) -> Refusal:
    """Drive's answer for what is gone and for what the caller may not see: it never tells which."""
    return invalid_with(404, "notFound", f"File not found: {file_id}.", location="fileId")


def drive_not_found(drive_id: str) -> Refusal:
    return invalid_with(404, "notFound", f"Shared drive not found: {drive_id}", location="driveId")


def invalid(location: str, message: str = "Invalid Value", *, status: int = 400) -> Refusal:
    """A value that is right in form and wrong today: a token, a query, a combination of parameters."""
    return invalid_with(status, "invalid", message, location=location)


def invalid_with(status: int, reason: str, message: str, *, location: str) -> Refusal:
    return Refusal(status=status, reason=reason, message=message, location=location, is_parameter=True)


def forbidden(
    message: str = "The user does not have sufficient permissions for this file.",
    *,
    reason: str = "insufficientFilePermissions",
) -> Refusal:
    return Refusal(status=403, reason=reason, message=message)
