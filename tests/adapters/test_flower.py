"""Flower's accounting: the protocol, the values of its own tests, and a run that stops in time."""

import json

import pytest

import prvcore as prv
from tests.support.checkout import ROOT, program_of

serverapp = pytest.importorskip("flwr.serverapp", reason="flwr is not installed")
if not hasattr(serverapp, "GaussianPrivacyEvent"):
    pytest.skip("flwr is older than its privacy accounting", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")  # of flwr, which is not ours

Event, Relation, Method = (
    serverapp.GaussianPrivacyEvent,
    serverapp.NeighboringRelation,
    serverapp.SamplingMethod,
)
DELTA = 1e-6


def config(method=Method.NO_AMPLIFICATION, **changed):
    replaced = method is Method.WITHOUT_REPLACEMENT
    relation = Relation.REPLACE_ONE if replaced else Relation.ADD_OR_REMOVE_ONE
    settings = {
        "target_delta": DELTA,
        "population_size": 1000,
        "neighboring_relation": relation,
        "sampling_method": method,
        "max_epsilon": None,
    }
    return serverapp.PrivacyConfig(**{**settings, **changed})


@pytest.fixture(scope="module")
def accountant():
    from prvcore.adapters.flower import FlowerAccountant

    return FlowerAccountant


# The events of Flower's own reference tests, and the exact epsilons to the digits given.
REFERENCE = [
    (Method.NO_AMPLIFICATION, Event(1.2, 1000, 1000), 1, 3.975695),
    (Method.POISSON, Event(1.2, 10, 1000), 100, 0.55877),
    (Method.WITHOUT_REPLACEMENT, Event(1.5, 100, 1000), 10, 6.3710),
]


@pytest.mark.parametrize(("method", "event", "count", "epsilon"), REFERENCE)
def test_epsilon_is_an_upper_bound_of_the_exact_one(accountant, method, event, count, epsilon):
    found = accountant(config(method))
    found.compose(event, count)
    lower, _, upper = found.bounds()
    assert lower <= epsilon + 1e-5
    assert epsilon - 1e-5 <= upper <= epsilon * 1.002
    assert found.get_epsilon(DELTA) == upper
    assert found.get_privacy_spent() == serverapp.PrivacySpent(upper, DELTA, count, "prvcore")
    assert found.get_privacy_spent(1e-3).epsilon == found.get_epsilon(1e-3) < upper
    assert found.get_delta(upper) <= DELTA * 1.05
    assert found.num_releases == count


def test_releases_of_all_kinds_compose(accountant):
    found = accountant(config(Method.POISSON))
    assert found.get_epsilon(DELTA) == 0.0
    found.compose(Event(1.2, 10, 1000), 3)
    found.compose(Event(1.5, 30, 1000))
    first, second = (prv.PoissonSubsampledGaussian(*step) for step in [(1.2, 0.01), (1.5, 0.03)])
    steps = [(first, 3), (second, 1)]
    lower, _, upper = prv.compose(steps).epsilon(DELTA)
    assert lower <= found.get_epsilon(DELTA) <= upper * 1.001


@pytest.mark.parametrize(
    ("noise", "epsilon", "rounds"), [(2.4, 10.0, 23), (10, 1, 7), (5, 1, 1), (3, 1, 0)]
)
def test_a_budget_lets_through_all_that_it_has_room_for(accountant, noise, epsilon, rounds):
    found = accountant(config(target_delta=1e-5, max_epsilon=epsilon))
    event = Event(float(noise), 1000, 1000)
    released = 0
    while not found.would_exceed(event):
        found.compose(event)
        released += 1
    assert released == rounds
    assert found.num_releases == rounds
    assert found.get_epsilon(1e-5) <= epsilon
    assert not found.would_exceed(event, max_epsilon=2.0 * epsilon + 5.0)
    if rounds > 1:
        assert accountant(found.config).would_exceed(event, count=rounds + 1)
        assert not accountant(found.config).would_exceed(event, count=rounds)


@pytest.mark.parametrize(("method", "event", "count", "epsilon"), REFERENCE)
def test_states_are_read_back_and_those_of_their_own_backend_too(
    accountant, method, event, count, epsilon
):
    found = accountant(config(method))
    found.compose(event, count)
    state = json.loads(json.dumps(found.state_dict()))
    other = accountant(config(method))
    other.load_state_dict(state)
    assert other.bounds() == found.bounds()
    assert other.num_releases == count
    pytest.importorskip("dp_accounting", reason="Flower's own backend needs dp-accounting")
    theirs = serverapp.RdpAccountant(config(method))
    theirs.compose(event, count)
    other = accountant(config(method))
    other.load_state_dict(json.loads(json.dumps(theirs.state_dict())))
    assert other.bounds() == found.bounds()
    if method is not Method.WITHOUT_REPLACEMENT:  # the noise is over another sensitivity there
        assert found.bounds().lower <= theirs.get_epsilon(DELTA)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 2}, "schema version 1, got 2"),
        ({"backend": "zcdp"}, "one of the backends"),
        ({"config": {}}, "of the configuration of this accountant"),
        ({"compositions": [{"count": 1}]}, "a composition that is none"),
        ({"compositions": [{"event": {"noise_multiplier": 1.0}, "count": 1}]}, "that is none"),
        (
            {
                "compositions": [
                    {
                        "event": {
                            "noise_multiplier": 1.0,
                            "sample_size": 5,
                            "population_size": 7,
                        },
                        "count": 1,
                    }
                ]
            },
            "population_size of the event",
        ),
    ],
)
def test_states_of_others_are_refused_in_words_and_change_nothing(accountant, change, message):
    found = accountant(config())
    found.compose(Event(1.2, 1000, 1000))
    with pytest.raises(ValueError, match=message):
        found.load_state_dict({**found.state_dict(), **change})
    with pytest.raises(ValueError, match="state must be a state of a Flower accountant"):
        found.load_state_dict({})
    assert found.num_releases == 1


def test_bad_arguments_are_named(accountant):
    found = accountant(config())
    with pytest.raises(TypeError, match="config must be a PrivacyConfig"):
        accountant({})
    with pytest.raises(TypeError, match="takes no neighbors"):
        accountant(config(), neighbors="add")
    with pytest.raises(ValueError, match="population_size of the event must be"):
        found.compose(Event(1.0, 5, 999))
    with pytest.raises(ValueError, match="count must be"):
        found.compose(Event(1.0, 5, 1000), 0)
    with pytest.raises(ValueError, match="max_epsilon must be given"):
        found.would_exceed(Event(1.0, 5, 1000))
    with pytest.raises(TypeError, match="event must be a GaussianPrivacyEvent"):
        found.compose(prv.Gaussian(1.0))


def test_it_has_all_of_the_protocol(accountant):
    members = [name for name in vars(serverapp.PrivacyAccountant) if not name.startswith("_")]
    assert len(members) >= 9
    assert all(hasattr(accountant, name) for name in members)


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the pages are part of the checkout")
def test_the_run_of_the_tutorial_stops_at_its_budget(capsys):
    from flwr.app import Context, RecordDict
    from flwr.supercore.task_identity import TaskIdentity

    page = ROOT / "docs" / "tutorials" / "federated.rst"
    names = {}
    exec(program_of(page, "server = ServerApp()"), names)
    exec(program_of(page, "client = ClientApp()"), names)

    class InOneProcess(serverapp.Grid):
        """Hands each message to the client of its node, and returns the replies."""

        def set_run(self, run):
            raise NotImplementedError

        run = push_messages = pull_messages = set_run

        def create_message(self, content, message_type, dst_node_id, group_id, ttl=None):
            raise NotImplementedError

        def get_node_ids(self):
            return [1, 2]

        def send_and_receive(self, messages, *, timeout=None):
            return [self.answered(message) for message in messages]

        def answered(self, message):
            node = message.metadata.dst_node_id
            TaskIdentity.node_id = node
            try:
                return names["client"](message, Context(1, node, {}, RecordDict(), {}))
            finally:
                TaskIdentity.node_id = 0

    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 0, 0
    names["server"](InOneProcess(), Context(1, 0, {}, RecordDict(), {}))
    printed = capsys.readouterr().out.strip().splitlines()[-1]
    assert f"``{printed}``" in page.read_text("utf-8")
