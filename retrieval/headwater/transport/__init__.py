"""How text leaves for a server outside, and to which addresses it may. Not for import by hosts."""
