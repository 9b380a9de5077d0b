"""How much memory one query may take."""

from __future__ import annotations

from prvcore import _arguments

__all__ = ["get_memory_limit", "set_memory_limit"]

_memory_limit = 2**30


def get_memory_limit() -> int:
    """Return the memory limit in bytes; 2^30 (1 GiB) unless it was set.

    Returns
    -------
    int
        Bytes that the largest buffers of one query may take together.

    """
    return _memory_limit


def set_memory_limit(limit: int) -> None:
    """Set how much memory one query may take, for all later queries of the process.

    Parameters
    ----------
    limit : int
        Bytes that the largest buffers of one query may take together, in [1, 2^63 - 1]. Queries
        that run at the same time have the limit each.

    Raises
    ------
    TypeError, ValueError
        `limit` is not an integer, or is out of its range.

    """
    global _memory_limit
    _memory_limit = _arguments.integer(limit, "limit", 1, 2**63 - 1)
