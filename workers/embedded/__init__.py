"""PostgreSQL and Temporal without configuration: started when a command needs them, gone when the last one ends."""

from workers.embedded.attachment import Services, attach, mark_up
from workers.embedded.errors import EmbeddedError
from workers.embedded.reader_login import ensure_reader_login

__all__ = ["EmbeddedError", "Services", "attach", "ensure_reader_login", "mark_up"]
