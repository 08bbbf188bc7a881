"""The one error of this package, and how it speaks about paths and full disks."""

import errno
import os


class ServiceError(Exception):
    """An embedded server cannot be had. ``str(error)`` is one sentence fit for a person."""


def shown(path: str | os.PathLike[str]) -> str:
    """The path as it can always be printed: bytes that are no UTF-8 become backslash escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def from_os_error(error: OSError, home: str | os.PathLike[str]) -> ServiceError:
    """What the operating system refused while working in ``home``, and what to do about it."""
    place = shown(error.filename) if isinstance(error.filename, str) else shown(home)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full_disk(home)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ServiceError(
            f"{place} cannot be written by this user ({error.strerror}); set HEADWATER_HOME to a folder that can."
        )
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return ServiceError(f"{place} is in the way: it is not a folder; set HEADWATER_HOME to a folder.")
    return ServiceError(f"{place} cannot be used ({error.strerror}); set HEADWATER_HOME to a folder on a local disk.")


def full_disk(place: str | os.PathLike[str]) -> ServiceError:
    return ServiceError(f"The disk that holds {shown(place)} is full; free some space there and run the command again.")
