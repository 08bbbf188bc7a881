"""What else happens to a source: who may read it, its end, the end of what rests on it, another id for it."""
