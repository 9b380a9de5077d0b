"""Stage 3: sums of independent losses, by convolution with pyFFTW or by a spectrum."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport fmin
from libc.stdint cimport int64_t
from libc.string cimport memset

from prvcore._core.composition cimport let_stop, plan_transforms, watch
from prvcore._core.core cimport (
    PRV_ERR_PRECISION,
    PRV_OK,
    prv_fft,
    prv_options,
    prv_options_default,
    prv_status,
)
from prvcore._core.internals cimport (
    PRV_LONGEST_TRANSFORM,
    prv_check_arithmetic,
    prv_compose,
    prv_composed_loss,
    prv_direct_products,
    prv_lattice,
    prv_rounding,
    prv_spectrum,
    prv_spectrum_free,
    prv_spectrum_new,
    prv_window,
    prv_workspace,
    prv_workspace_bytes,
    prv_workspace_free,
    prv_workspace_new,
)
from prvcore._core.status cimport check
from prvcore.stages._arrays cimport check_room, copy_of
from prvcore.stages._evaluation cimport Composed
from prvcore.stages._lattices cimport Lattice

import numpy as np

from prvcore import _arguments
from prvcore._errors import PrecisionError
from prvcore._settings import memory_limit_of

__all__ = ["Convolution", "Spectrum", "Window", "convolve", "sum_spectrum"]

# Of a frequency: ten doubles while it is summed, and four that are kept; and its work beside that
# of its atoms, as composition/spectrum.c counts it.
cdef int64_t BYTES_OF_FREQUENCY = 112
cdef double WORK_OF_FREQUENCY = 256.0


@cython.final
cdef class Window:
    """The range in which a composed loss is computed, and the bounds of the mass outside.

    Parameters
    ----------
    lowest : float
        The lowest loss, nats, finite; rounded down to a lattice point. For `convolve`.
    length : int
        Lattice points of the window, in [1, 2^40]: the length of the transforms, which are fast if
        its prime factors are small. For `convolve`.
    shift_down, shift_up : float
        The tilted mass below and above the window is bounded by Chernoff's inequality at these
        distances from the tilt; finite and >= 0. With 0 nothing is known of that mass. Any
        other number gives a true bound; the best one depends on the distribution.
    precise : bool
        Whether `convolve` takes the way with less rounding, and more time, for laws whose bulk is a
        few atoms.
    low_epsilon, high_epsilon : float
        Where lower bounds are wanted, nats, finite. For `sum_spectrum`.
    tolerance : float
        The cost allowed to each thing left out, in units of ``exp(log_moment - tilt * epsilon)``;
        finite and > 0.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range.

    """

    __module__ = "prvcore.stages"

    def __init__(
        self,
        *,
        lowest=0.0,
        length=1,
        shift_down=0.0,
        shift_up=0.0,
        precise=False,
        low_epsilon=0.0,
        high_epsilon=0.0,
        tolerance=1e-20,
    ):
        cdef prv_window window
        memset(&window, 0, sizeof(window))
        window.lowest = _arguments.finite(lowest, "lowest")
        window.length = _arguments.integer(length, "length", 1, PRV_LONGEST_TRANSFORM)
        window.shift_down = _arguments.non_negative(shift_down, "shift_down")
        window.shift_up = _arguments.non_negative(shift_up, "shift_up")
        window.precise = bool(precise)
        window.low_epsilon = _arguments.finite(low_epsilon, "low_epsilon")
        window.high_epsilon = _arguments.finite(high_epsilon, "high_epsilon")
        window.tolerance = _arguments.positive(tolerance, "tolerance")
        if window.high_epsilon < window.low_epsilon:
            raise ValueError(
                f"high_epsilon must be at least low_epsilon = {low_epsilon!r}, got "
                f"{high_epsilon!r}"
            )
        if self.window.length != 0:
            raise TypeError("a Window is immutable")
        self.window = window

    @property
    def lowest(self):
        """The lowest loss of the window, nats."""
        return self.window.lowest

    @property
    def length(self):
        """Number of lattice points."""
        return self.window.length

    @property
    def shift_down(self):
        """Shift of the tilt for the bound of the mass below the window."""
        return self.window.shift_down

    @property
    def shift_up(self):
        """Shift of the tilt for the bound of the mass above the window."""
        return self.window.shift_up

    @property
    def precise(self):
        """Whether `convolve` takes the way with less rounding."""
        return self.window.precise

    @property
    def low_epsilon(self):
        """The least epsilon at which lower bounds are wanted, nats."""
        return self.window.low_epsilon

    @property
    def high_epsilon(self):
        """The greatest epsilon at which lower bounds are wanted, nats."""
        return self.window.high_epsilon

    @property
    def tolerance(self):
        """Cost allowed to each thing left out, in units of ``exp(log_moment - tilt * epsilon)``."""
        return self.window.tolerance

    def __repr__(self):
        return f"<Window: {self.window.length} points from {self.window.lowest!r}>"


@cython.final
cdef class Convolution(Composed):
    """A composed loss by its tilted masses in a window; made by `convolve`."""

    __module__ = "prvcore.stages"

    cdef prv_workspace work

    def __dealloc__(self):
        prv_workspace_free(&self.work)

    @property
    def loss(self):
        """The losses of the window, nats, float64 (length,)."""
        cdef size_t i, length = self.composed.convolved.length
        found = np.empty(length)
        cdef double[::1] values = found
        for i in range(length):
            values[i] = prv_composed_loss(&self.composed, i)
        return found

    @property
    def mass(self):
        """The tilted mass c(x) of each loss of the window, float64 (length,).

        They sum to 1. Rounding of the transforms may leave tiny negative ones.
        """
        cdef size_t length = self.composed.convolved.length, start = self.composed.convolved.start
        return np.concatenate(
            (
                copy_of(self.composed.convolved.mass + start, length - start),
                copy_of(self.composed.convolved.mass, start),
            )
        )

    @property
    def transforms(self):
        """How many transforms were executed; 0 if the lattices were multiplied out."""
        return self.composed.convolved.transforms

    def __repr__(self):
        return f"<Convolution: {self.composed.convolved.length} points>"


@cython.final
cdef class Spectrum(Composed):
    """A composed loss by its Fourier series at some frequencies; made by `sum_spectrum`."""

    __module__ = "prvcore.stages"

    cdef prv_spectrum spectrum

    def __dealloc__(self):
        prv_spectrum_free(&self.spectrum)

    @property
    def frequencies(self):
        """How many frequencies are summed."""
        return self.spectrum.count

    @property
    def period(self):
        """The period of the series, nats."""
        return self.spectrum.points * self.composed.spacing

    def __repr__(self):
        return f"<Spectrum: {self.spectrum.count} frequencies>"


@cython.final
cdef class Steps:
    """Lattices and their counts, as C takes them; keeps the lattices alive."""

    cdef list kept
    cdef const prv_lattice **lattices
    cdef double *counts
    cdef size_t length, longest
    cdef double total, atoms  # runs; atoms of positive mass of all lattices
    cdef prv_rounding rounding
    cdef double absolute

    def __cinit__(self, lattices, counts):
        cdef Lattice one
        cdef size_t j
        if isinstance(lattices, Lattice):
            lattices, counts = [lattices], [counts]
        try:
            self.kept = list(lattices)
        except TypeError:
            raise TypeError(
                f"lattices must be a Lattice, or a sequence of them, got {lattices!r}"
            ) from None
        self.length = len(self.kept)
        try:
            counts = [_arguments.integer(n, "counts", 1, 2**53) for n in counts]
        except TypeError:
            raise TypeError(
                "counts must be an integer for one lattice, or one for each of lattices, got "
                f"{counts!r}"
            ) from None
        if self.length == 0 or len(counts) != len(self.kept):
            raise ValueError(
                "lattices must not be empty, and counts have one entry for each of them, got "
                f"{len(counts)} for {self.length}"
            )
        _arguments.total_count(counts)
        self.lattices = <const prv_lattice **>PyMem_Malloc(self.length * sizeof(void *))
        self.counts = <double *>PyMem_Malloc(self.length * sizeof(double))
        if self.lattices is NULL or self.counts is NULL:
            raise MemoryError
        for j in range(self.length):
            if not isinstance(self.kept[j], Lattice):
                raise TypeError(f"lattices[{j}] must be a Lattice, got {self.kept[j]!r}")
            one = self.kept[j]
            spacing = (<Lattice>self.kept[0]).lattice.spacing
            if one.lattice.length == 0 or one.lattice.spacing != spacing:
                raise ValueError(
                    f"lattices must have atoms, and all one spacing, got {self.kept[0]!r} and "
                    f"{one!r}"
                )
            self.lattices[j] = &one.lattice
            self.counts[j] = counts[j]
            self.longest = max(self.longest, one.lattice.length)
            self.total += self.counts[j]
            self.atoms += count_positive(&one.lattice)
            self.rounding.relative += self.counts[j] * one.lattice.rounding.relative
            self.rounding.shift += self.counts[j] * one.lattice.rounding.shift
            self.absolute += self.counts[j] * one.error

    def __dealloc__(self):
        PyMem_Free(self.lattices)
        PyMem_Free(self.counts)


cdef double count_positive(const prv_lattice *lattice) noexcept:
    cdef size_t i
    cdef double count = 0.0
    for i in range(lattice.length):
        if lattice.mass[i] > 0.0:
            count += 1.0
    return count


def convolve(
    lattices, counts, Window window not None, *, tilt=0.0, transforms=True, memory_limit=None
):
    """Return the sum of independent losses by circular convolution, tilted or not.

    Parameters
    ----------
    lattices : Lattice, or sequence of Lattice
        One for each distinct mechanism, all with one spacing.
    counts : int, or sequence of int
        How often each runs, >= 1, at most 2^53 together.
    window : Window
        Its length is the period: mass outside comes back at the other end, and is bounded in
        `errors`.
    tilt : float
        Finite and >= 0. With 0 this is ComposePRV, Algorithm 1 of [1]_.
    transforms : bool
        If True, by pyFFTW: one transform for each lattice, powers of the spectra, and one back. If
        False, the lattices are multiplied out: masses keep relative accuracy.
    memory_limit : int, optional
        Bytes that the arrays of the call may take together; left out, `prvcore.get_memory_limit`.

    Returns
    -------
    Convolution

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range; the window needs more memory than
        the limit; too many products would be multiplied out.
    PrecisionError
        The power would amplify the rounding of the transforms too much.
    MemoryError
        There is no room for the arrays.

    Notes
    -----
    O(length log length) for each lattice. ``src_c/composition/convolution.h`` has the bound of
    rounding.

    References
    ----------
    .. [1] Gopi, Lee, Wutschitz, "Numerical composition of differential privacy", NeurIPS 2021,
       arXiv:2106.02848.

    """
    cdef Steps steps = Steps(lattices, counts)
    cdef double lam = _arguments.non_negative(tilt, "tilt")
    cdef prv_window within = window.window
    cdef size_t length = within.length
    cdef prv_options options = prv_options_default()
    cdef watch w
    cdef prv_fft plans
    cdef const prv_fft *fft = NULL
    cdef Convolution made = Convolution.__new__(Convolution)
    cdef prv_status status = PRV_OK
    if length == 0:
        raise ValueError(f"window.length must be at least 1, got {window!r}")
    check_room(
        f"window.length = {length}",
        prv_workspace_bytes(<double>length, steps.length),
        memory_limit_of(memory_limit),
    )
    if transforms:
        check(plan_transforms(NULL, length, &plans))
        fft = &plans
    elif steps.total > 1.0 and not (
        prv_direct_products(steps.lattices, steps.counts, steps.length, length) <= 1e10
    ):
        raise ValueError(
            f"transforms must be True for these lattices, counts {counts!r} and {window!r}: too "
            "many products"
        )
    check(prv_check_arithmetic())
    check(prv_workspace_new(length, steps.length, steps.longest, &made.work))
    made.rounding, made.absolute = steps.rounding, steps.absolute
    let_stop(&options, &w, None)
    within.options = &options
    with nogil:
        status = prv_compose(
            steps.lattices,
            steps.counts,
            steps.length,
            lam,
            &within,
            fft,
            &made.work,
            &made.composed,
        )
    if status == PRV_ERR_PRECISION:
        raise PrecisionError(
            f"the power of {counts!r} would amplify the rounding of the transforms too much: "
            "compose with a tilt, with transforms=False, or fewer at once"
        )
    check(status)
    return made


def sum_spectrum(
    lattices, counts, Window window not None, *, tilt, most_work=1e9, memory_limit=None
):
    """Return the sum of independent losses by the spectrum: its Fourier series.

    Parameters
    ----------
    lattices, counts
        As for `convolve`.
    window : Window
        Of it `low_epsilon`, `high_epsilon`, `tolerance` and the shifts, which must be > 0.
    tilt : float
        Finite and > 0. The period grows like 1 / tilt.
    most_work : float
        Products of an atom and a frequency that may be computed, > 0.
    memory_limit : int, optional
        Bytes that the arrays of the call may take together; left out, `prvcore.get_memory_limit`.

    Returns
    -------
    Spectrum

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range; the spectrum has more frequencies than
        the limit has room for.
    PrecisionError
        The spectrum falls too slowly, or not at all.
    MemoryError
        There is no room for the arrays.

    Notes
    -----
    The cost does not depend on the counts: atoms times frequencies. :doc:`/spectrum` proves what is
    left out.

    """
    cdef Steps steps = Steps(lattices, counts)
    cdef double lam = _arguments.positive(tilt, "tilt")
    cdef double work = _arguments.positive(most_work, "most_work")
    cdef int64_t limit = memory_limit_of(memory_limit)
    cdef double most_frequencies = limit // BYTES_OF_FREQUENCY
    cdef double room = most_frequencies * (steps.atoms + WORK_OF_FREQUENCY * steps.length)
    cdef Spectrum made = Spectrum.__new__(Spectrum)
    cdef prv_window within = window.window
    cdef prv_options options = prv_options_default()
    cdef watch w
    cdef prv_status status = PRV_OK
    for name in ("shift_down", "shift_up", "tolerance"):
        _arguments.positive(getattr(window, name), f"window.{name}")
    check(prv_check_arithmetic())
    made.rounding, made.absolute = steps.rounding, steps.absolute
    let_stop(&options, &w, None)
    within.options = &options
    with nogil:
        status = prv_spectrum_new(
            steps.lattices,
            steps.counts,
            steps.length,
            lam,
            &within,
            fmin(work, room),
            &made.spectrum,
            &made.composed,
        )
    if status == PRV_ERR_PRECISION and room < work:
        raise ValueError(
            f"the spectrum does not fall within the {most_frequencies:.0f} frequencies that the "
            f"memory limit of {limit} bytes has room for"
        )
    if status == PRV_ERR_PRECISION:
        raise PrecisionError(
            f"the spectrum does not fall within the frequencies that most_work = {work!r} has "
            "room for, or rounding is as large as it"
        )
    check(status)
    return made
