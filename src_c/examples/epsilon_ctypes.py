"""Epsilon of 1000 steps of DP-SGD at delta 1e-7, by ctypes.

epsilon_ctypes.py PATH_OF_LIBPRVCORE
"""

import ctypes
import sys


class Step(ctypes.Structure):
    """prv_step."""

    _fields_ = (("mechanism", ctypes.c_void_p), ("count", ctypes.c_uint64))


class Options(ctypes.Structure):
    """prv_options; what is not given is 0 or NULL, its default."""

    _fields_ = (
        ("discretization", ctypes.c_int),
        ("engine", ctypes.c_int),
        ("neighbors", ctypes.c_int),
        ("eps_error", ctypes.c_double),
        ("eps_relative_error", ctypes.c_double),
        ("eps_floor", ctypes.c_double),
        ("delta_error", ctypes.c_double),
        ("delta_relative_error", ctypes.c_double),
        ("threshold", ctypes.c_double),
        ("mesh_size", ctypes.c_double),
        ("memory_limit", ctypes.c_size_t),
        ("fft", ctypes.c_void_p),
        ("progress", ctypes.c_void_p),
        ("progress_context", ctypes.c_void_p),
    )


class Bounds(ctypes.Structure):
    """prv_bounds."""

    _fields_ = (
        ("lower", ctypes.c_double),
        ("estimate", ctypes.c_double),
        ("upper", ctypes.c_double),
    )


PRV_REMOVE = 2


def main(path: str) -> None:
    """Load the library at `path`, ask it, and print the bounds."""
    library = ctypes.CDLL(path)
    library.prv_status_message.restype = ctypes.c_char_p
    library.prv_mechanism_free.argtypes = [ctypes.c_void_p]
    library.prv_fft_provider_free.argtypes = [ctypes.c_void_p]

    def call(name: str, *arguments: object) -> None:
        status = getattr(library, name)(*arguments)
        if status:
            raise ValueError(library.prv_status_message(status).decode("ascii"))

    gaussian, step, fft = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    try:
        call("prv_mechanism_gaussian", ctypes.c_double(0.8), ctypes.byref(gaussian))
        call(
            "prv_mechanism_poisson_subsampled",
            gaussian,
            ctypes.c_double(1e-3),
            ctypes.byref(step),
        )
        call("prv_fft_provider_new", ctypes.byref(fft))
        options = Options(
            neighbors=PRV_REMOVE,
            eps_relative_error=1e-3,
            eps_floor=1e-3,
            memory_limit=1 << 30,
            fft=fft,
        )
        epsilon = Bounds()
        call(
            "prv_epsilon",
            ctypes.byref(Step(step, 1000)),
            ctypes.c_size_t(1),
            ctypes.byref(options),
            ctypes.byref(ctypes.c_double(1e-7)),
            ctypes.c_size_t(1),
            ctypes.byref(epsilon),
            None,
        )
    finally:
        library.prv_fft_provider_free(fft)
        library.prv_mechanism_free(step)
        library.prv_mechanism_free(gaussian)
    print(f"{epsilon.lower!r} <= epsilon <= {epsilon.upper!r}")


if __name__ == "__main__":
    main(sys.argv[1])
