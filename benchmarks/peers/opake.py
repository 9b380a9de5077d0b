"""Opake's accountant in Rust."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

from .dp_accounting_pld import DPAccountingPLD
from .interface import Peer, upper_only


@cache
def native():
    """Load the compiled module by its file.

    The package around it cannot be imported on Python 3.11 and 3.12.1 (a dataclass with two
    ``__weakref__`` slots), and answers from a cache where it can.
    """
    spec = importlib.util.find_spec("opake")
    folders = spec.submodule_search_locations if spec else ()
    for folder in folders:
        for file in Path(folder).glob("api/accounting/core/opake_accounting.*"):
            if file.suffix in (".so", ".pyd"):
                spec = importlib.util.spec_from_file_location("opake_accounting", file)
                module = importlib.util.module_from_spec(spec)
                sys.modules[spec.name] = module
                spec.loader.exec_module(module)
                return module
    raise ModuleNotFoundError("No module named 'opake.api.accounting.core.opake_accounting'")


class Opake(Peer):
    """The setting ``mesh`` is discretization, 1e-4 by default."""

    name = "opake"
    module = "opake"
    distribution = "opake-accounting"
    promise = "upper"
    directions = "add-or-remove"
    ladder = DPAccountingPLD.ladder

    def load(self):
        """Load the compiled module."""
        native()

    @staticmethod
    def composed(runs, mesh):
        """Compose anew."""
        accounting = native()
        config = accounting.DiscretizationConfig(mesh)
        composed = None
        for noise_multiplier, sampling_probability, count in runs:
            step = accounting.gaussian_pld(noise_multiplier, config)
            if sampling_probability < 1.0:
                step = accounting.poisson_pld(step, sampling_probability)
            step = step.self_compose(count)
            composed = step if composed is None else composed.compose(step)
        return composed

    def epsilon(self, runs, delta, mesh=1e-4):
        """Ask for epsilon."""
        return upper_only(self.composed(runs, mesh).epsilon_at(delta))

    def delta(self, runs, epsilon, mesh=1e-4):
        """Ask for delta."""
        return upper_only(self.composed(runs, mesh).delta_at(epsilon))
