"""Each code of prv_status has an exception and a message; one place states the version."""

import re
from pathlib import Path

import pytest

import prvcore as prv
from prvcore._core import status as statuses

HEADER = (Path(prv.get_include()) / "prvcore.h").read_text(encoding="utf-8")
NAMES = re.findall(r"^    (PRV_(?:OK|ERR_\w+|STATUS_COUNT))\b", HEADER, re.MULTILINE)
SPECIAL = {
    "PRV_ERR_MEMORY": MemoryError,
    "PRV_ERR_INTERRUPTED": KeyboardInterrupt,
    "PRV_ERR_BOUNDS": RuntimeError,
    "PRV_ERR_FFT": RuntimeError,
    "PRV_ERR_PRECISION": prv.PrecisionError,
    "PRV_ERR_TARGET": prv.TargetError,
    "PRV_ERR_ARITHMETIC": FloatingPointError,
}


def test_the_header_lists_every_code():
    assert NAMES[0] == "PRV_OK"
    assert NAMES[-1] == "PRV_STATUS_COUNT"
    assert len(NAMES) == statuses.STATUS_COUNT + 1
    assert set(SPECIAL) <= set(NAMES)


@pytest.mark.parametrize("status", range(1, statuses.STATUS_COUNT), ids=NAMES[1:-1])
def test_every_code_has_its_exception(status):
    error = statuses.exception_of(status)
    assert type(error) is SPECIAL.get(NAMES[status], ValueError)
    assert len(str(error)) > 4
    assert not str(error).endswith(".")
    assert "unknown" not in str(error)


def test_every_code_has_its_own_message():
    messages = {str(statuses.exception_of(s)) for s in range(1, statuses.STATUS_COUNT)}
    assert len(messages) == statuses.STATUS_COUNT - 1


@pytest.mark.parametrize("status", [-1, 0, statuses.STATUS_COUNT])
def test_no_exception_of_anything_else(status):
    with pytest.raises(ValueError, match=f"status must be in .*got {status}"):
        statuses.exception_of(status)


def test_precision_error_is_a_value_error():
    assert issubclass(prv.PrecisionError, ValueError)
    assert issubclass(prv.AccuracyWarning, UserWarning)


def test_the_header_alone_states_the_version():
    version = re.search(r'PRV_VERSION "(.+)"', HEADER)[1]
    assert prv.__version__ == version
    from importlib.metadata import version as installed

    assert installed("prvcore") == version
