"""Each stage of the last pass of a query alone, and the transforms alone."""

# ruff: noqa: ARG002 (asv passes every parameter to every benchmark)

from .stages import ENGINES, Stages
from .transforms import Transforms


class Stage:
    """Of epsilon at delta 1e-7, 'remove', noise multiplier 0.8, sampling probability 0.001.

    `dominating` and `dominated` make the two lattices from the same cells; `compose` is tilting,
    transforms and power of one of them, or its spectrum; `evaluate` bounds epsilon, with the error
    terms.
    """

    params = ([30, 1_000, 100_000], ENGINES, [1e-2, 1e-4])
    param_names = ("steps", "engine", "eps_error")
    timeout = 300

    def setup(self, steps, engine, eps_error):
        self.stages = Stages(0.8, 1e-3, steps, 1e-7, eps_error, engine)
        if self.stages.points:
            self.transforms = Transforms(self.stages.points)

    def time_plan(self, steps, engine, eps_error):
        self.stages.plan()

    def time_cells(self, steps, engine, eps_error):
        self.stages.cells()

    def time_dominating(self, steps, engine, eps_error):
        self.stages.dominating()

    def time_dominated(self, steps, engine, eps_error):
        self.stages.dominated()

    def time_compose(self, steps, engine, eps_error):
        self.stages.compose()

    def time_transforms(self, steps, engine, eps_error):
        """Time those that `compose` executes; what is left of it is tilting and the power."""
        if engine == "convolution":
            self.transforms.forward()
            self.transforms.inverse()

    def time_evaluate(self, steps, engine, eps_error):
        self.stages.evaluate()

    def track_cells(self, steps, engine, eps_error):
        return self.stages.cell_count

    def track_points_or_frequencies(self, steps, engine, eps_error):
        """What `compose` works on: points of a convolution's window, frequencies of a spectrum."""
        return self.stages.points or self.stages.frequencies


class Transform:
    """Real transforms of lengths that queries have."""

    params, param_names = [768, 6144, 49152, 393216], ("length",)

    def setup(self, length):
        self.transforms = Transforms(length)

    def time_forward(self, length):
        self.transforms.forward()

    def time_inverse(self, length):
        self.transforms.inverse()

    def peakmem_both(self, length):
        self.transforms.forward()
        self.transforms.inverse()
