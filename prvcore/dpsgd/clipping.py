"""Adaptive clipping: how much noise is left for the gradients."""

import math
from fractions import Fraction

from prvcore import _arguments
from prvcore._names import by_name, public
from prvcore._outward import RoundedUp

__all__ = ["adaptive_clipping_noise"]

_MOST = 2**32


@public
@by_name
def adaptive_clipping_noise(
    noise_multiplier: float, deviation: float, *, centred: bool, counts: int = 1
) -> float:
    """Return the noise of the gradients with which a step of adaptive clipping has a total noise.

    A step releases the noisy sum of the clipped gradients and, of the same batch, noisy counts of
    the records that were clipped, which adapt the clipping norm [1]_. Together both are one
    Gaussian mechanism. With noise multiplier s of the whole step, z of the gradients, and b the
    deviation of the noise of each of K counts,

    * 1 / z^2 = 1 / s^2 - K / (2 b)^2 for counts that are centred, and
    * 1 / z^2 = 1 / s^2 - K / b^2 for counts of zeros and ones.

    Parameters
    ----------
    noise_multiplier : float
        s, finite and > 0: what `dpsgd_noise_multiplier` found for the run, say.
    deviation : float
        b, the standard deviation of the noise of a count, in records, finite and > 0.
    centred : bool
        What a record adds to a count, as `NoisyCount` has it: 1/2 or -1/2 if True, 1 or 0 if False.
        Look it up in the program that runs. The optimizer of Opacus for adaptive clipping adds 1 or
        0, and takes the noise for a centred count.
    counts : int, default 1
        K, in [1, 2^32]: the number of layers or groups if each has a clipping norm of its own.

    Returns
    -------
    float
        z, rounded up: the total noise is no less than s. Formatted, and by ``round``, it is rounded
        up, too.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range; or the counts alone are no more private
        than the whole step should be, so that no noise of the gradients is enough.

    See Also
    --------
    NoisyCount : the count as a mechanism.
    PoissonSubsampled : takes both in one list, for one sample.

    Notes
    -----
    The formulas are of records that are added or removed. Under ``neighbors="replace-one"`` that of
    centred counts holds too, and for counts of zeros and ones more noise than there is in it.

    References
    ----------
    .. [1] Andrew, Thakkar, McMahan, Ramaswamy, "Differentially private learning with adaptive
       clipping", NeurIPS 2021, arXiv:1905.03871, section 3.1.

    Examples
    --------
    >>> import prvcore as prv
    >>> noise = prv.adaptive_clipping_noise(1.0, deviation=0.8, centred=True)
    >>> f"{noise:.6f}"
    '1.281026'
    >>> both = [prv.Gaussian(noise), prv.NoisyCount(0.8, centred=True)]
    >>> step = prv.PoissonSubsampled(both, sampling_probability=0.01)
    >>> f"{prv.eps_from_delta(step, 1e-5, counts=1000):.2f}"
    '[1.82, 1.83]'
    >>> f"{prv.dpsgd_epsilon(1.0, 0.01, 1000, 1e-5):.2f}"
    '[1.82, 1.83]'

    """
    total = Fraction(_arguments.positive(noise_multiplier, "noise_multiplier"))
    noise = Fraction(_arguments.positive(deviation, "deviation"))
    sensitivity = Fraction(1, 2) if _arguments.flag(centred, "centred") else Fraction(1)
    number = _arguments.integer(counts, "counts", 1, _MOST)
    left = 1 / total**2 - number * sensitivity**2 / noise**2
    found = _root_rounded_up(1 / left) if left > 0 else math.inf
    if math.isinf(found):
        least = float(total * sensitivity) * math.sqrt(number)
        raise ValueError(
            f"deviation must be above {least:.6g}, at which the counts alone have the noise of "
            f"the whole step, got {deviation!r}"
        )
    return RoundedUp(found)


def _root_rounded_up(square: Fraction) -> float:
    """Return the least float, perhaps infinite, whose square is at least `square`, which is > 0."""
    # the integer root, with 64 digits more than a float has
    shift = 2 * (128 + max(0, square.denominator.bit_length() - square.numerator.bit_length()))
    root = math.isqrt((square.numerator << shift) // square.denominator)
    try:
        found = float(Fraction(root, 2 ** (shift // 2)))
    except OverflowError:  # above all floats
        return math.inf
    while math.isfinite(found) and Fraction(found) ** 2 < square:
        found = math.nextafter(found, math.inf)
    return found
