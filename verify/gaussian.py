"""Pairs of two mixtures of normal distributions of one deviation.

A pair is (P, Q), of densities p = sum_c w_c phi((x - c) / s) and q = sum_c v_c phi((x - c) / s),
where no centre of P is above one of Q. Then q / p rises with x, since the derivative of its
logarithm is the mean of Q's centres given x less that of P's, over s^2. So by Neyman and Pearson
the best tests are the half-lines {x > z}.
"""

from flint import arb

from .balls import ball, between, normal_above
from .refusal import require

__all__ = ["Gaussian"]

_NUDGE = arb(2) ** -120
_ROUNDS = 200


class Gaussian:
    """The pair of the weights `null` of P and `special` of Q: dicts from exact centres to balls."""

    attained = True  # by some data sets

    def __init__(self, null, special, deviation):
        require(deviation > 0, "the deviation of the noise is not positive")
        require(max(null) <= min(special), "the centres of the two mixtures overlap")
        self.null, self.special, self.deviation = null, special, deviation
        self._null = [(ball(centre), weight) for centre, weight in null.items()]
        self._special = [(ball(centre), weight) for centre, weight in special.items()]
        self._centres = [
            (ball(centre), null.get(centre, arb(0)), special.get(centre, arb(0)))
            for centre in sorted({*null, *special})
        ]

    def greatest_loss(self):
        """Return an upper bound of all finite losses, or None, and the mass of infinite loss."""
        if max(self.special) > max(self.null):
            return None, arb(0)
        (centre,) = self.special  # all centres of P are at or below it, which is Q's only one
        if centre not in self.null:
            return None, arb(0)
        return -self.null[centre].log(), arb(0)

    def delta(self, t):
        """Return sup_S Q(S) - t P(S)."""
        place = self._place(t)
        if place == "everywhere":
            return 1 - t
        if place == "nowhere":
            return arb(0)
        return self._above(self._special, place) - t * self._above(self._null, place)

    def power(self, rate):
        """Return Q(S) of a set for which P(S) is at most the rate."""
        rate = rate.lower()
        require(rate.is_finite(), "a rate is no number")
        if rate >= 1:
            return arb(1)
        if rate <= 0:
            return arb(0)
        reach = (2 * (2 / rate).log()).sqrt(), (2 * (2 / (1 - rate)).log()).sqrt()
        low = ball(min(self.null)) - self.deviation * reach[1]
        high = ball(max(self.null)) + self.deviation * reach[0]
        place = self._root(rate, low.mid(), high.mid())
        nudge = self.deviation.mid() * _NUDGE
        while not self._above(self._null, place) <= rate:
            place, nudge = (place + nudge).mid(), 2 * nudge
        return self._above(self._special, place)

    def sampled(self, probability, direction):
        """Return the pair on a Poisson sample."""
        mixed = dict.fromkeys([*self.null, *self.special], arb(0))
        absent, present = (self.null, self.special)[:: 1 if direction == "remove" else -1]
        for centre, weight in absent.items():
            mixed[centre] += (1 - probability) * weight
        for centre, weight in present.items():
            mixed[centre] += probability * weight
        null, special = (self.null, mixed) if direction == "remove" else (mixed, self.special)
        return Gaussian(null, special, self.deviation)

    def _above(self, weights, place):
        total = arb(0)
        for centre, weight in weights:
            total += weight * normal_above((place - centre) / self.deviation)
        return total

    def _place(self, t):
        """Return where q = t p, or on which side of it all places are."""
        below, above = [], []
        for centre, null, special in self._centres:
            value = special - t * null
            if value > 0:
                above.append((centre, value))
            elif value < 0:
                require(not above, "the ratio of densities is not monotone")
                below.append((centre, -value))
            else:
                require(value == 0, "a threshold cannot be told from a ratio of weights")
        if not below:
            return "everywhere"
        return self._crossing(above, below) if above else "nowhere"

    def _crossing(self, above, below):
        """Return where two sums of exponentials are equal, the first of which rises faster.

        The difference of their logarithms rises at least like `gap`, so that its size at a guess
        bounds how far the guess is off.
        """
        variance = self.deviation**2
        gap = (above[0][0] - below[-1][0]) / variance
        if len(above) == len(below) == 1:
            (high, up), (low, down) = *above, *below
            return (down / up).log() / gap + (high + low) / 2
        guess = arb(0)
        for _ in range(_ROUNDS):
            difference, slope = _log_ratio(above, below, guess, variance)
            step = (difference / slope).mid()
            if abs(step) <= (1 + abs(guess)) * _NUDGE:
                break
            guess = (guess - step).mid()
        error = (abs(_log_ratio(above, below, guess, variance)[0]) / gap).abs_upper()
        return between(guess - error, guess + error)

    def _root(self, rate, low, high):
        """Return about where P's tail is the rate, by Newton's method within a bracket."""
        guess, target = (low + high) / 2, rate.log()
        for _ in range(_ROUNDS):
            tail = self._above(self._null, guess)
            error = (tail.log() - target).mid()
            low, high = (guess, high) if error > 0 else (low, guess)
            step = (error * tail / self._density(guess)).mid()
            if abs(step) <= self.deviation * _NUDGE:
                return (guess + step).mid()
            guess = (guess + step).mid()
            if not (guess > low and guess < high):
                guess = ((low + high) / 2).mid()
        return guess

    def _density(self, place):
        total, scale = arb(0), self.deviation * (2 * arb.pi()).sqrt()
        for centre, weight in self._null:
            z = (place - centre) / self.deviation
            total += weight * (-(z**2) / 2).exp()
        return total / scale


def _log_ratio(above, below, place, variance):
    """Return the logarithm of the quotient of two sums of exponentials, and its derivative.

    A sum has the terms weight e^((centre place - centre^2 / 2) / variance).
    """
    (up, up_slope), (down, down_slope) = (
        _log_sum(weights, place, variance) for weights in (above, below)
    )
    return up - down, up_slope - down_slope


def _log_sum(weights, place, variance):
    logs = [w.log() + (c * place - c**2 / 2) / variance for c, w in weights]
    most = max(value.mid() for value in logs)
    terms = [(value - most).exp() for value in logs]
    total = sum(terms, arb(0))
    mean = sum((c * term for (c, _), term in zip(weights, terms, strict=True)), arb(0)) / total
    return most + total.log(), mean / variance
