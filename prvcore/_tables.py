"""Data frames of results; pandas is loaded when one is made."""

from typing import Any

import numpy as np

__all__ = ["table_of"]


def table_of(columns: dict[str, Any], shape: tuple[int, ...]) -> Any:
    """Return a pandas DataFrame of numbers and arrays of one shape, in C order."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_dataframe needs pandas, which is not installed: pip install pandas"
        ) from error
    return pd.DataFrame(
        {name: np.ravel(np.broadcast_to(values, shape)) for name, values in columns.items()}
    )
