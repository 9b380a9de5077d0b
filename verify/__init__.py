"""An independent check of prvcore: it proves the claim of a witness, or says why not.

This package shares no code with prvcore and does not import it. All that it needs is python-flint,
whose balls enclose real numbers: a comparison of two balls is true only if it holds for all numbers
in them. The four steps, each in a file of its own, are

* `mechanisms`: the two output distributions of each mechanism, from its definition (`gaussian`,
  `laplace`, `atoms`, `sampled`);
* `domination`: each lattice of the witness lies above, or below, the mechanism's privacy curve;
* `composition`: the lattices are composed in integers, rounded away from the truth;
* `claim`: the claimed bounds follow.
"""

from .claim import prove
from .refusal import Refused
from .witness import read
from .words import in_words

__all__ = ["Refused", "in_words", "prove", "read"]
