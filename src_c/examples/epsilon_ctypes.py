"""Epsilon of 1000 steps of DP-SGD at delta 1e-7, by ctypes.

epsilon_ctypes.py PATH_OF_LIBPRVCORE
"""

import ctypes
import sys


class Bounds(ctypes.Structure):
    """prv_bounds."""

    _fields_ = (
        ("lower", ctypes.c_double),
        ("estimate", ctypes.c_double),
        ("upper", ctypes.c_double),
    )


def main(path: str) -> None:
    """Load the library at `path`, ask it, and print the bounds."""
    library = ctypes.CDLL(path)
    library.prv_status_message.restype = ctypes.c_char_p
    number = ctypes.c_double
    ask = library.prv_dpsgd_epsilon
    ask.argtypes = [number, number, ctypes.c_uint64, number, ctypes.POINTER(Bounds)]
    epsilon = Bounds()
    status = ask(0.8, 1e-3, 1000, 1e-7, ctypes.byref(epsilon))
    if status:
        raise ValueError(library.prv_status_message(status).decode("ascii"))
    print(f"{epsilon.lower!r} <= epsilon <= {epsilon.upper!r}")


if __name__ == "__main__":
    main(sys.argv[1])
