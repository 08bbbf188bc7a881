"""Writing the corpus in Postgres: one module for each thing that is written, its SQL beside it in `queries/`.

Every public function takes a `Store`, opens its own connection from the pool, and is safe to run twice.
"""

from activities.store.database import DuplicateRow, Store, StoreUnavailable

__all__ = ["DuplicateRow", "Store", "StoreUnavailable"]
