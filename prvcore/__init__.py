"""prvcore: certified numerical composition of differential privacy guarantees.

Describe mechanisms, `compose` them, and ask the resulting `PrivacyCurve` for bounds of epsilon at a
delta or of delta at an epsilon. For DP-SGD, `dpsgd_schedule` takes epochs and batch size,
`dpsgd_epsilon` sampling probability and steps; an `Accountant` counts while training runs.
"""

from typing import TYPE_CHECKING

# Both before any module is loaded when asked, which several threads may do at once: numpy imports
# itself in circles, and a thread then sees modules that another one has not finished.
import numpy as _numpy  # noqa: F401
import numpy.typing as _numpy_typing  # noqa: F401

from prvcore import mechanisms
from prvcore._names import find_former_modules, loaded_when_asked, public

try:
    from prvcore._core.status import VERSION as __version__
except ModuleNotFoundError as error:
    if error.name != "prvcore._core.status":
        raise
    raise ImportError(
        f"{__path__[0]} has the sources of prvcore, without the compiled modules: "
        "start Python in another folder, where it finds the prvcore that is installed"
    ) from None

if TYPE_CHECKING:
    from pathlib import Path

# The module of each public name. It is loaded when one of its names is first asked for, since most
# programs need few of them. __init__.pyi says the same to type checkers; a test compares the two.
_HOMES = {
    "_bounds": ("Bounds", "ErrorBudget"),
    "_calibrate": ("calibrate",),
    "_calibration": ("Calibration",),
    "_compose": ("compose", "delta_from_eps", "eps_from_delta"),
    "_curve": ("PrivacyCurve",),
    "_errors": (
        "AccuracyWarning",
        "BudgetExceededError",
        "PrecisionError",
        "TargetError",
        "UnattainedWarning",
    ),
    "_explain": ("Explanation", "StepShare", "explain"),
    "_progress": ("Progress",),
    "_settings": ("get_memory_limit", "set_memory_limit"),
    "budgets.accountant": ("Accountant",),
    "budgets.filter": ("PrivacyFilter",),
    "budgets.odometer": ("OdometerReading", "PrivacyOdometer"),
    "dpsgd.clipping": ("adaptive_clipping_noise",),
    "dpsgd.plan": ("TrainingSchedule", "dpsgd_schedule"),
    "dpsgd.shuffled": ("shuffled_lower_bound",),
    "dpsgd.sweep_results": ("SweepBounds", "SweepCalibrations"),
    "dpsgd.sweeps": (
        "dpsgd_delta",
        "dpsgd_epsilon",
        "dpsgd_noise_multiplier",
        "dpsgd_steps",
    ),
    "files.schedule": ("read_schedule",),
    **{f"mechanisms.{module}": names for module, names in mechanisms.HOMES.items()},
}

__all__ = sorted(name for names in _HOMES.values() for name in names)
__all__ += ["__version__", "get_include", "get_library_dir"]
__getattr__, __dir__ = loaded_when_asked(__name__, _HOMES)

find_former_modules()


@public
def get_include() -> str:
    """Return the folder of prvcore.h, the contract of the C core."""
    installed = _folder() / "include"
    return str(installed if installed.is_dir() else _folder().parent / "src_c" / "include")


@public
def get_library_dir() -> str:
    """Return the folder of the static library ``prvcore``, for packages that call the C core.

    It has the very code that this package runs. Link the C library's mathematics (``m``) too.
    """
    return str(_folder() / "lib")


def _folder() -> "Path":
    from pathlib import Path  # only those who compile need it

    return Path(__file__).resolve().parent
