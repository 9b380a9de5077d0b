"""Compare prvcore's answers with the truth, and forgive nothing."""

import math
import signal
import time
from typing import NamedTuple

import prvcore as prv

from .balls import ZERO, Precision, TooSlowError, exact
from .laws import GaussianPair
from .worst import Truth

# what prvcore may refuse, saying so
REFUSALS = (
    *("spectrum falls too slowly", "above the memory limit", "use the bracketing"),
    *("more than the memory limit", "tails are unknown", "knows the tails"),
)
ORACLE_PATIENCE = 1.5  # seconds for one value
MOST_FAILURES = 2  # of the oracle; then it is not asked again
SETTING_PATIENCE = 5.0  # after so many, nothing more is asked


class Verdict(NamedTuple):
    """outcome is 'held', 'violated', or why nothing was compared; compared counts bounds."""

    outcome: str
    compared: int = 0
    ways: tuple = ()
    violations: tuple = ()
    questions: tuple = ()


def judge(setting, patience):
    """Ask all that a setting asks, in all the ways that it names, and hold it against the truth."""
    return _Case(setting, patience * setting.patience).verdict()


def objections(setting, name, point, answer):
    """Return what the truth has against an answer to one question, whoever gave it."""
    case = _Case(setting, math.inf)
    case.truth = Truth(setting.steps, setting.options.get("neighbors", "add-or-remove"))
    case.compare("anyone", name, point, answer)
    if not case.compared:
        raise TooSlowError("; ".join(case.reasons))
    return case.found


class _Case:
    def __init__(self, setting, patience):
        self.setting, self.patience = setting, patience
        self.found, self.ways, self.questions, self.reasons = [], set(), [], []
        self.compared = 0
        self.truth = None

    def verdict(self):
        refused = late = False
        try:
            curve = prv.compose(self.setting.steps, **self.setting.options)
            self.truth = self._within_oracle(
                Truth, self.setting.steps, curve.neighbors, self.setting.records
            )
        except ValueError as error:
            if not self._may_refuse(error):
                raise
            return Verdict("refused")
        except TooSlowError as reason:
            return Verdict("the oracle gives up", violations=(str(reason),))
        except TimeoutError:
            return Verdict("the oracle gives up", violations=("time",))
        end = time.process_time() + SETTING_PATIENCE * self.setting.patience
        for asker in self.setting.askers:
            middle = None
            who = getattr(self, f"_{asker}")(curve)
            for name, point in self.setting.questions:
                if asker != "curve" and name not in ("epsilon", "delta", "share"):
                    continue
                if time.process_time() > end:
                    break
                try:
                    if name == "share":
                        if middle is None:
                            continue
                        point, name = point * middle, "delta"
                    answer = _within(self.patience, self._ask, who, name, point)
                except TimeoutError:
                    late = True
                    break
                except (prv.PrecisionError, prv.TargetError):
                    refused = True
                    continue
                except ValueError as error:
                    if not self._may_refuse(error):
                        raise
                    refused = True
                    continue
                except RuntimeError as error:  # prvcore finds its own bounds out of order
                    self.found.append(f".{name}({point!r}) by {asker}: {error}")
                    continue
                if name == "epsilon":
                    middle = answer.estimate if answer.estimate < math.inf else 1.0
                before = self.compared
                self.compare(asker, name, point, answer)
                if self.compared > before:
                    self.questions.append(name)
        lines = tuple(f"{self.setting!r}{what}" for what in self.found)
        ways, questions = tuple(sorted(self.ways)), tuple(self.questions)
        if lines:
            return Verdict("violated", self.compared, ways, lines, questions)
        if self.compared:
            return Verdict("held", self.compared, ways, (), questions)
        if self.reasons:
            return Verdict("the oracle gives up", violations=(self.reasons[0],))
        return Verdict("refused" if refused else "prvcore takes too long" if late else "no answer")

    def _may_refuse(self, error):
        return self.setting.refusable or any(text in str(error) for text in REFUSALS)

    # ---- Who is asked ----------------------------------------------------------------------------

    def _curve(self, curve):
        return curve

    def _functions(self, curve):
        return _Functions(self.setting)

    def _accountant(self, curve):
        """Return an accountant that was asked before all had run."""
        accountant = prv.Accountant(**self.setting.options)
        delta = next((x for name, x in self.setting.questions if name == "epsilon"), 1e-5)
        end = time.process_time() + self.patience
        for mechanism, count in self.setting.steps:
            # a part of the steps first, so that a count grows
            for part in (count // 2, count - count // 2):
                accountant.add(mechanism, part)
            if time.process_time() > end:
                continue
            try:
                _within(self.patience, accountant.epsilon, delta)
            except (TimeoutError, ValueError, RuntimeError):
                continue  # what is wrong is found in the end
        return accountant

    def _ask(self, who, name, point):
        if name == "calibrate":
            mechanism, count = self.setting.steps[0]
            options = {"neighbors": self.setting.options.get("neighbors", "add-or-remove")}
            return prv.calibrate(mechanism, count, **options, **dict(point))
        method = {"mu": "gaussian_mu", "renyi": "renyi_divergence"}.get(name, name)
        return getattr(who, method)(point)

    # ---- Against what ----------------------------------------------------------------------------

    def _within_oracle(self, function, *arguments):
        with Precision(self.setting.bits):
            return _within(ORACLE_PATIENCE * self.setting.patience, function, *arguments)

    def _known(self, function, *arguments):
        """Return balls below and above the truth, and whether that took composing."""
        if len(self.reasons) < MOST_FAILURES:
            try:
                low, high, *way = self._within_oracle(function, *arguments)
                self.ways.update(way)
                return low, high, True
            except TimeoutError:
                self.reasons.append("time")
            except TooSlowError as error:
                self.reasons.append(str(error))
        if function.__name__ != "delta":
            return None
        low, high = function.__self__.at_once(*arguments)
        return low, high, False

    def _violated(self, asker, name, point, answer, low, high):
        self.found.append(
            f".{name}({point!r}) by {asker} is {answer}, truth in [{_said(low)}, {_said(high)}]"
        )

    def compare(self, asker, name, point, answer):
        if name == "calibrate":
            self._compare_calibration(answer, dict(point))
            return
        order = 0.0 <= answer.lower <= answer.estimate <= answer.upper
        if not order or (name in ("delta", "power", "trade_off") and answer.upper > 1.0):
            self.found.append(f".{name}({point!r}) by {asker} is not in order: {answer}")
        if name == "epsilon":
            self._compare_epsilon(asker, point, answer)
            return
        if name == "mu":
            self._compare_mu(asker, point, answer)
            return
        function = self.truth.power if name == "trade_off" else getattr(self.truth, name)
        known = self._known(function, point)
        if known is None:
            return
        low, high, counts = known
        if name == "trade_off":
            low, high = 1 - high, 1 - low
        if exact(answer.lower) > high or exact(answer.upper) < low:
            self._violated(asker, name, point, answer, low, high)
        self.compared += counts

    def _compare_epsilon(self, asker, point, answer):
        truth, delta = self.truth, exact(point)
        top = truth.top
        if answer.lower > 0.0:
            # delta at a smaller epsilon is at most the one asked, if it is below it here
            if not delta < truth.infinite and exact(answer.lower) > top and delta >= truth.infinite:
                self._violated(asker, "epsilon", point, answer, ZERO, top)
            if answer.lower == math.inf:
                if truth.infinite < delta:
                    self._violated(asker, "epsilon", point, answer, truth.infinite, delta)
                self.compared += 1
            else:
                known = self._known(truth.delta, answer.lower)
                if known is not None:
                    if known[1] < delta:
                        what = f"epsilon({point!r}), delta(lower)"
                        self._violated(asker, what, answer.lower, answer, *known[:2])
                    self.compared += known[2]
        if answer.upper < math.inf:
            known = self._known(truth.delta, answer.upper)
            if known is not None:
                if known[0] > delta:
                    what = f"epsilon({point!r}), delta(upper)"
                    self._violated(asker, what, answer.upper, answer, *known[:2])
                self.compared += known[2]

    def _compare_mu(self, asker, point, answer):
        try:
            mu = self.truth.mu(point)
        except TooSlowError:
            mu = None
        if mu is not None:
            if exact(answer.lower) > mu or exact(answer.upper) < mu:
                self._violated(asker, "gaussian_mu", point, answer, mu, mu)
            self.compared += 1
            return
        if not 0.0 < answer.upper < math.inf:
            return
        law = GaussianPair(exact(answer.upper) ** 2)
        for x in (0.0, 0.1, 0.4, 1.0, 2.0, 4.0):
            known = self._known(self.truth.delta, x)
            if known is None:
                return
            if known[0] > law.curve(exact(x)).max(exact(point)):
                self._violated(asker, "gaussian_mu", point, answer, *known[:2])
            self.compared += known[2]

    def _compare_calibration(self, found, target):
        """`value` meets the target; where a proof is claimed, `next_value` does not."""
        neighbors = found.curve.neighbors
        delta, epsilon = exact(target["delta"]), target["epsilon"]

        def known(steps):
            truth = self._within_oracle(Truth, steps, neighbors)
            return self._known(truth.delta, epsilon)

        value = known(found.mechanisms)
        if value is not None:
            if value[0] > delta:
                self._violated("calibrate", "value", target, found, *value[:2])
            self.compared += value[2]
        if found.next_value is None or not found.proven:
            return
        ((mechanism, count),) = self.setting.steps
        parameter = found.parameter
        if parameter == "steps":
            steps = [(mechanism, count * found.next_value)]
        else:
            name = "sampling_probability" if parameter == "sampling_probability" else "noise"
            steps = [(mechanism._with(name, found.next_value), count)]
        value = known(steps)
        if value is not None:
            if value[1] < delta:
                self._violated("calibrate", "next_value", target, found, *value[:2])
            self.compared += value[2]
        if parameter == "scale" and isinstance(mechanism, prv.DiscreteGaussian):
            # epsilon may rise with its scale; proven is that no smaller one meets the target
            for part in (0.98, 0.96, 0.94, 0.92, 0.9, 0.87, 0.84, 0.8):
                value = known([(mechanism._with("noise", part * found.next_value), count)])
                if value is not None and value[1] < delta:
                    self._violated("calibrate", f"{part} next_value", target, found, *value[:2])


class _Functions:
    """eps_from_delta and delta_from_eps."""

    def __init__(self, setting):
        self.setting = setting

    def epsilon(self, delta):
        return prv.eps_from_delta(self.setting.steps, delta, **self.setting.options)

    def delta(self, epsilon):
        return prv.delta_from_eps(self.setting.steps, epsilon, **self.setting.options)


def _said(ball):
    return ball.str(25)


def _within(patience, question, *arguments):
    """Ask; TimeoutError if that takes more seconds of the processor, where a clock can ring."""
    if not hasattr(signal, "setitimer"):
        return question(*arguments)
    before = signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, patience)
    try:
        return question(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _give_up(_signal, _frame):
    raise TimeoutError
