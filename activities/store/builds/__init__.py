"""A second build of a corpus beside the live one: made, filled, flipped to, retired."""
