"""What a sweep returns: bounds or calibrations at every setting, and the settings."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self

import numpy as np

from prvcore._bounds import Bounds, Number, no_arithmetic
from prvcore._names import known_elsewhere, public
from prvcore._outward import UP, formatted, laid_out, rounded
from prvcore._plot import plot_sweep
from prvcore._settings import ComposeOptions
from prvcore._tables import table_of
from prvcore._targets import is_missed, point_of
from prvcore.dpsgd.reports import report_of, trainings_in_words

__all__ = ["SweepBounds", "SweepCalibrations"]


@public
class SweepBounds(Bounds[Number]):
    """Bounds at every setting of a sweep, and the settings.

    Unpacks as `Bounds` do, into lower, estimate and upper.

    Attributes
    ----------
    lower, estimate, upper : float or ndarray of float64
        As in `Bounds`.
    settings : dict of str to number, ndarray or str
        The values that were used, by their names, each of the shape of the bounds; `sampler` and
        `neighbors` too where they are not the defaults.

    """

    _settings: dict[str, Any]

    def __new__(
        cls, lower: Number, estimate: Number, upper: Number, settings: dict[str, Any]
    ) -> Self:
        """Return the bounds at `settings`."""
        bounds: Self = super().__new__(cls, lower, estimate, upper)
        bounds._settings = settings
        return bounds

    @property
    def settings(self) -> dict[str, Any]:
        """The values that were used, by their names, each of the shape of the bounds."""
        return self._settings

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Any:  # type: ignore[override]  # of four, not three
        """Return the bounds of lower, estimate, upper and settings."""
        return cls(*iterable)

    def _replace(self, **changes: Any) -> Any:
        """Return these bounds with other parts, or of other settings."""
        settings = changes.pop("settings", self._settings)
        replaced = type(self)(*Bounds(*self)._replace(**changes), settings)
        return replaced if changes else replaced._of(self._origin)

    __replace__ = _replace

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.settings)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame: a row for each setting, its bounds in the last columns.

        Raises
        ------
        ImportError
            pandas is not installed.

        """
        return table_of({**self.settings, **self._asdict()}, np.asarray(self.upper).shape)

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Draw the upper bounds, with their distance to the lower ones as a band.

        Parameters
        ----------
        x : str, optional
            The setting on the x axis; left out, the first that varies of epochs, steps, noise
            multiplier, batch size, sampling probability, data set size, accumulation steps and
            the target. Of the others that vary one has colours, one dashes, one markers.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if left out.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            matplotlib is not installed.
        ValueError
            `x` is no setting, or more settings vary than a picture shows.

        """
        of = "delta" if "epsilon" in self.settings else "epsilon"
        return plot_sweep(self.settings, self.lower, self.upper, of, x, ax)

    def __repr__(self) -> str:
        settings = _short(self.settings, np.asarray(self.upper).shape)
        return f"{super().__repr__()[:-1]}, settings={settings})"


@public
@known_elsewhere
class SweepCalibrations(NamedTuple, Generic[Number]):
    """The cheapest value of a parameter at every setting of a sweep, with the proof.

    Numbers where all arguments are scalars, else arrays of the common shape.

    Attributes
    ----------
    value : float, int or ndarray
        The least noise multiplier, or the most steps: `Calibration.value` at each setting.
    lower, upper : float or ndarray of float64
        Bounds with it of what the target is about, an epsilon or a risk; all of them meet the
        target.
    next_value : float or ndarray of float64
        The next cheaper value; nan where there is none.
    next_lower, next_upper : float or ndarray of float64
        The same with that one, not all of which meet the target. If none of them does, no cheaper
        value meets the target. nan where there is none.
    settings : dict of str to number, ndarray or str
        The values that were used, by their names, each of the same shape; `sampler` and `neighbors`
        too where they are not the defaults.

    Notes
    -----
    ``f"{found:.3f}"`` and ``round(found, 3)`` are `value`, noise rounded up, so that the
    target is met. So are ``f"{found.value:.3f}"`` and ``round(found.value, 3)`` of one setting;
    elements of arrays are numpy's, which rounds to the nearest.

    """

    value: Any
    lower: Number
    upper: Number
    next_value: Any
    next_lower: Number
    next_upper: Number
    settings: dict[str, Any]

    if not TYPE_CHECKING:  # type: ignore[misc]  # which allows no statement here
        __add__, __radd__, __mul__, __rmul__ = no_arithmetic(
            "what a search has found is no number: take its .value"
        )

    @property
    def proven(self) -> Any:
        """Whether no cheaper value meets the target: `Calibration.proven` at each setting."""
        missed = is_missed(self.settings, self.next_lower, self.next_upper)
        found = np.isnan(np.asarray(self.next_lower)) | missed
        return found if found.ndim else bool(found)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame: a row for each setting, what was found in the last columns.

        Raises
        ------
        ImportError
            pandas is not installed.

        """
        found = self._asdict()
        return table_of({**found.pop("settings"), **found}, np.shape(self.value))

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Draw the values, with their distance to the next cheaper ones as a band.

        Parameters
        ----------
        x, ax
            As `SweepBounds.plot` takes them.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError, ValueError
            As `SweepBounds.plot` raises them.

        """
        following = np.where(np.isnan(self.next_value), self.value, self.next_value)
        if "steps" in self.settings:
            return plot_sweep(self.settings, following, self.value, "noise multiplier", x, ax)
        return plot_sweep(self.settings, self.value, following, "steps", x, ax)

    def report(self, digits: int = 4) -> str:
        """Return the sentences for a paper or a data sheet, about each value and its bounds.

        Parameters
        ----------
        digits : int, default 4
            How many significant digits the bounds have, in [1, 17].

        Returns
        -------
        str
            A line for each setting. What a `TrainingSchedule` found tells the training, too.

        See Also
        --------
        Bounds.report : the same of bounds.

        """
        shape = np.shape(self.value)
        quantity, at = point_of(self.settings)
        found = {"noise_multiplier": self.value, "steps": self.value, **self.settings}
        names = ("noise_multiplier", "sampling_probability", "steps")
        columns = [self.lower, self.upper, at, *(found[name] for name in names)]
        rows = zip(*(np.broadcast_to(c, shape).ravel().tolist() for c in columns), strict=True)
        words = [""] * np.size(self.value)
        if "dataset_size" in found:
            words = list(trainings_in_words(found, shape))
        sampler = found.get("sampler", "poisson")
        options: ComposeOptions = {"neighbors": found.get("neighbors", "add-or-remove")}
        return "\n".join(
            report_of(quantity, point, (low, high), (sampler, *setting), options, digits, training)
            for (low, high, point, *setting), training in zip(rows, words, strict=True)
        )

    def __format__(self, specification: str) -> str:
        """Return `value` formatted as floats are, noise rounded up.

        Of arrays of one axis it is one a line; of more axes, each line is a row.
        """
        if not specification:
            return str(self)
        values = np.ravel(self.value)
        whole = values.dtype.kind == "i"
        texts = [
            format(value, specification) if whole else formatted(value, specification, UP)
            for value in values.tolist()
        ]
        return laid_out(texts, np.shape(self.value))

    def __round__(self, decimals: int = 0) -> Any:
        """Return `value` with so many decimals, noise rounded up, of the same shape."""
        whole = np.asarray(self.value).dtype.kind == "i"
        return self.value if whole else rounded(self.value, decimals, UP)

    def __repr__(self) -> str:
        found = self._asdict()
        settings = _short(found.pop("settings"), np.shape(self.value))
        parts = ", ".join(f"{name}={value!r}" for name, value in found.items())
        return f"{type(self).__name__}({parts}, settings={settings})"


def _short(settings: dict[str, Any], shape: tuple[int, ...]) -> str:
    """Return settings in one line: one value where all are equal, else the least and greatest."""
    if not shape:
        return repr(settings)
    parts = []
    for name, values in settings.items():
        found = np.unique(values).tolist()
        if len(found) == 1:
            parts.append(f"{name}={found[0]!r}")
        elif found:
            parts.append(f"{name}={found[0]!r}..{found[-1]!r} ({len(found)} values)")
    return f"<{' x '.join(map(str, shape))}: {', '.join(parts)}>"
