"""The error of the embedded servers."""

from headwater.errors import HeadwaterError


class EmbeddedError(HeadwaterError):
    """An embedded server cannot be had, for a reason and with a way out that the sentence names."""

    code = "ERR_HEADWATER_EMBEDDED"
