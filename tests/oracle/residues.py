"""Delta of Laplace steps, bounded ranges and finitely many losses, in closed form.

    delta(eps) = 1/(2 pi i) * integral over Re z = c of M(z) e^(-z eps) / (z (z + 1)) dz,    c > 0,

with M(z) = E[e^(zY); Y finite], since 1/(z (z + 1)) is the transform of the payoff (1 - e^-s)_+. M
is here a sum of coefficient * z^i (z+1)^j e^(z shift) / (2z+1)^m with i + j <= m. A term with
shift - eps <= 0 has no residue at the right of c and adds nothing; any other is the sum of its
residues at 0, -1 and -1/2.
"""

from flint import arb, arb_series, ctx

from .balls import ONE, ZERO, Precision, TooSlowError, exact

MOST_TERMS = 4000
MOST_POLES = 80


class Sums:
    """The composition of laws of which each has a moment of that form: (law, count)."""

    def __init__(self, steps):
        self.steps = steps
        self.order = sum(count for law, count in steps if law.smooth)
        if self.order > MOST_POLES:
            raise TooSlowError("poles")
        self.bits = 256 + 12 * self.order
        self._terms = None

    def _expanded(self):
        """Return a dictionary (i, j) -> [(shift, coefficient)]."""
        whole = {(0, 0): [(ZERO, ONE)]}
        for law, count in self.steps:
            whole = _product(whole, _power(law, count))
        return whole

    def value(self, epsilon):
        """Return delta at epsilon but for the mass at infinity."""
        with Precision(max(self.bits, ctx.prec)):
            x = exact(epsilon)
            if self._terms is None:
                self._terms = self._expanded()
            result = ZERO
            for (i, j), terms in self._terms.items():
                for shift, coefficient in terms:
                    s = shift - x
                    if s < 0:
                        continue
                    if not s > 0:
                        s = s.max(ZERO)
                    result += coefficient * _residues(i, j, self.order, s)
            return result


def _power(law, count):
    terms = law.terms if law.smooth else list(zip(law.masses, law.losses, strict=True))
    if not law.smooth:
        terms = [(mass, 0, 0, loss) for mass, loss in terms]
    if len(terms) > 2 and count > 6:
        raise TooSlowError("terms")
    result = {(0, 0): [(ZERO, ONE)]}
    if len(terms) == 2 and count > 1:
        (a, ai, aj, x), (b, bi, bj, y) = terms
        result = {}
        for n in range(count + 1):
            place = (ai * (count - n) + bi * n, aj * (count - n) + bj * n)
            term = arb.bin_uiui(count, n) * a ** (count - n) * b**n
            result.setdefault(place, []).append(((count - n) * x + n * y, term))
        return result
    one = {}
    for a, i, j, x in terms:
        one.setdefault((i, j), []).append((x, a))
    for _ in range(count):
        result = _product(result, one)
    return result


def _product(a, b):
    if sum(map(len, a.values())) * sum(map(len, b.values())) > MOST_TERMS:
        raise TooSlowError("terms")
    result = {}
    for (i, j), left in a.items():
        for (k, m), right in b.items():
            into = result.setdefault((i + k, j + m), [])
            into += [(x + y, p * q) for x, p in left for y, q in right]
    return result


def _residues(i, j, m, s):
    """Sum the residues of z^(i-1) (z+1)^(j-1) e^(z s) / (2z+1)^m."""
    result = ZERO
    if i == 0:  # at 0
        result += ONE
    if j == 0:  # at -1, where z^(i-1) is (-1)^(i-1) and 2z + 1 is -1
        result += (-1) ** (i - 1 + m) * (-s).exp()
    if m:  # at -1/2: z = -1/2 + w, of which the coefficient of w^(m-1) over 2^m
        before, ctx.cap = ctx.cap, m
        try:
            # z^(i-1) (z+1)^(j-1) by binomial series, and e^(ws)
            low = arb_series([arb(-1) / 2, ONE], prec=m)
            high = arb_series([arb(1) / 2, ONE], prec=m)
            series = _integer_power(low, i - 1) * _integer_power(high, j - 1)
            series = series * arb_series([ZERO, s], prec=m).exp()
            coefficient = series[m - 1]
        finally:
            ctx.cap = before
        result += (-s / 2).exp() * coefficient / arb(2) ** m
    return result


def _integer_power(series, n):
    if n < 0:
        series, n = 1 / series, -n
    result = arb_series([ONE], prec=series.prec)
    for _ in range(n):
        result = result * series
    return result
