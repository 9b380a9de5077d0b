"""The claim of a witness follows from its lattices, and these from its mechanisms."""

from fractions import Fraction
from math import inf

from flint import arb

from .balls import ball, set_precision, text
from .composition import Composition
from .domination import check
from .mechanisms import check_mechanism, pair_of
from .refusal import Refused, require
from .witness import bound, checksum, lattice, number

__all__ = ["prove"]

# All of these are read but for the program and its passes, on which no claim rests.
_NAMES = {"format", "program", "steps", "neighbors", "question", "claim"}
_NAMES |= {"lattices", "passes", "checksum"}
# What Python raises where a file has something else than it should.
_MALFORMED = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError)
_MALFORMED += (TypeError, ValueError)
# The directions that each relation asks about.
_DIRECTIONS = {
    "add-or-remove": ("remove", "add"),
    "add": ("add",),
    "remove": ("remove",),
    "replace-one": ("replace-one",),
}


def prove(witness):
    """Raise Refused, with the first inequality that fails, unless the witness proves its claim."""
    set_precision()
    try:
        rest = {name: part for name, part in witness.items() if name != "checksum"}
        require(
            witness.get("checksum") == checksum(rest),
            "the witness was changed: its checksum is another",
        )
        _Question(witness).prove()
    except _MALFORMED as error:
        raise Refused(f"the witness is not as its format says: {error!r}") from error


def _require_names(fields, names, what):
    require(set(fields) == names, f"{what} has other names than {sorted(names)}")


class _Question:
    def __init__(self, witness):
        _require_names(witness, _NAMES, "the witness")
        _require_names(witness["claim"], {"lower", "upper"}, "the claim")
        for step in witness["steps"]:
            _require_names(step, {"mechanism", "count"}, "a step")
            check_mechanism(step["mechanism"])
        mechanisms = [step["mechanism"] for step in witness["steps"]]
        require(len(mechanisms) > 0, "there is no mechanism")
        self.counts = [step["count"] for step in witness["steps"]]
        are_positive = all(type(count) is int and count > 0 for count in self.counts)
        require(are_positive, "a count is not positive")
        sizes = {mechanism.get("group_size", 1) for mechanism in mechanisms}
        require(len(sizes) == 1, "neighbours of the mechanisms differ by groups of several sizes")
        neighbors = witness["neighbors"]
        require(neighbors in _DIRECTIONS, f"the neighbours {neighbors!r} are unknown")
        self.directions = _DIRECTIONS[neighbors]
        self.kinds = [mechanism["type"] for mechanism in mechanisms]
        self.pairs = {
            d: [pair_of(mechanism, d) for mechanism in mechanisms] for d in self.directions
        }
        (self.given, asked), *others = witness["question"].items()
        is_one = self.given in ("delta", "epsilon") and not others
        require(is_one, "the question has not one delta or epsilon")
        self.value = number(asked, f"the {self.given} asked")
        self.lower = bound(witness["claim"]["lower"], "the lower bound")
        self.upper = bound(witness["claim"]["upper"], "the upper bound")
        self.lattices = witness["lattices"]

    def prove(self):
        """Prove the upper bound in all directions, and the lower one in some direction."""
        if self.upper < inf:
            for direction in self.directions:
                self._prove_upper(direction)
        require(self.lower < inf, "the lower bound is infinite")
        if self.lower > 0:
            self._prove_lower()

    def _prove_upper(self, direction):
        """Show delta(upper) <= delta, or delta(epsilon) <= upper."""
        epsilon, delta = self._point(self.upper)
        require(epsilon >= 0 or self.given == "epsilon", "the upper bound is negative")
        if delta >= 1 or self._is_beyond_support(epsilon, delta, direction):
            return
        found = self._composed(direction, True, epsilon, delta).delta(epsilon)
        require(
            found <= ball(delta),
            f"{direction}: the composed lattices have delta = {text(found)} at epsilon = "
            f"{float(epsilon)!r}, which is above {float(delta)!r}",
        )

    def _is_beyond_support(self, epsilon, delta, direction):
        """Return whether losses above epsilon are infinite, and have no more mass than delta."""
        greatest, finite, total = arb(0), arb(1), arb(0)
        for pair, count in zip(self.pairs[direction], self.counts, strict=True):
            loss, infinite = pair.greatest_loss()
            if loss is None:
                return False
            greatest, finite = greatest + count * loss, finite * (1 - infinite) ** count
            total += count * infinite  # which has more digits of small masses
        return bool(greatest <= ball(epsilon) and (1 - finite).min(total) <= ball(delta))

    def _prove_lower(self):
        """Show delta(lower) > delta, or delta(epsilon) >= lower, in some direction."""
        failed = []
        for direction in self.directions:
            try:
                return self._prove_lower_in(direction)
            except Refused as refusal:
                failed.append(str(refusal))
        raise Refused("; ".join(failed))

    def _prove_lower_in(self, direction):
        epsilon, delta = self._point(self.lower)
        if self.given == "epsilon" and self._is_known_from_below(epsilon, delta, direction):
            return
        found = self._composed(direction, False, epsilon, delta).delta(epsilon)
        require(
            found > ball(delta) or (self.given == "epsilon" and found >= ball(delta)),
            f"{direction}: the composed lattices have delta = {text(found)} at epsilon = "
            f"{float(epsilon)!r}, which is not above {float(delta)!r}",
        )

    def _is_known_from_below(self, epsilon, delta, direction):
        """Return whether delta is at most 1 - e^epsilon or the mass at infinity."""
        finite = arb(1)
        for pair, count in zip(self.pairs[direction], self.counts, strict=True):
            if pair.attained:
                finite *= (1 - pair.greatest_loss()[1]) ** count
        return bool(ball(delta) <= 1 - ball(epsilon).exp() or ball(delta) <= 1 - finite)

    def _point(self, claimed):
        """Return the point of the curve, (epsilon, delta), that the claim is about."""
        return (self.value, claimed) if self.given == "epsilon" else (claimed, self.value)

    def _composed(self, direction, above, epsilon, delta):
        """Return the composition of the lattices of a direction and a side, which it checks."""
        side = "above" if above else "below"
        require(direction in self.lattices, f"there are no lattices of the direction {direction}")
        lattices = [lattice(stated, above) for stated in self.lattices[direction][side]]
        where, several = f"{direction}, {side}", len({y.spacing for y in lattices}) > 1
        is_one_each = len(lattices) == len(self.kinds)
        require(is_one_each, f"{where}: there is not one lattice for each step")
        require(not several, f"{where}: the lattices have several spacings")
        for kind, pair, y in zip(self.kinds, self.pairs[direction], lattices, strict=True):
            name = f"{where}, {kind}"
            require(
                above or pair.attained,
                f"{name}: no data sets are known to have its pair, which bounds from above alone",
            )
            check(y, pair, above, name)
        least = Fraction(1, 2**1074)
        return Composition(lattices, self.counts, above, max(delta, least), epsilon)
