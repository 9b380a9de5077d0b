"""What threads, signal handlers and exceptions cannot leave half done."""

from __future__ import annotations

from typing import Self

__all__ = ["Link"]


class Link:
    """A version of something that grows, and the one after it: once there is one, it stays.

    A lock would be held for ever by an exception that comes between, in a child that was forked
    meanwhile, or by a signal handler that waits for the code which it interrupts. Here the only
    thing that is ever changed is a dictionary of one key, by `dict.setdefault`, which looks up and
    inserts in one step: of several versions that would follow the same one, exactly one does, and
    each of those who tried learns whether it was theirs.
    """

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next: dict[None, Self] = {}

    def next(self) -> Self | None:
        """Return the version after this one, None where this is the last."""
        return self._next.get(None)

    def last(self) -> Self:
        """Return the version after which there is none, at this moment."""
        link = self
        while (later := link.next()) is not None:
            link = later
        return link

    def extend(self, link: Self) -> bool:
        """Make `link`, which nobody else has, the version after this one, unless there is one."""
        return self._next.setdefault(None, link) is link
