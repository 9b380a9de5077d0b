# What __init__.py loads when it is asked for: for type checkers and editors.

from prvcore._bounds import Bounds, ErrorBudget
from prvcore._calibrate import calibrate
from prvcore._calibration import Calibration
from prvcore._compose import compose, delta_from_eps, eps_from_delta
from prvcore._curve import PrivacyCurve
from prvcore._errors import (
    AccuracyWarning,
    BudgetExceededError,
    PrecisionError,
    TargetError,
    UnattainedWarning,
)
from prvcore._explain import Explanation, StepShare, explain
from prvcore._progress import Progress
from prvcore._settings import get_memory_limit, set_memory_limit
from prvcore.budgets.accountant import Accountant
from prvcore.budgets.filter import PrivacyFilter
from prvcore.budgets.odometer import OdometerReading, PrivacyOdometer
from prvcore.dpsgd.clipping import adaptive_clipping_noise
from prvcore.dpsgd.plan import TrainingSchedule, dpsgd_schedule
from prvcore.dpsgd.shuffled import shuffled_lower_bound
from prvcore.dpsgd.sweep_results import SweepBounds, SweepCalibrations
from prvcore.dpsgd.sweeps import (
    dpsgd_delta,
    dpsgd_epsilon,
    dpsgd_noise_multiplier,
    dpsgd_steps,
)
from prvcore.files.schedule import read_schedule
from prvcore.mechanisms.allocated import BallsInBins, RandomAllocation
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.composed import Composed
from prvcore.mechanisms.custom import FromCDFs, FromPrivacyCurve, FromTable
from prvcore.mechanisms.distribution import FromDistribution
from prvcore.mechanisms.guarantees import (
    ApproximateDP,
    BoundedRange,
    PureDP,
    RandomizedResponse,
)
from prvcore.mechanisms.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    MixtureOfGaussians,
    NoisyCount,
)
from prvcore.mechanisms.subsampled import (
    GroupPoissonSubsampledGaussian,
    GroupSubsampledWithoutReplacementGaussian,
    PoissonSubsampled,
    PoissonSubsampledGaussian,
    SubsampledWithoutReplacement,
    TruncatedPoissonSubsampledGaussian,
)

__all__ = [
    "Accountant",
    "AccuracyWarning",
    "ApproximateDP",
    "BallsInBins",
    "BoundedRange",
    "Bounds",
    "BudgetExceededError",
    "Calibration",
    "Composed",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ErrorBudget",
    "Explanation",
    "FromCDFs",
    "FromDistribution",
    "FromPrivacyCurve",
    "FromTable",
    "Gaussian",
    "GroupPoissonSubsampledGaussian",
    "GroupSubsampledWithoutReplacementGaussian",
    "Laplace",
    "Mechanism",
    "MixtureOfGaussians",
    "NoisyCount",
    "OdometerReading",
    "PoissonSubsampled",
    "PoissonSubsampledGaussian",
    "PrecisionError",
    "PrivacyCurve",
    "PrivacyFilter",
    "PrivacyOdometer",
    "Progress",
    "PureDP",
    "RandomAllocation",
    "RandomizedResponse",
    "StepShare",
    "SubsampledWithoutReplacement",
    "SweepBounds",
    "SweepCalibrations",
    "TargetError",
    "TrainingSchedule",
    "TruncatedPoissonSubsampledGaussian",
    "UnattainedWarning",
    "__version__",
    "adaptive_clipping_noise",
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

__version__: str

def get_include() -> str: ...
def get_library_dir() -> str: ...
