"""Random numbers of a setting: counts, noises, probabilities, options and neighbouring doubles."""

import math

REPLACED = ("randomized response", "replaced", "replaced poisson", "fixed size", "replaced list")


def log_uniform(rng, low, high):
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def upto(rng, most):
    return int(log_uniform(rng, 2, most + 1))


def draw_noise(rng, count):
    """Return a noise; often one with which so many steps still have some privacy."""
    noise = log_uniform(rng, 0.2, 200)
    return noise * math.sqrt(count) ** float(rng.choice([0.0, 0.5, 1.0]))


# what the oracle can compose
MOST = {
    **dict.fromkeys(("laplace", "bounded range"), 60),
    **dict.fromkeys(("sampled laplace", "fixed size", "truncated", "own cdfs"), 2),
    **dict.fromkeys(("table", "sampled table", "sampled discrete"), 12),
    **dict.fromkeys(("discrete gaussian", "discrete laplace"), 100),
    **dict.fromkeys(("pure", "approximate", "own curve", "replaced"), 3000),
    **dict.fromkeys(("randomized response", "sampled approximate"), 200),
}


def draw_count(rng, kind="", most=1e6):
    most = MOST.get(kind, most)
    return int(log_uniform(rng, 1, 8)) if rng.random() < 0.25 else int(log_uniform(rng, 1, most))


def draw_probability(rng):
    chance = rng.random()
    if chance < 0.05:
        return 1.0
    if chance < 0.12:
        return 1.0 - log_uniform(rng, 1e-13, 0.1)
    return log_uniform(rng, 1e-7, 1.0)


def draw_delta(rng):
    if rng.random() < 0.6:
        return log_uniform(rng, 1e-15, 0.9)
    return log_uniform(rng, 1e-200, 1e-15)


def draw_neighbors(rng, kind=""):
    if kind in REPLACED:
        return "replace-one"
    return str(rng.choice(["add", "remove", "add-or-remove"]))


def draw_options(rng, kind="", neighbors=None):
    neighbors = neighbors or draw_neighbors(rng, kind)
    if kind == "truncated" and rng.random() < 0.4:
        neighbors = "replace-one"
    options = {"neighbors": neighbors}
    engine = str(rng.choice(["auto", "convolution", "spectrum"], p=[0.4, 0.3, 0.3]))
    if engine != "auto":
        options["engine"] = engine
    chance = rng.random()
    if chance < 0.35:
        options["eps_error"] = log_uniform(rng, 1e-4, 3.0)
    elif chance < 0.6:
        options["mesh_size"] = log_uniform(rng, 1e-5, 10.0)
    elif chance < 0.65 and kind != "own curve" and engine != "spectrum":
        options["discretization"] = "mean-matching"
        options["eps_error"] = log_uniform(rng, 1e-2, 3.0)
    return options


def beside(rng, x, most=64):
    """Return a double some units in the last place from x, on either side, or x itself."""
    steps = 0 if rng.random() < 0.15 else int(log_uniform(rng, 1, most + 1))
    goal = math.inf if rng.random() < 0.5 else -math.inf
    for _ in range(steps):
        x = math.nextafter(x, goal)
    return x


def draw_width_options(rng, neighbors=None):
    options = draw_options(rng, neighbors=neighbors)
    options.pop("discretization", None)
    options.pop("mesh_size", None)
    return options
