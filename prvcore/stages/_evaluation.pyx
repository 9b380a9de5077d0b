"""Stage 4: delta and epsilon of a composed loss by sums in long double, with their error terms."""

from libc.math cimport fmax, fmin

from prvcore._core.composition cimport let_stop, watch
from prvcore._core.core cimport (
    PRV_ENGINE_AUTO,
    PRV_OK,
    prv_options,
    prv_options_default,
    prv_status,
)
from prvcore._core.internals cimport (
    PRV_DOMINATED,
    PRV_DOMINATING,
    prv_certificate,
    prv_check_arithmetic,
    prv_check_interrupt,
    prv_curve_delta,
    prv_curve_epsilon,
    prv_inverse,
    prv_slack_parts,
    prv_value,
)
from prvcore._core.status cimport check

from collections import namedtuple

import numpy as np

from prvcore import _arguments
from prvcore._bounds import Bounds, shaped

__all__ = ["Composed", "ErrorTerms"]


ErrorTerms = namedtuple(
    "ErrorTerms",
    ("outside", "transforms", "relative", "shift", "absolute"),
    module="prvcore.stages",
)
ErrorTerms.__doc__ = """The errors of a composition, at most: the certificate of its bounds.

The first two are added to the finite part of delta at epsilon, or taken from it, in units of
``exp(log_moment - tilt * epsilon)``.

Attributes
----------
outside : float
    Truncation and wrap-around: the contribution of tilted mass outside the window, which is left
    out or comes back at the other end. For a spectrum: frequencies left out and periodic images.
transforms : float
    Rounding of the transforms and of the power; for a spectrum, rounding of its sums.
relative : float
    Rounding of cells, lattices, weights and sums: delta is off by a factor of at most
    ``1 + relative``.
shift : float
    Rounding of knots and lattice points: epsilon is off by at most `shift`, nats.
absolute : float
    Errors of the caller's tables and functions: delta of the mechanisms, not of the lattices, is
    off by at most `absolute` in addition.

"""


cdef class Composed:
    """A composed privacy loss, which tells delta and epsilon; made by the functions below.

    Base of `Convolution` and `Spectrum`. With lam the tilt and M the moment, the law that was
    composed is c(x) = y(x) e^(lam x) / M, where y is that of the sum.
    """

    __module__ = "prvcore.stages"

    cdef int check_made(self) except -1:
        if self.composed.engine == PRV_ENGINE_AUTO:
            raise ValueError(f"{type(self).__name__} must be made by a function of this module")
        return check(prv_check_arithmetic())

    def __init__(self):
        raise TypeError("made by prvcore.stages.convolve and prvcore.stages.sum_spectrum")

    @property
    def tilt(self):
        """The tilt lam."""
        return self.composed.tilted.tilt

    @property
    def log_moment(self):
        """The logarithm of M, the sum of all y(x) e^(lam x) over finite losses."""
        return self.composed.tilted.log_moment

    @property
    def infinite_mass(self):
        """`Bounds` of the mass at +infinity, ``1 - prod (1 - infinite_mass)^count``."""
        return Bounds(
            self.composed.tilted.infinite.low,
            self.composed.tilted.infinite.mass,
            self.composed.tilted.infinite.high,
        )

    @property
    def errors(self):
        """`ErrorTerms`: truncation, wrap-around and rounding."""
        self.check_made()
        cdef prv_slack_parts parts = prv_certificate(&self.composed, &self.rounding)
        return ErrorTerms(
            parts.outside,
            parts.transforms,
            parts.slack.relative,
            parts.slack.shift,
            self.absolute,
        )

    def delta(self, epsilon):
        """Bound delta of the composed lattices, by sums over the larger losses.

        Parameters
        ----------
        epsilon : float or array_like of float, any shape
            Nats, finite.

        Returns
        -------
        Bounds
            Floats for a scalar, else arrays. The estimate is the sum as it comes out, where that
            lies between the bounds. These have the errors on top, so that they hold for the
            lattices. If the lattices dominate mechanisms, the upper bound holds for the mechanisms
            too; if they are dominated, the lower bound does.

        Raises
        ------
        TypeError, ValueError
            An epsilon is not a finite number.

        Notes
        -----
        Of a convolution, prefix sums from the largest loss down, in long double or pairs of
        doubles: one pass over the window for each epsilon. All terms are >= 0 and nothing cancels.

        """
        points = _arguments.points(
            epsilon, "epsilon", "finite", -np.finfo(float).max, np.finfo(float).max
        )
        cdef const double[::1] flat = np.ascontiguousarray(points).reshape(-1)
        found = np.empty((flat.shape[0], 3))
        cdef double[:, ::1] bounds = found
        cdef prv_slack_parts parts
        cdef prv_value value
        cdef Py_ssize_t i
        cdef prv_options options = prv_options_default()
        cdef watch w
        cdef prv_status status = PRV_OK
        self.check_made()
        let_stop(&options, &w, None)
        with nogil:
            parts = prv_certificate(&self.composed, &self.rounding)
            for i in range(flat.shape[0]):
                status = prv_check_interrupt(&options)
                if status != PRV_OK:
                    break
                value = prv_curve_delta(&self.composed, flat[i], PRV_DOMINATED, &parts.slack)
                bounds[i, 0] = value.delta
                bounds[i, 1] = fmax(value.plain, value.delta)
                value = prv_curve_delta(&self.composed, flat[i], PRV_DOMINATING, &parts.slack)
                bounds[i, 1] = fmin(bounds[i, 1], value.delta)
                bounds[i, 2] = value.delta
        check(status)
        return shaped(found, points)

    def epsilon(self, delta, *, guess=0.0):
        """Bound the epsilon at which delta of the composed lattices has a value.

        Parameters
        ----------
        delta : float or array_like of float, any shape
            In (0, 1].
        guess : float
            Where the search begins, nats, finite. The bounds hold whatever it is; it may change
            their last bits.

        Returns
        -------
        Bounds
            Nats, >= 0, as `delta` returns them. Infinite where the mass at infinity, or the errors,
            reach delta.

        Raises
        ------
        TypeError, ValueError
            A delta is not in (0, 1].

        Notes
        -----
        Newton's method on the logarithm of the sums of `delta`. A bound is a point at which delta
        with its errors was found on the right side.

        """
        points = _arguments.points(delta, "delta", "in (0, 1]", np.nextafter(0.0, 1.0), 1.0)
        cdef const double[::1] flat = np.ascontiguousarray(points).reshape(-1)
        cdef double start = _arguments.finite(guess, "guess")
        found = np.empty((flat.shape[0], 3))
        cdef double[:, ::1] bounds = found
        cdef prv_slack_parts parts
        cdef prv_inverse inverse
        cdef Py_ssize_t i
        cdef prv_options options = prv_options_default()
        cdef watch w
        cdef prv_status status = PRV_OK
        self.check_made()
        let_stop(&options, &w, None)
        with nogil:
            parts = prv_certificate(&self.composed, &self.rounding)
            for i in range(flat.shape[0]):
                status = prv_check_interrupt(&options)
                if status != PRV_OK:
                    break
                inverse = prv_curve_epsilon(
                    &self.composed, flat[i], PRV_DOMINATED, &parts.slack, start
                )
                bounds[i, 0] = inverse.epsilon
                bounds[i, 1] = fmax(inverse.plain, inverse.epsilon)
                inverse = prv_curve_epsilon(
                    &self.composed, flat[i], PRV_DOMINATING, &parts.slack, start
                )
                bounds[i, 1] = fmin(bounds[i, 1], inverse.epsilon)
                bounds[i, 2] = inverse.epsilon
        check(status)
        return shaped(found, points)
