"""Ids in Drive's shapes, the same ones for the same seed."""

import base64
import hashlib
import random


class Ids:
    """A source of ids: opaque, never repeated, and reproducible."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"ids:{seed}")

    def file(self) -> str:
        return "1" + self._letters(32)

    def root(self) -> str:
        """Of a My Drive or a shared drive, which is also the id of the shared drive."""
        return "0A" + self._letters(12) + "Uk9PVA"

    def revision(self) -> str:
        return "0B" + self._letters(49)

    def offset(self) -> int:
        """Where a change log begins to count."""
        return self._random.randrange(1_000, 100_000)

    def _letters(self, count: int) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(count)).decode()[:count]


def permission_id(grantee: str) -> str:
    """The id of an account's, group's or domain's permissions, the same on every file, as Google has it."""
    return str(int.from_bytes(hashlib.sha256(grantee.lower().encode()).digest()[:8])).zfill(20)
