"""Real transforms for the C core, planned by pyFFTW.

Importing this module imports pyFFTW, which takes far longer than importing numpy: do so at the
first query. One thread and FFTW_ESTIMATE, so that results repeat bit for bit.
"""

from cpython.exc cimport PyErr_Occurred
from cpython.pycapsule cimport PyCapsule_New
from pyfftw cimport FFTW, fftw_exe

from prvcore._core.core cimport (
    PRV_ERR_FFT,
    PRV_FFT_ALIGNMENT,
    PRV_OK,
    prv_fft,
    prv_fft_provider,
    prv_status,
)

import os
import threading

import numpy as np
import pyfftw

ALIGNMENT = PRV_FFT_ALIGNMENT

cdef object lock = threading.RLock()  # a finalizer may fork while its thread plans
if hasattr(os, "register_at_fork"):  # no child has a lock that a thread of its parent's holds
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )
cdef dict plans = {}  # length -> Plans; never shrinks, because C may still be using any of them

cdef prv_fft_provider PROVIDER
PROVIDER.context = NULL
PROVIDER.plan = plan


cdef class Plans:
    """The two pyFFTW objects of one length, kept alive, and what C calls of them.

    The arrays that a plan is made with fix its alignment. ESTIMATE never touches them, so they take
    address space but no memory.
    """

    cdef FFTW forward
    cdef FFTW inverse
    cdef prv_fft fft

    def __cinit__(self, size_t length):
        real = pyfftw.empty_aligned(length, np.float64, n=ALIGNMENT)
        spectrum = pyfftw.empty_aligned(length // 2 + 1, np.complex128, n=ALIGNMENT)
        self.forward = FFTW(
            real, spectrum, direction="FFTW_FORWARD", flags=("FFTW_ESTIMATE",), threads=1
        )
        self.inverse = FFTW(
            spectrum,
            real,
            direction="FFTW_BACKWARD",
            flags=("FFTW_ESTIMATE", "FFTW_DESTROY_INPUT"),
            threads=1,
        )
        cdef fftw_exe forward = self.forward.get_fftw_exe()
        cdef fftw_exe inverse = self.inverse.get_fftw_exe()
        self.fft.length = length
        self.fft.forward_plan, self.fft.forward = forward._plan, forward._fftw_execute
        self.fft.inverse_plan, self.fft.inverse = inverse._plan, inverse._fftw_execute


cdef Plans plans_of(size_t length):
    found = plans.get(length)
    if found is None:
        with lock:
            found = plans.get(length)
            if found is None:
                found = plans[length] = Plans(length)
    return <Plans>found


cdef prv_status plan(
    void *context, size_t length, prv_fft *fft
) except? PRV_ERR_FFT with gil:
    if PyErr_Occurred():  # an earlier callback of this query has failed: C has only to stop
        return PRV_ERR_FFT
    fft[0] = plans_of(length).fft
    return PRV_OK


def provider():
    """Return a capsule of the prv_fft_provider, valid for the life of the process."""
    return PyCapsule_New(&PROVIDER, "prvcore.prv_fft_provider", NULL)


def cached_lengths():
    """Return the lengths planned so far, in increasing order."""
    return tuple(sorted(plans))


def forward(double[::1] values not None, double complex[::1] spectrum not None):
    """Transform as C does, for tests and for timing the transform alone."""
    if values.shape[0] < 1:
        raise ValueError("values must not be empty")
    check_buffers(values, spectrum)
    cdef prv_fft fft = plans_of(values.shape[0]).fft
    with nogil:
        fft.forward(fft.forward_plan, &values[0], &spectrum[0])


def inverse(double complex[::1] spectrum not None, double[::1] values not None):
    """Transform back, unnormalised; `spectrum` is overwritten."""
    if values.shape[0] < 1:
        raise ValueError("values must not be empty")
    check_buffers(values, spectrum)
    cdef prv_fft fft = plans_of(values.shape[0]).fft
    with nogil:
        fft.inverse(fft.inverse_plan, &spectrum[0], &values[0])


cdef int check_buffers(double[::1] values, double complex[::1] spectrum) except -1:
    if spectrum.shape[0] != values.shape[0] // 2 + 1:
        raise ValueError(
            f"spectrum must have length {values.shape[0] // 2 + 1}, half that of values and one "
            f"more, got {spectrum.shape[0]}"
        )
    # FFTW crashes the process on a buffer aligned less than the plan
    for name, address in (("values", <size_t>&values[0]), ("spectrum", <size_t>&spectrum[0])):
        if address % PRV_FFT_ALIGNMENT:
            raise ValueError(
                f"{name} must be aligned to {ALIGNMENT} bytes, got address {address:#x}"
            )
    return 0
