"""The calculator of the documentation site in a browser: Python's values, and every control.

It needs selenium (prvcore[test-browser]), chromium and chromedriver, which are Debian's packages
chromium and chromium-driver, and js/core.wasm, which js/build.sh makes.
"""

import contextlib
import csv
import functools
import http.server
import io
import json
import re
import runpy
import shlex
import shutil
import threading
import time
from decimal import Decimal
from types import SimpleNamespace

import pytest

import prvcore as prv
from prvcore import _cli as cli
from tests.support.checkout import ROOT

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium drives the browser")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("needs chromium and chromedriver", allow_module_level=True)
if not (ROOT / "js" / "core.wasm").is_file():
    pytest.skip("needs js/core.wasm, which js/build.sh makes", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
PATIENCE = 60  # s, on a machine that does much else
# The same C is compiled by another compiler, with another library of elementary functions.
SAME = functools.partial(pytest.approx, rel=1e-9, abs=1e-15)
TRAINING = "terms=training&dataset_size=60000&batch_size=256&epochs=15&noise_multiplier=1.1"
LIST = [
    {"type": "PoissonSubsampledGaussian", "noise_multiplier": 1, "sampling_probability": 0.01},
    {"type": "Laplace", "scale": 20, "count": 10},
    {"type": "PoissonSubsampled", "mechanism": {"type": "Gaussian", "noise_multiplier": 3},
     "sampling_probability": 1e-5, "count": 2000},
    {"type": "DiscreteGaussian", "scale": 5, "count": 2},
]  # fmt: skip
QUICK = [LIST[0], LIST[2]]  # noise for a target is found fast


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    handler = functools.partial(Handler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))  # s, until it sees the end
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/calculator/", server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Page:
    """The page as someone uses it."""

    def __init__(self, driver, address):
        self.driver, self.address = driver, address

    def open(self, fragment="", *, anew=False):
        """Show a setting: anew, or in the page that is there, as a link to another setting does."""
        if anew or not self.driver.current_url.startswith(self.address):
            self.driver.get("about:blank")
            self.driver.get(f"{self.address}index.html#{fragment}")
        else:
            self.run(
                "(history.replaceState(null, '', `#${arguments[0]}`),"
                " dispatchEvent(new HashChangeEvent('hashchange')))",
                fragment,
            )
        self.settled()

    def run(self, script, *given):
        return self.driver.execute_script(f"return {script}", *given)

    def find(self, name):
        return self.driver.find_element("css selector", f"[id='{name}']")

    def text(self, name):
        return self.run("document.getElementById(arguments[0]).textContent", name)

    def wait(self, script, *given):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := self.run(script, *given):
                return found
            time.sleep(0.05)
        raise AssertionError(f"not so after {PATIENCE} s: {script}; {self.text('answer')}")

    def settled(self):
        """Wait until the answer is that of the setting."""
        self.wait("document.getElementById('answer').ariaBusy === 'false'")

    def drawn(self):
        """Wait until the curves are those of the setting, too."""
        self.wait(
            "!document.getElementById('curves').classList.contains('outdated')"
            " && !document.getElementById('save-json').disabled"
        )

    def type(self, name, text):
        field = self.find(name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)

    def set(self, name, value, event):
        """Give a control a value as a hand would that is too fast to be seen."""
        self.run(
            "((name, value, event) => { const control = document.getElementById(name);"
            " control.value = value; control.dispatchEvent(new Event(event)); return 1; })"
            "(...arguments)",
            *(name, value, event),
        )

    def bounds(self):
        """The numbers that are shown: lower and upper."""
        found = re.search(r"lies in \[(\S+), (\S+)\] nats", self.text("epsilon-bounds"))
        return float(found[1]), float(found[2])

    def saved(self, folder, button, name):
        self.drawn()
        file = folder / name
        file.unlink(missing_ok=True)
        self.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
        )
        self.find(button).click()
        end = time.monotonic() + PATIENCE
        # Chromium reserves the name with an empty file, over which it then moves the whole one.
        while not file.exists() or file.stat().st_size == 0:
            assert time.monotonic() < end, f"{name} was not saved"
            time.sleep(0.05)
        return file.read_text("utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    copy = runpy.run_path(str(ROOT / "docs" / "conf.py"))["copy_calculator"]
    copy(SimpleNamespace(outdir=folder, builder=SimpleNamespace(format="html")), None)
    return folder


@pytest.fixture(scope="module")
def driver():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for each in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--window-size=1280,1200",
    ):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=Service(DRIVER)) as driver:
        yield driver


@pytest.fixture(scope="module")
def address(site):
    with served(site) as (address, _):
        yield address


@pytest.fixture
def page(address, driver):
    yield Page(driver, address)
    assert driver.get_log("browser") == []  # no errors, no warnings


def expected(bounds, shown):
    """Whether what is shown is the bounds, rounded outwards to four digits."""
    lower, upper = shown
    assert lower <= bounds.lower * (1 + 1e-9)
    assert bounds.upper * (1 - 1e-9) <= upper
    assert bounds.lower - lower <= 1.01e-3 * bounds.lower
    assert upper - bounds.upper <= 1.01e-3 * bounds.upper


@pytest.mark.parametrize("neighbors", ["add-or-remove", "add", "remove", "replace-one"])
def test_training_terms_give_the_values_and_the_sentence_of_python(page, tmp_path, neighbors):
    page.open(f"{TRAINING}&delta=1e-5&target=2&neighbors={neighbors}")
    training = prv.dpsgd_schedule(dataset_size=60_000, batch_size=256, epochs=15)
    step = prv.PoissonSubsampledGaussian(1.1, training.sampling_probability)
    curve = prv.compose(step, training.steps, neighbors=neighbors)
    page.drawn()
    told = json.loads(page.saved(tmp_path, "save-json", "prvcore.json"))
    epsilon = curve.epsilon(1e-5)
    assert (told["epsilon"]["lower"], told["epsilon"]["upper"]) == SAME(
        (epsilon.lower, epsilon.upper)
    )
    expected(epsilon, page.bounds())
    assert page.text("sentence") == training.report(1.1, 1e-5, neighbors=neighbors)
    delta = curve.delta(2.0)
    assert told["delta_at_target"]["upper"] == SAME(delta.upper)
    found = training.noise_multiplier(epsilon=2, delta=1e-5, neighbors=neighbors)
    assert told["noise"]["noise_multiplier"] == pytest.approx(found.value, rel=3e-4)
    shown = float(re.search(r"noise multiplier (\S+) is enough", page.text("noise"))[1])
    closely = training.epsilon(shown, 1e-5, neighbors=neighbors, eps_error=1e-5)
    assert closely.upper <= 2.0


@pytest.mark.parametrize("epochs", ["0.3", "1.5", "2e1", "7"])
def test_parts_of_epochs_have_the_steps_of_python(page, epochs):
    page.open(f"terms=training&dataset_size=1000&batch_size=96&epochs={epochs}&noise_multiplier=2")
    training = prv.dpsgd_schedule(dataset_size=1000, batch_size=96, epochs=float(epochs))
    assert page.text("sentence") == training.report(2.0, 1e-5)


def same_from_calls(page, capsys, monkeypatch):
    """Compare what is shown with what the calls print that are shown."""
    exec(page.text("python"), {})
    printed = capsys.readouterr().out
    found = re.search(r"lower=(\S+), .*upper=([^,)]+)", printed.splitlines()[0])
    expected(SimpleNamespace(lower=float(found[1]), upper=float(found[2])), page.bounds())
    command, _, rest = page.text("command").partition(" <<'JSON'\n")
    if rest:
        lines = io.TextIOWrapper(io.BytesIO(rest.removesuffix("JSON").encode()))
        monkeypatch.setattr("sys.stdin", lines)
    said = []
    for line in command.splitlines():
        assert cli.main([*shlex.split(line)[1:], "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out))
    expected(SimpleNamespace(lower=said[0]["lower"], upper=said[0]["upper"]), page.bounds())
    return printed, said


def test_calls_of_python_and_of_the_command_line_give_the_same(page, capsys, monkeypatch):
    accounting = "terms=accounting&sampling_probability=256/60000&steps=3525&noise_multiplier=0.9"
    written = json.dumps({"steps": QUICK})
    for fragment in (
        f"{TRAINING}&delta=1e-6",
        f"{accounting}&neighbors=remove",
        f"terms=list&list={written}",
    ):
        page.open(fragment)
        printed, said = same_from_calls(page, capsys, monkeypatch)
        page.wait("!document.getElementById('more').classList.contains('outdated')")
        shown = float(re.search(r"(\S+) is enough", page.text("noise"))[1])
        value = float(re.search(r"value=([^,]+),", printed.splitlines()[1])[1])
        assert value == pytest.approx(shown, rel=2e-3)
        assert [one["value"] for one in said[1:]] in ([], [value])


SAMPLERS = {
    "poisson": {},
    "opacus": {"loader": "opacus"},
    "opacus-drop-last": {"loader": "opacus", "drop_last": True},
    "fixed-size": {"sampler": "fixed-size"},
    "random-allocation": {"sampler": "random-allocation"},
    "balls-in-bins": {"sampler": "balls-in-bins"},
}


def test_every_sampler_gives_the_values_the_sentence_and_the_calls_of_python(
    page, capsys, monkeypatch
):
    page.open("terms=training")
    offered = page.run("[...document.getElementById('sampler').options].map(({value}) => value)")
    assert set(offered) == {*SAMPLERS, "in-order"}
    for sampler, named in SAMPLERS.items():
        neighbors = "replace-one" if sampler == "fixed-size" else "add-or-remove"
        page.open(
            f"terms=training&dataset_size=1000&batch_size=96&epochs=3&noise_multiplier=2"
            f"&sampler={sampler}&neighbors={neighbors}"
        )
        training = prv.dpsgd_schedule(1000, 96, 3, **named)
        expected(training.epsilon(2.0, 1e-5, neighbors=neighbors), page.bounds())
        assert page.text("sentence") == training.report(2.0, 1e-5, neighbors=neighbors)
        same_from_calls(page, capsys, monkeypatch)
    page.open("terms=training&dataset_size=1000&batch_size=96&epochs=3&sampler=in-order")
    expected(prv.compose(prv.Gaussian(1.1), 3).epsilon(1e-5), page.bounds())
    same_from_calls(page, capsys, monkeypatch)


def test_a_part_of_an_epoch_of_random_allocation_has_the_values_of_python(
    page, capsys, monkeypatch
):
    page.open(
        "terms=accounting&sampling_probability=1/7&steps=10&noise_multiplier=2"
        "&sampler=random-allocation"
    )
    found = prv.dpsgd_epsilon(2.0, 1 / 7, 10, 1e-5, sampler="random-allocation")
    expected(found, page.bounds())
    same_from_calls(page, capsys, monkeypatch)


@pytest.mark.parametrize(
    ("fragment", "name", "told"),
    [
        ("terms=training&sampler=fixed-size", "neighbors", "one record replaced"),
        ("terms=training&sampler=balls-in-bins&neighbors=replace-one", "neighbors", "no bound"),
        ("terms=training&sampler=balls-in-bins&epochs=1.5", "epochs", "whole epochs"),
        (
            "terms=accounting&sampler=random-allocation&sampling_probability=0.3",
            "sampling_probability",
            "1 / (batches of an epoch)",
        ),
    ],
)
def test_what_a_sampler_does_not_have_is_told_beside_its_field(page, fragment, name, told):
    page.open(fragment)
    assert told in page.text(f"{name}-fault")
    assert told in page.text("epsilon-bounds")


def test_a_list_of_mechanisms_gives_the_values_and_the_sentence_of_python(page):
    page.open(f"terms=list&delta=1e-6&list={json.dumps({'steps': LIST})}")
    steps = prv.read_schedule(io.BytesIO(json.dumps({"steps": LIST}).encode()))
    curve = prv.compose(steps)
    expected(curve.epsilon(1e-6), page.bounds())
    assert page.text("sentence") == curve.report(delta=1e-6)
    page.open(f"terms=list&delta=1e-6&target=2&list={json.dumps({'steps': QUICK})}")
    steps = prv.read_schedule(io.BytesIO(json.dumps({"steps": QUICK}).encode()))
    factor = prv.calibrate(steps, epsilon=2, delta=1e-6).value
    page.wait("!document.getElementById('more').classList.contains('outdated')")
    shown = float(re.search(r"all noise times (\S+) is enough", page.text("noise"))[1])
    assert factor * (1 - 3e-4) <= shown <= factor * (1 + 2e-3)


def test_every_mechanism_that_can_be_added_is_answered(page):
    page.open("terms=list")
    page.set("list", '{"steps": []}', "input")
    assert "at least one" in page.text("list-fault")
    kinds = page.run("[...document.getElementById('kind').options].map(({value}) => value)")
    assert len(kinds) >= 15
    for kind in kinds:
        replaced = kind in ("RandomizedResponse", "SubsampledWithoutReplacement")
        neighbors = "replace-one" if replaced else "add-or-remove"
        page.set("neighbors", neighbors, "change")
        page.set("list", '{"steps": []}', "input")
        page.set("kind", kind, "change")
        page.find("add").click()
        assert page.run("document.activeElement.value") == kind
        page.settled()
        steps = prv.read_schedule(
            io.BytesIO(page.run("document.getElementById('list').value").encode())
        )
        assert [type(step).__name__ for step, _ in steps] == [kind]
        curve = prv.compose(steps, neighbors=neighbors)
        expected(curve.epsilon(1e-5), page.bounds())
        assert page.text("sentence") == curve.report(delta=1e-5)


def test_rows_are_changed_moved_and_removed_by_the_keyboard(page):
    page.open(f"terms=list&delta=1e-6&list={json.dumps({'steps': LIST[:3]})}")

    def listed():
        return json.loads(page.find("list").get_property("value"))["steps"]

    def focused():
        return page.run("document.activeElement.ariaLabel")

    def right():
        page.settled()
        steps = prv.read_schedule(io.BytesIO(page.find("list").get_property("value").encode()))
        expected(prv.compose(steps).epsilon(1e-6), page.bounds())

    page.type("row-0-noise_multiplier", "1.5")
    page.type("row-1-count", "12")
    page.type("row-2-mechanism-noise_multiplier", "2")
    page.type("row-2-sampling_probability", "1/1000")
    changed = listed()
    assert [changed[0]["noise_multiplier"], changed[1]["count"]] == [1.5, 12]
    assert changed[2]["mechanism"] == {"type": "Gaussian", "noise_multiplier": 2}
    assert changed[2]["sampling_probability"] == 1e-3
    right()
    page.driver.find_element("css selector", "#row-0 .down").send_keys(Keys.ENTER)
    assert [step["type"] for step in listed()] == [LIST[i]["type"] for i in (1, 0, 2)]
    assert focused() == "Move down mechanism 2"  # it is still in hand
    assert "mechanism 2 of 3" in page.text("rows-done")
    page.driver.find_element("css selector", "#row-0 .remove").send_keys(Keys.SPACE)
    assert [step["type"] for step in listed()] == [LIST[i]["type"] for i in (0, 2)]
    assert focused() == "Remove mechanism 1"
    page.find("row-0-type").send_keys("Laplace")
    assert listed()[0] == {"type": "Laplace", "scale": 20, "count": 1}
    page.find("row-1-mechanism-type").send_keys("Laplace")
    assert listed()[1]["mechanism"] == {"type": "Laplace", "scale": 20}
    right()
    page.type("row-1-mechanism-scale", "much")
    page.wait("document.getElementById('list-fault').textContent.startsWith('Mechanism 2: scale')")
    assert "faulty" in page.find("row-1").get_attribute("class")
    assert page.find("row-1-mechanism-scale").get_property("value") == "much"


def test_sliders_move_their_numbers_and_the_answer_by_the_keyboard(page):
    names = {
        "training": ["dataset_size", "batch_size", "epochs", "noise_multiplier", "delta", "target"],
        "accounting": ["sampling_probability", "steps"],
    }
    for terms, sliders in names.items():
        page.open(f"terms={terms}")
        for name in sliders:
            before = page.find(name).get_property("value"), page.run("location.hash")
            page.find(f"{name}-slider").send_keys(Keys.ARROW_RIGHT * 20)
            value = page.find(name).get_property("value")
            assert value != before[0]
            assert page.run("location.hash") != before[1]
            assert page.find(f"{name}-slider").get_attribute("aria-valuetext") == value
        page.settled()
        shown = {
            name: page.find(name).get_property("value")
            for name in [*sliders, "noise_multiplier", "delta"]
        }
        numbers = {name: float(value) for name, value in shown.items()}
        if terms == "training":
            sizes = {name: int(numbers[name]) for name in ("dataset_size", "batch_size")}
            training = prv.dpsgd_schedule(**sizes, epochs=numbers["epochs"])
            found = training.epsilon(numbers["noise_multiplier"], numbers["delta"])
        else:
            found = prv.dpsgd_epsilon(
                numbers["noise_multiplier"],
                numbers["sampling_probability"],
                int(numbers["steps"]),
                numbers["delta"],
            )
        expected(found, page.bounds())


def test_while_a_slider_moves_the_last_answer_is_that_of_the_last_setting(page):
    page.open(f"{TRAINING}&delta=1e-5")
    for place in range(900, 150, -10):
        page.set("noise_multiplier-slider", place, "input")
    page.settled()
    noise = float(page.find("noise_multiplier").get_property("value"))
    expected(prv.dpsgd_schedule(60_000, 256, 15).epsilon(noise, 1e-5), page.bounds())


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("batch_size", "70000", "at most the data set size"),
        ("dataset_size", "12.5", "whole number"),
        ("epochs", "1/2", "must be a number"),
        ("noise_multiplier", "0", "above 0"),
        ("noise_multiplier", "much", "must be a number"),
        ("delta", "1", "below 1"),
        ("delta", "", "empty"),
        ("target", "-1", "above 0"),
    ],
)
def test_a_fault_is_told_beside_its_field(page, name, text, told):
    page.open(f"{TRAINING}&delta=1e-5&target=2")
    before = page.find(name).get_property("value")
    page.type(name, text or Keys.BACKSPACE)
    assert told in page.text(f"{name}-fault")
    assert page.find(name).get_attribute("aria-invalid") == "true"
    assert f"{name}-fault" in page.find(name).get_attribute("aria-describedby")
    assert not any(digit in page.text("epsilon-upper") for digit in "0123456789")
    assert not page.find("save-json").is_enabled()
    page.type(name, before)
    page.settled()
    assert page.text(f"{name}-fault") == ""
    assert page.bounds()[1] > 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not json"),
        ("null", "an object with"),
        ('{"__proto__": {"steps": []}}', "__proto__"),
        ('{"steps": [{}]}', "with a type"),
        ('{"steps": [{"type": "Nothing"}]}', "type must be one of"),
        ('{"steps": [{"type": "Laplace"}]}', "needs scale"),
        ('{"steps": [{"type": "Laplace", "scale": 1, "count": -1}]}', "count"),
        ('{"steps": [{"type": "Laplace", "scale": 1, "count": "2"}]}', "count"),
    ],
)
def test_a_fault_of_the_list_is_told_beside_it(page, text, told):
    page.open("terms=list")
    page.set("list", text, "input")
    page.wait(
        "document.getElementById('list-fault').textContent.toLowerCase().includes(arguments[0])",
        told,
    )
    assert page.find("list").get_attribute("aria-invalid") == "true"


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString"])
def test_a_link_with_names_that_all_objects_have_is_as_at_first(page, name):
    page.open(anew=True)
    first = page.bounds()
    page.open(f"sampler={name}&terms={name}&neighbors={name}&{name}=1", anew=True)
    assert page.bounds() == first


def test_a_link_holds_the_whole_setting(page):
    page.open("terms=list&delta=1e-7&neighbors=remove&target=3")
    page.find("copy-link").click()
    link = page.run("location.href")
    shown = page.bounds()
    page.open()
    assert page.bounds() != shown
    page.run(
        "(location.href = arguments[0], 1)", link
    )  # in the same page: only its fragment changes
    page.wait("document.getElementById('delta').value === '1e-7'")
    page.settled()
    assert page.bounds() == shown
    page.open(link.partition("#")[2], anew=True)
    assert page.bounds() == shown
    assert page.find("neighbors").get_property("value") == "remove"


def test_curves_are_drawn_and_have_the_numbers_of_python(page, tmp_path):
    page.open(f"{TRAINING}&delta=1e-5")
    page.drawn()
    for name in ("privacy-curve", "trade-off", "growth"):
        drawn = "new Set(document.getElementById(arguments[0]).getContext('2d')"
        assert page.run(f"{drawn}.getImageData(0, 0, 300, 200).data).size", name) > 10
        assert "at most" in page.find(name).get_attribute("aria-label")
        rows = "document.getElementById(arguments[0]).querySelectorAll('tbody tr').length"
        assert page.run(rows, f"{name}-table") >= 20
    lines = list(csv.DictReader(io.StringIO(page.saved(tmp_path, "save-csv", "prvcore.csv"))))
    training = prv.dpsgd_schedule(60_000, 256, 15)
    step = prv.PoissonSubsampledGaussian(1.1, training.sampling_probability)
    curve = prv.compose(step, training.steps)
    asked = {
        "privacy-curve": curve.delta,
        "trade-off": curve.power,
        "growth": lambda epochs: prv.compose(step, round(epochs * 235)).epsilon(1e-5),
    }
    for name, ask in asked.items():
        points = [
            {key: float(line[key]) for key in ("value", "lower", "upper")}
            for line in lines
            if line["curve"] == name
        ]
        for point in points[1::6]:
            bounds = ask(point["value"])
            assert point["lower"] <= bounds.upper
            assert bounds.lower <= point["upper"]
            assert point["upper"] - point["lower"] <= 0.03 * point["upper"] + 1e-9


def test_what_is_copied_is_what_is_shown(page):
    page.open(f"{TRAINING}&delta=1e-5")
    origin = page.address.removesuffix("/calculator/")
    permissions = {
        "origin": origin,
        "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"],
    }
    page.driver.execute_cdp_cmd("Browser.grantPermissions", permissions)
    for button in page.driver.find_elements("css selector", "[data-copy]"):
        button.click()
        page.wait("document.getElementById('done').textContent.startsWith('Copied')")
        copied = page.driver.execute_async_script(
            "navigator.clipboard.readText().then(arguments[0])"
        )
        assert copied == page.text(button.get_attribute("data-copy"))


def test_it_works_without_a_network_once_it_was_loaded(site, driver):
    with served(site) as (address, server):
        page = Page(driver, address)
        page.open(f"{TRAINING}&delta=1e-5")
        driver.execute_async_script("navigator.serviceWorker.ready.then(arguments[0])")
        page.open(f"{TRAINING}&delta=1e-5", anew=True)
        shown = page.bounds()
        server.shutdown()
        server.server_close()
        page.open(f"{TRAINING}&delta=1e-5", anew=True)
        assert page.bounds() == shown
        driver.get("about:blank")
    driver.get_log("browser")  # what the network did not have


def test_every_control_has_a_name_and_a_phone_needs_no_sideways_scrolling(page):
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for terms in ("training", "accounting", "list"):
            page.open(f"terms={terms}")
            assert page.run("document.documentElement.scrollWidth") <= 360
            controls = page.driver.find_elements(
                "css selector", "input, select, textarea, button, summary, canvas"
            )
            assert len(controls) > 20
            assert all(control.accessible_name for control in controls if control.is_displayed())
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_numbers_are_rounded_outwards(page):
    page.open()
    values = [
        0.7,
        1.0,
        999.95,
        9999.5,
        1e-5,
        1.23456789e-12,
        5e-324,
        123456.7,
        12345678.9,
        0.99999,
        0.1 + 0.2,
        2 / 3,
    ]
    script = (
        "const [values, done] = arguments; import('./numbers.js').then(({outward}) => done("
        "values.map((value) => [outward(value, 4, 'down'), outward(value, 4, 'up')])))"
    )
    for value, (down, up) in zip(
        values, page.driver.execute_async_script(script, values), strict=True
    ):
        assert Decimal(down) <= Decimal(value) <= Decimal(up)
        assert Decimal(up) - Decimal(down) <= Decimal(value) * Decimal("1.001e-3")
        assert len(Decimal(up).normalize().as_tuple().digits) <= 4


def test_an_epsilon_takes_some_milliseconds(page):
    page.open(f"{TRAINING}&delta=1e-5")
    for place in range(400, 420):
        page.set("noise_multiplier-slider", place, "input")
        page.wait("document.getElementById('answer').ariaBusy === 'false'")
    assert float(page.find("answer").get_attribute("data-milliseconds")) < 1000  # on any machine
