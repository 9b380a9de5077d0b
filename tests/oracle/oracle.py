"""The true delta of a composition, in a ball, by whichever way is exact and takes no minutes.

What is composed are pairs; what data the pairs stand for is told in `worst`.
"""

import math

from flint import arb, arb_poly

from .balls import INFINITY, ONE, ZERO, TooSlowError, exact, hull, never_below, total
from .contour import Contour, real_moment
from .laws import Atoms, GaussianLaw, LaplaceLaw, MixtureLaw, RangeLaw
from .nesting import is_nested, nested
from .pairs import law_of
from .residues import Sums

MOST_ATOMS = 30_000
MOST_SMOOTH_ATOMS = 3_000
MOST_DEGREE = 30_000
CLOSE = 1e-6  # a wider ball, relatively, says nothing


def spare(ball):
    """Say whether a ball is narrow enough to be worth comparing with."""
    return (ball.is_finite() and ball.rad() <= CLOSE * ball.abs_lower()) or ball.rad() < 1e-320


class Oracle:
    """Delta of laws (law, count) of one direction."""

    def __init__(self, laws):
        variance, self.smooth, self.discrete = ZERO, [], []
        kept, self.top, masses = ZERO, ZERO, []
        for law, count in laws:
            if count == 0:
                continue
            self.top = self.top + count * law.top
            if isinstance(law, GaussianLaw):
                variance += count * law.variance
                continue
            if not law.infinite.is_zero():
                masses += [law.infinite] * min(count, 2)
                kept += count * (-law.infinite).log1p() if law.infinite < 1 else -INFINITY
            if isinstance(law, Atoms):
                self.discrete.append((law, count))
            else:
                self.smooth.append((law, count))
        if variance > 0:
            self.smooth.append((GaussianLaw(variance), 1))
        self.infinite = -kept.expm1() if len(masses) > 1 else masses[0] if masses else ZERO
        self.kept = 1 - self.infinite
        self._atoms = self._contour = self._sums = None

    def delta(self, x):
        """Return the truth at x (a double or a ball) and the way; raise TooSlowError."""
        x = exact(x)
        if x == INFINITY or x >= self.top or self.infinite == ONE:
            return self.infinite, "greatest loss"
        if x == -INFINITY:
            return ONE, "greatest loss"
        if not self.smooth and not self.discrete:
            return never_below(x), "nothing"
        reasons = []
        for name, way in (
            ("sum", self._by_sum),
            ("residues", self._by_residues),
            ("contour", self._by_contour),
        ):
            try:
                value = way(x)
            except (TooSlowError, OverflowError) as reason:  # of what is chosen by doubles
                reasons.append(f"{name}: {reason}")
                continue
            whole = value + self.infinite
            if spare(whole):
                return whole.max(never_below(x)).min(ONE), name
            reasons.append(f"{name}: not exact enough")
        raise TooSlowError("; ".join(reasons))

    def _by_sum(self, x):
        smooth = self.smooth
        if len(smooth) > 1 or (smooth and (smooth[0][1] > 1 or not hasattr(smooth[0][0], "curve"))):
            raise TooSlowError("several densities")
        most = MOST_SMOOTH_ATOMS if smooth else MOST_ATOMS
        if self._atoms is None:
            self._atoms = composed(self.discrete, most)
        atoms = self._atoms
        if not smooth:
            value = atoms.finite(x)
        else:
            law = smooth[0][0]
            # the mass at infinity is counted already
            value = total(
                mass * (law.curve(x - loss) - law.infinite)
                for loss, mass in zip(atoms.losses, atoms.masses, strict=True)
            )
        return hull(value, value + atoms.missing) if atoms.missing > 0 else value

    def _by_residues(self, x):
        if self._sums is None:
            if not all(isinstance(law, LaplaceLaw | RangeLaw) for law, _ in self.smooth):
                raise TooSlowError("a moment of another form")
            if any(law.missing > 0 for law, _ in self.discrete):
                raise TooSlowError("losses that are not written down")
            self._sums = Sums(self.discrete + self.smooth)
        return self._sums.value(x)

    def _by_contour(self, x):
        if self._contour is None:
            self._contour = Contour(self.discrete + self.smooth)
        if not x.is_exact() or not math.isfinite(float(x)):
            raise TooSlowError("no double")
        return self._contour.value(x)

    def log_moment(self, b):
        """Return log E[e^(bY)] of a real b > 0."""
        if not self.infinite.is_zero():
            return INFINITY
        value = ZERO
        for law, count in self.discrete + self.smooth:
            if isinstance(law, MixtureLaw):
                moment = real_moment(law, b)
            elif hasattr(law, "moment") and not getattr(law, "missing", ZERO) > 0:
                moment = law.moment(exact(b))
            else:
                raise TooSlowError("a moment that is not known")
            value += count * moment.log()
        return value

    def atoms(self, most):
        """Return all losses written out, if there are no others."""
        if self.smooth:
            raise TooSlowError("densities")
        if self._atoms is None:
            self._atoms = composed(self.discrete, MOST_ATOMS)
        if len(self._atoms.losses) > most or self._atoms.missing > 0:
            raise TooSlowError("atoms")
        return self._atoms


# ---- Finitely many losses ----------------------------------------------------------------------


def composed(steps, most):
    """Return the sum of independent losses (law, count), written out."""
    whole = Atoms([ZERO], [ONE])
    parts = sorted((power(law, count, most) for law, count in steps), key=lambda a: len(a.losses))
    for part in parts:
        whole = together(whole, part, most)
    return whole


def together(a, b, most):
    if len(a.losses) * len(b.losses) > most:
        raise TooSlowError("atoms")
    losses = [x + y for x in a.losses for y in b.losses]
    masses = [p * q for p in a.masses for q in b.masses]
    return Atoms(losses, masses, missing=a.missing + b.missing)


def power(law, count, most):
    """Return the sum of `count` independent losses of one law."""
    size, missing = len(law.losses), count * law.missing
    if count == 1 or size == 0:
        return Atoms(law.losses, law.masses, missing=missing)
    if size == 1:
        return Atoms([count * law.losses[0]], [law.masses[0] ** count], missing=missing)
    if size == 2:
        if count >= most:
            raise TooSlowError("atoms")
        (x, y), (p, q) = law.losses, law.masses
        losses = [(count - n) * x + n * y for n in range(count + 1)]
        masses = [arb.bin_uiui(count, n) * p ** (count - n) * q**n for n in range(count + 1)]
        return Atoms(losses, masses, missing=missing)
    if law.step is not None:
        if (size - 1) * count > min(most, MOST_DEGREE):
            raise TooSlowError("atoms")
        masses = (arb_poly(law.masses) ** count).coeffs()
        low = count * law.losses[0]
        losses = [low + i * law.step for i in range(len(masses))]
        return Atoms(losses, [mass.max(ZERO) for mass in masses], missing=missing)
    if math.comb(count + size - 1, size - 1) > most:
        raise TooSlowError("atoms")
    # one loss after another takes its share of the steps that are left
    found = [(ZERO, ONE, count)]
    for i, (loss, mass) in enumerate(zip(law.losses, law.masses, strict=True)):
        after = []
        for value, weight, left in found:
            takes = [left] if i == size - 1 else range(left + 1)
            after += [
                (value + n * loss, weight * arb.bin_uiui(left, n) * mass**n, left - n)
                for n in takes
            ]
        found = after
    return Atoms([x for x, _, _ in found], [m for _, m, _ in found], missing=missing)


def pairs_of(steps, direction):
    """Return the laws of steps (mechanism, count)."""
    return [
        ((nested if is_nested(mechanism) else law_of)(mechanism, direction), count)
        for mechanism, count in steps
        if count
    ]
