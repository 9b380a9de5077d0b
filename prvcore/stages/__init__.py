"""The stages of a composition, one by one: the code that answers every question.

.. code-block:: none

   mechanism -> cells -> dominating, dominated or mean_matched -> convolve or sum_spectrum -> delta

A stage is the function of the C core that a `prvcore.PrivacyCurve` calls: from the same arrays it
makes the same bits. A curve chooses knots, tilt and window by itself, as `plan` does. Here the
caller chooses them freely. The error terms of a stage hold for any choice; a bad choice makes them
large.

Objects of these classes are immutable, and may be shared between threads. Their arrays are copies.
The GIL is released while a stage computes.
"""

from prvcore.stages._cells import Cells, Rounding, cells
from prvcore.stages._composition import Convolution, Spectrum, Window, convolve, sum_spectrum
from prvcore.stages._evaluation import Composed, ErrorTerms
from prvcore.stages._lattices import Lattice, Mesh, dominated, dominating, mean_matched
from prvcore.stages._planning import Plan, plan

__all__ = [
    "Cells",
    "Composed",
    "Convolution",
    "ErrorTerms",
    "Lattice",
    "Mesh",
    "Plan",
    "Rounding",
    "Spectrum",
    "Window",
    "cells",
    "convolve",
    "dominated",
    "dominating",
    "mean_matched",
    "plan",
    "sum_spectrum",
]

# Users see one module. The classes say so themselves, in Cython.
for _function in (cells, convolve, dominated, dominating, mean_matched, plan, sum_spectrum):
    _function.__module__ = __name__
