"""What a status of the C core is in Python."""

from cpython.exc cimport PyErr_Occurred

from prvcore._core.core cimport (
    PRV_ERR_ARITHMETIC,
    PRV_ERR_BOUNDS,
    PRV_ERR_FFT,
    PRV_ERR_INTERRUPTED,
    PRV_ERR_MEMORY,
    PRV_ERR_PRECISION,
    PRV_ERR_TARGET,
    PRV_OK,
    PRV_STATUS_COUNT,
    PRV_VERSION,
    prv_status,
    prv_status_message,
)

from prvcore._errors import PrecisionError, TargetError

VERSION = PRV_VERSION.decode("ascii")
STATUS_COUNT = <int>PRV_STATUS_COUNT

cdef dict EXCEPTIONS = {
    <int>PRV_ERR_MEMORY: MemoryError,
    <int>PRV_ERR_INTERRUPTED: KeyboardInterrupt,
    <int>PRV_ERR_BOUNDS: RuntimeError,
    <int>PRV_ERR_FFT: RuntimeError,
    <int>PRV_ERR_PRECISION: PrecisionError,
    <int>PRV_ERR_TARGET: TargetError,
    <int>PRV_ERR_ARITHMETIC: FloatingPointError,
}


def exception_of(int status):
    """Return the exception, not raised, that a status other than PRV_OK stands for."""
    if not 0 < status < STATUS_COUNT:
        raise ValueError(f"status must be in [1, {STATUS_COUNT - 1}], got {status}")
    message = prv_status_message(<prv_status>status).decode("ascii")
    return EXCEPTIONS.get(status, ValueError)(message)


cdef int check(prv_status status) except -1:
    if status == PRV_OK:
        return 0
    if PyErr_Occurred():  # raised by a callback inside C, and still set: let it through
        return -1
    raise exception_of(status)
