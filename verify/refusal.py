"""What is raised if a witness does not prove its claim."""

__all__ = ["Refused", "require"]


class Refused(Exception):  # noqa: N818
    """The first inequality that does not hold, or cannot be shown to hold, in words."""


def require(holds: bool, words: str) -> None:
    """Raise Refused with these words unless `holds`."""
    if not holds:
        raise Refused(words)
