"""What the text of an error must hold."""

import re


def message(*parts):
    """Return a pattern for an error that consists of these parts in this order."""
    return "^" + ".*".join(re.escape(part) for part in parts)
