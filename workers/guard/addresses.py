"""Who logs in to PostgreSQL, and under which address."""

import hashlib
import hmac
from urllib.parse import urlsplit

from workers.guard.ports import LOOPBACK

OWNER = "headwater"
READER = "headwater_read"
DATABASE = "headwater"


def database_url(port: int, password: str) -> str:
    """For commands and workers: may do everything."""
    return f"postgresql://{OWNER}:{password}@{LOOPBACK}:{port}/{DATABASE}"


def reader_url(database_url: str) -> str:
    """For hosts that only retrieve. Its password follows from the owner's, and does not lead back to it."""
    address = urlsplit(database_url)
    password = hmac.new((address.password or "").encode(), b"reader", hashlib.sha256).hexdigest()[:32]
    return f"postgresql://{READER}:{password}@{address.hostname}:{address.port}{address.path}"
