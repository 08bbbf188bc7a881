"""What the library asks of Postgres, and how. Not for import by hosts."""
