"""For host systems: whatever a workflow does, as a method (extra `client`)."""

from headwater.client.headwater_client import HeadwaterClient

__all__ = ["HeadwaterClient"]
