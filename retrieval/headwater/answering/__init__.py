"""How a question is answered, from its arguments to the assembled result. Not for import by hosts."""
