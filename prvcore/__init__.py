"""prvcore: certified numerical composition of differential privacy guarantees.

Describe mechanisms, `compose` them, and ask the resulting `PrivacyCurve` for bounds of epsilon at a
delta or of delta at an epsilon.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

try:
    from prvcore._core.status import VERSION as __version__
except ModuleNotFoundError as error:
    if error.name != "prvcore._core.status":
        raise
    raise ImportError(
        f"{Path(__file__).parent} has the sources of prvcore, without the compiled modules: start "
        "Python in another folder, where it finds the prvcore that is installed"
    ) from None
from prvcore._bounds import Bounds, ErrorBudget
from prvcore._calibrate import Calibration, calibrate
from prvcore._compose import compose, delta_from_eps, eps_from_delta
from prvcore._curve import PrivacyCurve
from prvcore._errors import AccuracyWarning, BudgetExceededError, PrecisionError, TargetError
from prvcore._explain import Explanation, StepShare, explain
from prvcore._names import FORMER_MODULES, find_former_modules, public
from prvcore._progress import Progress
from prvcore._settings import get_memory_limit, set_memory_limit
from prvcore.budgets import OdometerReading, PrivacyFilter, PrivacyOdometer
from prvcore.budgets.accountant import Accountant
from prvcore.dpsgd.plan import TrainingSchedule, dpsgd_schedule
from prvcore.dpsgd.shuffled import shuffled_lower_bound
from prvcore.dpsgd.sweeps import (
    SweepBounds,
    SweepCalibrations,
    dpsgd_delta,
    dpsgd_epsilon,
    dpsgd_noise_multiplier,
    dpsgd_steps,
)
from prvcore.files.schedule import read_schedule
from prvcore.mechanisms import (
    ApproximateDP,
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    FromCDFs,
    FromPrivacyCurve,
    FromTable,
    Gaussian,
    GroupPoissonSubsampledGaussian,
    Laplace,
    Mechanism,
    MixtureOfGaussians,
    PoissonSubsampled,
    PoissonSubsampledGaussian,
    PureDP,
    RandomizedResponse,
    SubsampledWithoutReplacement,
    TruncatedPoissonSubsampledGaussian,
)

find_former_modules()

__all__ = [
    "Accountant",
    "AccuracyWarning",
    "ApproximateDP",
    "BoundedRange",
    "Bounds",
    "BudgetExceededError",
    "Calibration",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ErrorBudget",
    "Explanation",
    "FromCDFs",
    "FromPrivacyCurve",
    "FromTable",
    "Gaussian",
    "GroupPoissonSubsampledGaussian",
    "Laplace",
    "Mechanism",
    "MixtureOfGaussians",
    "OdometerReading",
    "PoissonSubsampled",
    "PoissonSubsampledGaussian",
    "PrecisionError",
    "PrivacyCurve",
    "PrivacyFilter",
    "PrivacyOdometer",
    "Progress",
    "PureDP",
    "RandomizedResponse",
    "StepShare",
    "SubsampledWithoutReplacement",
    "SweepBounds",
    "SweepCalibrations",
    "TargetError",
    "TrainingSchedule",
    "TruncatedPoissonSubsampledGaussian",
    "__version__",
    "calibrate",
    "compose",
    "delta_from_eps",
    "dpsgd_delta",
    "dpsgd_epsilon",
    "dpsgd_noise_multiplier",
    "dpsgd_schedule",
    "dpsgd_steps",
    "eps_from_delta",
    "explain",
    "get_include",
    "get_library_dir",
    "get_memory_limit",
    "read_schedule",
    "set_memory_limit",
    "shuffled_lower_bound",
]


def __getattr__(name: str) -> Any:
    if name in FORMER_MODULES:
        return import_module(f"prvcore.{name}")
    raise AttributeError(f"module 'prvcore' has no attribute {name!r}")


@public
def get_include() -> str:
    """Return the folder of prvcore.h, the contract of the C core."""
    package = Path(__file__).resolve().parent
    installed = package / "include"
    return str(installed if installed.is_dir() else package.parent / "src_c" / "include")


@public
def get_library_dir() -> str:
    """Return the folder of the static library ``prvcore``, for packages that call the C core.

    It has the very code that this package runs. Link the C library's mathematics (``m``) too.
    """
    return str(Path(__file__).resolve().parent / "lib")
