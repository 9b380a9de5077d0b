"""The Fourier transforms of a query, alone."""

import statistics
import time


class Transforms:
    """One forward and one inverse real transform, as the core has them, plans made beforehand."""

    def __init__(self, length):
        import pyfftw

        from prvcore._core import fft_plans

        self._plans = fft_plans
        alignment = fft_plans.ALIGNMENT
        self._values = pyfftw.zeros_aligned(length, "float64", n=alignment)
        self._spectrum = pyfftw.zeros_aligned(length // 2 + 1, "complex128", n=alignment)
        self.forward()
        self.inverse()

    def forward(self):
        """Transform."""
        self._plans.forward(self._values, self._spectrum)

    def inverse(self):
        """Transform back."""
        self._plans.inverse(self._spectrum, self._values)


def transforms_of(budget, calls=30):
    """Time the transforms that a query executed, from its error budget; nan if there were none."""
    if budget.transform_length == 0 or budget.transforms == 0:
        return float("nan")
    pair, seconds = Transforms(budget.transform_length), []
    for _ in range(calls):
        start = time.process_time()
        pair.forward()
        pair.inverse()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds) / 2 * budget.transforms
