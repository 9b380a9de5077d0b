"""What the true worst case of a mechanism is: of neighbouring data sets, not of a pair.

Most pairs are attained by data sets. Those of a bounded range and of a sample of fixed size are
not, once something else is composed with them, and that of a truncated batch never is. Then the
worst case is known to lie between what explicit data sets lose, and the least of the pair's value
and of what is proved here.
"""

from functools import cache
from itertools import combinations

from .balls import ONE, ZERO, TooSlowError, arb, exact, hull, never_below, normal_tail, total
from .batches import kept_at_all
from .data import told
from .laws import DiscretePair, GaussianLaw, RangePair
from .oracle import Oracle, pairs_of
from .pairs import gaussian, law_of, mirrored, split

DIRECTIONS = {"add-or-remove": ("add", "remove")}


class Truth:
    """Deltas of steps (mechanism, count) for prvcore's `neighbors`: intervals (low, high, way)."""

    def __init__(self, steps, neighbors, records=()):
        # pairs of data sets, of which a bound from above has to hold as well
        self.records = records
        self.steps = [(mechanism, count) for mechanism, count in steps if count]
        self.directions = DIRECTIONS.get(neighbors, (neighbors,))
        if neighbors == "add-or-remove" and all(
            symmetric(mechanism) for mechanism, _ in self.steps
        ):
            self.directions = ("remove",)
        self.oracles = [Oracle(pairs_of(self.steps, d)) for d in self.directions]
        self.loose = unattained(self.steps)
        self.data = []
        if self.loose:
            for direction in self.directions:
                self.data += [Oracle(laws) for laws in data_sets(self.steps, direction)]
        self.infinite = ZERO
        for oracle in self.oracles:
            self.infinite = self.infinite.max(oracle.infinite)
        self.top = ZERO
        for oracle in self.oracles:
            self.top = self.top.max(oracle.top)
        self._known = {}

    def delta(self, x):
        """Return balls below and above delta at x, and how they were found."""
        if x not in self._known:
            low, high, way = self._delta(x)
            for first, second in self.records:
                ((mechanism, count),) = self.steps
                low, way = low.max(told(mechanism, first, second, x, count)), f"{way} and records"
            self._known[x] = low, high, way
        return self._known[x]

    def _delta(self, x):
        low, high, ways, reason = ZERO, ZERO, set(), None
        for oracle in self.oracles:
            try:
                value, way = oracle.delta(x)
            except TooSlowError as error:
                # what is known all the same
                high, reason = ONE, error
                continue
            ways.add(way)
            low, high = low.max(value), high.max(value)
        if not self.loose:
            if not ways:
                raise reason
            return low, high, " and ".join(sorted(ways))
        high = high.min(proved(self.steps, self.directions, x)) if x not in INFINITE else high
        low = ZERO
        for oracle in self.data:
            try:
                value, way = oracle.delta(x)
            except TooSlowError:
                continue
            ways.add(f"data by {way}")
            low = low.max(value)
        if not ways:
            raise reason or TooSlowError("no data sets")
        return low, high, " and ".join(sorted(ways))

    def at_once(self, x):
        """Return what is known of delta at x without composing anything."""
        data = self.data if self.loose else self.oracles
        low = never_below(exact(x)).lower()
        for oracle in data:
            low = low.max(oracle.infinite)
        return low, ONE

    def renyi(self, order):
        """Return balls below and above the Renyi divergence."""
        low, high = ZERO, ZERO
        b = order - 1.0
        if exact(b) + 1 != exact(order):
            raise ValueError(f"order - 1 must be a double, got {order!r}")
        for oracle in self.oracles:
            value = oracle.log_moment(b) / exact(b)
            low, high = low.max(value), high.max(value)
        if self.loose or any(alone_unattained(mechanism) for mechanism, _ in self.steps):
            low = ZERO
            for direction in self.directions:
                for laws in data_sets(self.steps, direction):
                    low = low.max(Oracle(laws).log_moment(b) / exact(b))
            squares = _range_squares(self.steps)
            if squares is not None:
                high = high.min(exact(order) * squares / 8)
        return low, high

    def power(self, rate):
        """Return balls below and above the greatest power of a test with this type I error."""
        low, high, rate = ZERO, ZERO, exact(rate)
        for oracle in self.oracles:
            one, other = _power(oracle, rate)
            low, high = low.max(one), high.max(other)
        if self.loose or any(alone_unattained(mechanism) for mechanism, _ in self.steps):
            low = rate
        return low, high

    def mu(self, least):
        """Return mu, of Gaussian mechanisms alone, or raise TooSlowError."""
        (oracle, *_) = self.oracles
        laws = oracle.discrete + oracle.smooth
        if len(laws) != 1 or not isinstance(laws[0][0], GaussianLaw):
            raise TooSlowError("other mechanisms than Gaussian ones")
        law = laws[0][0]
        if law.curve(ZERO) < exact(least):
            return ZERO
        if law.curve(ZERO) > exact(least):
            return law.variance.sqrt()
        raise TooSlowError("a mu that jumps")


def _power(oracle, rate):
    """Bound the infimum over real epsilons of delta(epsilon) + e^epsilon * rate."""
    laws = oracle.discrete + oracle.smooth
    if len(laws) == 1 and isinstance(laws[0][0], GaussianLaw) and 0 < rate < 1:
        threshold = (2 * rate).erfcinv() * arb(2).sqrt() if rate < 0.5 else None
        if threshold is None:
            threshold = -(2 * (1 - rate)).erfcinv() * arb(2).sqrt() if rate > 0.5 else ZERO
        value = normal_tail(threshold - laws[0][0].variance.sqrt())
        return value, value
    best, complete = ONE, not oracle.smooth
    if complete:
        try:
            atoms = oracle.atoms(250)
        except TooSlowError:
            complete = False
    if complete:
        # piecewise linear in e^epsilon: least at a loss, or where e^epsilon is 0
        for loss in atoms.losses:
            best = best.min(atoms.finite(loss) + oracle.infinite + loss.exp() * rate)
        return best.max(rate), best.max(rate)
    for x in (-3.0, -1.0, -0.3, 0.0, 0.1, 0.3, 0.7, 1.0, 1.5, 2.2, 3.0, 5.0, 8.0):
        try:
            best = best.min(oracle.delta(x)[0] + exact(x).exp() * rate)
        except TooSlowError:
            break
    return rate, best


INFINITE = (float("inf"), float("-inf"))


def _base_of(mechanism):
    while hasattr(mechanism, "mechanism"):
        mechanism = mechanism.mechanism
    return mechanism


def _name(mechanism):
    return type(mechanism).__name__


def unattained(steps):
    """Say whether the pair of some step is attained by no data sets in this composition."""
    several = sum(count for _, count in steps) > 1
    for mechanism, _ in steps:
        if _name(mechanism) == "TruncatedPoissonSubsampledGaussian":
            if mechanism.dataset_size > mechanism.maximum_batch_size:
                return True
        elif several and (
            _name(mechanism) == "SubsampledWithoutReplacement"
            or _name(_base_of(mechanism)) == "BoundedRange"
        ):
            return True
    return False


def symmetric(mechanism):
    """Say whether a mechanism's law is the same in both directions."""
    sampled = hasattr(mechanism, "sampling_probability") and mechanism.sampling_probability < 1.0
    made = ("Composed", "RandomAllocation", "BallsInBins")  # of others, which may be anything
    mixed = _name(mechanism) in ("MixtureOfGaussians", "PoissonSubsampled", *made)
    return not sampled and not mixed


def alone_unattained(mechanism):
    """Say whether Renyi divergences and powers of one step are those of no data sets."""
    return _name(_base_of(mechanism)) == "BoundedRange" or _name(mechanism) in (
        "SubsampledWithoutReplacement",
        "TruncatedPoissonSubsampledGaussian",
    )


# ---- From below: data sets -----------------------------------------------------------------------


def response(width, t):
    """Return generalized randomized response: the losses t and t - width."""
    below = t - width
    high = -below.expm1() / (t.exp() - below.exp())  # P's mass at t
    p = [1 - high, high]
    q = [(1 - high) * below.exp(), high * t.exp()]
    return DiscretePair(q, p, [below, t], step=width)


def data_sets(steps, direction):
    """Return compositions of data sets that exist, as lists of laws."""
    ways = [(share, role) for share in (0.5, 0.25, 0.75) for role in ("remove", "add")]
    found = []
    for share, role in ways:
        laws = [(_of_data(mechanism, direction, share, role), count) for mechanism, count in steps]
        found.append(laws)
    return found


def _of_data(mechanism, direction, share, role):
    base = _base_of(mechanism)
    if _name(mechanism) == "TruncatedPoissonSubsampledGaussian":
        # the other records add nothing to the sum
        noise, kept = exact(mechanism.noise_multiplier), kept_at_all(mechanism)
        if direction == "replace-one":
            return mirrored(noise, kept)
        return gaussian(noise).sampled(kept, direction)
    if _name(base) == "BoundedRange":
        width = exact(base.epsilon)
        pair = response(width, width * exact(share))
        if mechanism is base:
            return pair.sampled(ONE, "remove")
        if _name(mechanism) == "SubsampledWithoutReplacement":
            probability = exact(mechanism.sampling_probability)
        else:
            _, probability = split(mechanism)
        if direction == "replace-one":
            direction = role
        return pair.sampled(probability, direction)
    if _name(mechanism) == "SubsampledWithoutReplacement":
        # the record replaced is like none of the others, or its replacement is
        pair, _ = split(mechanism.mechanism, 2)
        return pair.sampled(exact(mechanism.sampling_probability), role)
    return law_of(mechanism, direction)


# ---- From above: what no data sets exceed ------------------------------------------------------


def proved(steps, directions, x):
    """Return an upper bound of delta at x of the worst case that owes nothing to the pair."""
    best = ONE
    squares = _range_squares(steps)
    if squares is not None and x > 0:
        best = best.min(by_moments(squares, exact(x)))
    if len(steps) == 1:
        (mechanism, count), name = steps[0], _name(steps[0][0])
        if name == "BoundedRange" and count == 2:
            best = best.min(two_ranges(mechanism.epsilon, x))
        if name == "SubsampledWithoutReplacement" and count <= 4:
            base = mechanism.mechanism
            if _name(base) == "PureDP":
                p = mechanism.sampling_probability
                best = best.min(pure_samples(base.epsilon, p, count, x))
        if name == "TruncatedPoissonSubsampledGaussian" and count == 1:
            two = (mechanism.dataset_size, mechanism.maximum_batch_size) == (2, 1)
            noise, p = mechanism.noise_multiplier, mechanism.sampling_probability
            if two and noise > 0.0 and directions == ("remove",):
                best = best.min(two_records(noise, p, x))
    return best


def _range_squares(steps):
    """Return the sum of squares of bounded ranges, if there is nothing else."""
    if any(_name(mechanism) != "BoundedRange" for mechanism, _ in steps):
        return None
    return total(count * exact(mechanism.epsilon) ** 2 for mechanism, count in steps)


def by_moments(squares, x):
    """Bound delta of bounded ranges by their moments.

    A range r has log E e^(bY) <= b (b + 1) r^2 / 8 (Cesar, Rogers, "Bounding, concentrating, and
    truncating: unifying privacy loss composition for data analytics", ALT 2021), adaptively too.
    """
    best = ONE
    middle = max(float(x / squares * 4) - 0.5, 1e-3)
    for factor in (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0, 4.0):
        b = exact(middle * factor)
        bound = (b * (b + 1) * squares / 8 - b * x).exp() * (b / (1 + b)) ** b / (1 + b)
        best = best.min(bound.abs_upper())
    return best


def two_ranges(width, x):
    """Bound delta of two bounded ranges, the second chosen after the first.

    The first is generalized randomized response of some t in [0, r]: with the masses of Q, delta is
    q D(x - t) + (1 - q) D(x - t + r), D the curve of one, which falls. Bounded on small intervals.
    """
    r, x = exact(width), exact(x)
    one = RangePair(r)
    best = ZERO
    parts = 400
    for i in range(parts):
        t, u = r * i / parts, r * (i + 1) / parts
        between = hull(t, u)
        q = between.exp() * -(between - r).expm1() / (between.exp() - (between - r).exp())
        q = q.max(ZERO).min(ONE)
        near, far = one.curve(x - u), one.curve(x - u + r)
        value = far + q * (near - far).max(ZERO)
        best = best.max(value.abs_upper())
    return best.min(ONE)


def pure_samples(epsilon, p, count, x):
    """Return the worst case of samples of fixed size, of epsilon-DP mechanisms chosen adaptively.

    The laws M0, M1, M2 of PAIRS.md, section 4, are mixtures of the extreme triples whose
    entries are 1 or e^epsilon. A step is a measure mu on these with three sums equal to 1; the
    next steps' curve F is applied to the ratio of each: a linear programme, whose optimum is at a
    vertex, of three triples at most.
    """
    large, p = exact(epsilon).exp(), exact(p)
    sides = (ONE, large)
    triples = [(a, b, c) for a in sides for b in sides for c in sides][1:]  # (1, 1, 1) is (e, e, e)
    vertices = []
    for three in combinations(range(len(triples)), 3):
        solved = _solve([triples[i] for i in three])
        if solved is not None:
            vertices.append(list(zip(three, solved, strict=True)))
    outputs = [((1 - p) * a + p * b, (1 - p) * a + p * c) for a, b, c in triples]
    kinds, shifts = [], {}
    for i, (a, b) in enumerate(outputs):
        kinds.append((a, a / b, _kind(triples[i], large)))
        shifts[kinds[-1][2]] = (a / b).log()

    @cache
    def curve(left, moved):
        at = exact(x) - total(n * shifts[kind] for kind, n in moved)
        if left == 0:
            return (-at.expm1()).max(ZERO)
        values = []
        for a, _, kind in kinds:
            counts = dict(moved)
            counts[kind] = counts.get(kind, 0) + 1
            # losses that cancel lead to the same point
            values.append(a * curve(left - 1, _reduced(counts)))
        best = ZERO
        for vertex in vertices:
            best = best.max(total(weight * values[i] for i, weight in vertex))
        return best

    return curve(count, ())


def _kind(triple, large):
    """Name the ratio of a triple's outputs: opposite ones have opposite names."""
    a, b, c = (entry is large for entry in triple)
    return (0, 0) if b == c else (1 if b else -1, int(a))


def _reduced(counts):
    for at_y in (0, 1):
        both = min(counts.get((1, at_y), 0), counts.get((-1, at_y), 0))
        for sign in (1, -1):
            if (sign, at_y) in counts:
                counts[sign, at_y] -= both
    counts.pop((0, 0), None)
    return tuple(sorted((kind, n) for kind, n in counts.items() if n))


def _solve(triples):
    """Return weights >= 0 with which three triples sum to (1, 1, 1), or None."""
    (a, b, c), (d, e, f), (g, h, i) = triples

    def determinant(a, b, c, d, e, f, g, h, i):
        return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)

    whole = determinant(a, b, c, d, e, f, g, h, i)
    if not (whole > 0 or whole < 0):
        return None
    u = determinant(ONE, ONE, ONE, d, e, f, g, h, i) / whole
    v = determinant(a, b, c, ONE, ONE, ONE, g, h, i) / whole
    w = determinant(a, b, c, d, e, f, ONE, ONE, ONE) / whole
    if u < 0 or v < 0 or w < 0:
        return None
    return u.max(ZERO), v.max(ZERO), w.max(ZERO)


def two_records(noise, p, x):
    """Return the worst case of a batch of one record of two, when one record is removed.

    {x, y} against {y}: (1-p)^2 N(0) + p (1 - p/2) (N(x) + N(y)) against (1-p) N(0) + p N(y), and
    A - aB has at N(y) the weight p (1 - p/2 - a), whose sign says by Lemma 1 of PAIRS.md
    whether y = x or y = -x is worst, at the greatest norm.
    """
    noise, p, growth = exact(noise), exact(p), exact(x).exp()
    weight = p * (1 - p / 2 - growth)
    rest = (1 - p) * (1 - p - growth)
    half = p * (1 - p / 2)
    found = ZERO
    if not weight < 0:
        # both at 1: against a mixture, of which only what is at 1 and at 0 counts
        found = found.max(_excess([(ZERO, rest), (ONE, half + weight)], noise))
    if not weight > 0:
        found = found.max(_excess([(-ONE, weight), (ZERO, rest), (ONE, half)], noise))
    return found


def _excess(terms, noise):
    """Integrate the positive part of a sum of weight * N(center, noise^2), from above.

    The sum over N(0, noise^2) rises with z where weights at or below 0 have weights <= 0 and those
    above have weights >= 0; where the weight at 0 is positive too, all may be.
    """
    signs = [weight > 0 for _, weight in terms]
    if all(signs):
        return total(weight for _, weight in terms)

    def above(z):
        return total(weight * normal_tail((z - center) / noise) for center, weight in terms)

    def density(z):
        return total(
            weight * (center * (z - center / 2) / noise**2).exp() for center, weight in terms
        )

    low, high = -40 * noise, 40 * noise
    if density(low) > 0:
        raise TooSlowError("no threshold")
    for _ in range(150):
        middle = ((low + high) / 2).mid()
        value = density(middle)
        if value > 0:
            high = middle
        elif value < 0:
            low = middle
        else:
            break
    return above(hull(low, high)).max(ZERO)
