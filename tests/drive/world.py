"""The state of an imaginary Google Drive, and everything that may be done to it or asked of it.

People who change things by hand (tests) leave out ``by``; the HTTP side passes the caller's address, and then Drive's
own rules about who may do what hold. Everything that a caller may not see is refused as not found. Refusals are raised
as `DriveError`. Each public method holds `World.lock` for its duration, so a server's threads and a test may share a
world. README.md lists the methods and the layers they are in.
"""

from tests.drive.contents import Body
from tests.drive.listing import Listing
from tests.drive.pages import ChangesPage, FilePage, Page
from tests.drive.rendering import EXPORT_PATH, Resource


class World(Listing):
    """One Drive: its accounts, files, permissions, change logs, clock and modes."""


__all__ = ["EXPORT_PATH", "Body", "ChangesPage", "FilePage", "Page", "Resource", "World"]
