"""Types of arguments: numbers, and arrays of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

# By which of the first two a point is, type checkers know what is returned: floats, or arrays.
Scalar: TypeAlias = float | np.floating[Any] | np.integer[Any]
Array: TypeAlias = NDArray[Any] | Sequence[Any]
