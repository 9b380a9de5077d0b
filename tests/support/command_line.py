"""What tests of the command line share."""

import prvcore as prv
from prvcore import _cli as cli

SETTING = ["--noise-multiplier", "0.8", "--sampling-probability", "0.001", "--steps", "1000"]
EPSILON = ["epsilon", *SETTING, "--delta", "1e-7"]
DELTA = ["delta", *SETTING, "--epsilon", "0.7"]

TRAINING = ["--dataset-size", "6e4", "--batch-size", "256", "--epochs", "15"]
OF_TRAINING = ["--sampling-probability", "256/60000", "--steps", "3.525e3"]


def printed(capsys, *arguments):
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def numbers(out):
    """Return what is printed after lower, estimate and upper."""
    lines = dict(line.split() for line in out.splitlines()[1:4])
    assert list(lines) == ["lower", "estimate", "upper"]
    return lines


def curve(**options):
    return prv.compose(prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000, **options)
