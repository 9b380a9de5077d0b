"""A setting: what is composed, how, and what is asked of it."""

from dataclasses import dataclass, field

from .parameters import draw_delta


@dataclass(frozen=True)
class Setting:
    """What is composed, with `options` for compose, and what is asked of it.

    questions are pairs (name, point); 'share' is delta at so much of the last epsilon answered.
    askers: 'curve', 'functions', 'accountant'. patience multiplies that of all settings.
    refusable: prvcore may raise ValueError. records: pairs of neighbouring data sets, of which no
    upper bound may be exceeded.
    """

    kind: str
    steps: tuple
    questions: tuple
    options: dict = field(default_factory=dict)
    askers: tuple = ("curve",)
    patience: float = 1.0
    refusable: bool = False
    records: tuple = ()
    bits: int = 160  # of the balls

    def __repr__(self):
        steps = ", ".join(f"({mechanism!r}, {count})" for mechanism, count in self.steps[:8])
        if len(self.steps) > 8:
            steps += f", ... {len(self.steps)} in all"
        if len(steps) > 1500:
            steps = f"{steps[:700]} ... {steps[-300:]}"
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        records = f" with {self.records}" if self.records else ""
        return f"compose([{steps}]{options}){records}"


def setting_of(rng, kind, steps, questions, options, **more):
    askers = ["curve"]
    if len(steps) > 1 or rng.random() < 0.15:
        askers.append("accountant")
    if rng.random() < 0.2:
        askers.append("functions")
    return Setting(kind, tuple(steps), tuple(questions), options, tuple(askers), **more)


def epsilon_and_near(rng):
    share = float(rng.choice([0.97, 0.9, 0.5, -0.3]))
    return [("epsilon", draw_delta(rng)), ("share", 1.0), ("share", share)]
