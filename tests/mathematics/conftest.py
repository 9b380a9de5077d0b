"""What several files of tests share: a witness of two kinds of steps."""

import json

import pytest

from tests.witnesses import CURVE


@pytest.fixture(scope="session")
def witness():
    return json.loads(json.dumps(CURVE.witness(delta=1e-6)))
