"""Each stage of the last pass of a query alone, and the transforms alone."""

# ruff: noqa: ARG002 (asv passes every parameter to every benchmark)

import os
from pathlib import Path

from . import ROOT
from .stages import ENGINES, Stages, compile_stages
from .transforms import Transforms


class Stage:
    """Of epsilon at delta 1e-7, 'remove', noise multiplier 0.8, sampling probability 0.001.

    `dominating` and `dominated` make the two lattices from the same cells; `compose` is tilting,
    transforms and power of one of them, or its spectrum; `evaluate` finds epsilon.
    """

    params = ([30, 1_000, 100_000], list(ENGINES), [1e-2, 1e-4])
    param_names = ("steps", "engine", "eps_error")
    timeout = 300

    def setup_cache(self):
        """Compile the core of the commit that is measured, once."""
        project = Path(os.environ.get("ASV_ENV_DIR", ROOT)) / "project"
        sources = (project if project.is_dir() else ROOT) / "src_c"
        try:
            return compile_stages(sources, Path.cwd())
        except NotImplementedError as reason:
            return reason

    setup_cache.timeout = 600

    def setup(self, library, steps, engine, eps_error):
        if isinstance(library, NotImplementedError):
            raise library
        self.stages = Stages(library, 0.8, 1e-3, steps, 1e-7, eps_error, engine)

    def teardown(self, library, steps, engine, eps_error):
        if hasattr(self, "stages"):
            self.stages.close()

    def time_plan(self, library, steps, engine, eps_error):
        self.stages.plan()

    def time_cells(self, library, steps, engine, eps_error):
        self.stages.cells()

    def time_dominating(self, library, steps, engine, eps_error):
        self.stages.dominating()

    def time_dominated(self, library, steps, engine, eps_error):
        self.stages.dominated()

    def time_compose(self, library, steps, engine, eps_error):
        self.stages.compose()

    def time_transforms(self, library, steps, engine, eps_error):
        """Time those that `compose` executes; what is left of it is tilting and the power."""
        if engine == "convolution":
            self.stages.transforms()

    def time_evaluate(self, library, steps, engine, eps_error):
        self.stages.evaluate()

    def track_cells(self, library, steps, engine, eps_error):
        return self.stages.sizes().cells

    def track_points_or_frequencies(self, library, steps, engine, eps_error):
        """What `compose` works on: points of a convolution's window, frequencies of a spectrum."""
        sizes = self.stages.sizes()
        return sizes.points or sizes.frequencies


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
