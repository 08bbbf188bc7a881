"""The process that owns the embedded servers of one home. Standard library only: it starts in 30 ms and stays small."""
