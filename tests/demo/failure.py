"""How a demo ends when it cannot go on."""


class DemoFailure(Exception):
    """Something did not happen that should have. The message says what."""
