"""One pass of a query, cut into its stages by `prvcore.stages`."""

ENGINES = ("convolution", "spectrum")


class Stages:
    """One pass of a query for epsilon of a Poisson-subsampled Gaussian, 'remove'.

    At the tilt and mesh of the last pass of the query itself. Methods of the name of a stage run
    it: plan, cells, dominating, dominated, compose, evaluate.

    Raises
    ------
    NotImplementedError
        The prvcore that is installed has no stages.
    """

    def __init__(self, noise_multiplier, sampling_probability, count, delta, width, engine):
        import prvcore

        try:
            from prvcore import stages
        except ImportError as error:
            raise NotImplementedError(f"stages are left out: {error}") from error
        self._stages, self._count, self._delta = stages, count, delta
        self._width, self._engine = width, engine
        self._step = prvcore.PoissonSubsampledGaussian(noise_multiplier, sampling_probability)
        curve = prvcore.compose(
            self._step, count, eps_error=width, neighbors="remove", engine=engine
        )
        self._budget = curve.error_budget(delta=delta)
        self._plan = self.plan()
        self._cells = self.cells()
        self._lattice = self.dominating()
        self._composed = self.compose()

    def plan(self):
        """Choose mesh and window."""
        return self._stages.plan(
            self._step,
            self._count,
            delta=self._delta,
            tilt=self._budget.tilt,
            mesh_size=self._budget.mesh_size,
            eps_error=self._width,
            engine=self._engine,
        )

    def cells(self):
        """Compute the two masses of each cell."""
        return self._stages.cells(self._step, self._plan.knots[0])

    def dominating(self):
        """Make the lattice of the upper bound."""
        return self._stages.dominating(self._cells, self._plan.meshes[0])

    def dominated(self):
        """Make the lattice of the lower bound."""
        return self._stages.dominated(self._cells, self._plan.meshes[0])

    def compose(self):
        """Compose the dominating lattice, by transforms or by a spectrum."""
        if self._engine == "spectrum":
            run, options = self._stages.sum_spectrum, {"most_work": 1e10}
        else:
            run, options = self._stages.convolve, {}
        plan = self._plan
        return run(self._lattice, self._count, plan.window, tilt=plan.tilt, **options)

    def evaluate(self):
        """Return the bounds of epsilon, with their error terms."""
        return self._composed.epsilon(self._delta, guess=self._plan.epsilon)

    @property
    def cell_count(self):
        """How many cells there are."""
        return len(self._plan.knots[0])

    @property
    def points(self):
        """Points of the window of a convolution, 0 of a spectrum."""
        return 0 if self._engine == "spectrum" else self._plan.window.length

    @property
    def frequencies(self):
        """Frequencies of a spectrum, 0 of a convolution."""
        return self._composed.frequencies if self._engine == "spectrum" else 0
