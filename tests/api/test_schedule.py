"""Files that say what runs, and how often."""

import io
import json
from pathlib import Path

import jsonschema
import pytest

import prvcore as prv
from prvcore.files.mechanisms import mechanism_to_dict
from prvcore.files.schedule import read_schedule, schedule_from_dict, schedule_schema
from tests.support.checkout import ROOT

STEP = {"type": "PoissonSubsampledGaussian", "noise_multiplier": 0.8, "sampling_probability": 0.01}
MECHANISM = prv.PoissonSubsampledGaussian(0.8, 0.01)


def test_steps_in_their_order():
    values = {"steps": [{**STEP, "count": 1000}, {"type": "Laplace", "scale": 20}, STEP]}
    assert schedule_from_dict(values) == (
        (MECHANISM, 1000),
        (prv.Laplace(scale=20), 1),
        (MECHANISM, 1),
    )


def test_mechanisms_within_mechanisms_and_tables():
    table = {"type": "FromTable", "losses": [-1.0, 1.0], "probabilities": [0.25, 0.75]}
    values = {
        "steps": [
            {"type": "PoissonSubsampled", "sampling_probability": 0.5, "mechanism": table},
        ]
    }
    ((found, count),) = schedule_from_dict(values)
    assert count == 1
    assert found == prv.PoissonSubsampled(prv.FromTable([-1.0, 1.0], [0.25, 0.75]), 0.5)


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_both_kinds_of_file(tmp_path, suffix):
    path = tmp_path / f"schedule{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps({"steps": [{**STEP, "count": 3}]}))
    else:
        lines = [f"{name} = {json.dumps(value)}" for name, value in {**STEP, "count": 3}.items()]
        path.write_text("[[steps]]\n" + "\n".join(lines))
    assert read_schedule(path) == ((MECHANISM, 3),)


@pytest.mark.parametrize("path", [3, io.StringIO("{}")])
def test_a_schedule_is_read_from_paths_and_binary_files(path):
    with pytest.raises(TypeError, match="path must be that of a file, or an open binary file, got"):
        read_schedule(path)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([], "a schedule must be a mapping"),
        ({}, "must have steps and nothing else"),
        ({"step": []}, r"got \['step'\]: did you mean 'steps'\?$"),
        ({"steps": [{"noise_multiplier": 1}]}, r"steps\[0\]: type must .*, but is missing$"),
        ({"steps": [], "more": 1}, "must have steps and nothing else"),
        (json.loads(prv.Accountant().to_json()), "Accountant.from_json reads what an accountant"),
        ({"steps": {"type": "Gaussian"}}, "steps must be a list"),
        ({"steps": [STEP, 3]}, r"steps\[1\]: a step must be a mapping"),
        ({"steps": [{**STEP, "type": "Gausian"}]}, r"steps\[0\]: type .*: did you mean 'Gaussian'"),
        ({"steps": [{**STEP, "type": "LaplaceMechanism"}]}, r"type .*: did you mean 'Laplace'\?$"),
        ({"steps": [{**STEP, "type": ["Gaussian"]}]}, r"steps\[0\]: type must be one of"),
        ({"steps": [{**STEP, "count": -1}]}, r"steps\[0\]: count must be in"),
        ({"steps": [{**STEP, "count": 10**30}]}, r"steps\[0\]: count must be in"),
        ({"steps": [{**STEP, "count": 1.5}]}, r"steps\[0\]: count must be an integer"),
        ({"steps": [{**STEP, "count": True}]}, r"steps\[0\]: count must be an integer"),
        ({"steps": [{**STEP, "noise_multiplier": "1"}]}, r"steps\[0\]: noise_multiplier must be"),
        ({"steps": [{**STEP, "noise_multiplier": -1}]}, r"steps\[0\]: noise_multiplier must be"),
        ({"steps": [{**STEP, "sigma": 1}]}, r"steps\[0\]: PoissonSub.*: it has no 'sigma'"),
        (
            {"steps": [{"type": "Gaussian"}]},
            r"steps\[0\]: Gaussian .*'noise_multiplier' is missing",
        ),
        (
            {"steps": [{"type": "Gaussian", "sigma": 1.1}]},
            r"steps\[0\]: Gaussian .* it has no 'sigma': did you mean 'noise_multiplier'\?$",
        ),
    ],
)
def test_errors_say_at_which_step(values, told):
    with pytest.raises((TypeError, ValueError), match=told):
        schedule_from_dict(values)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", "{", "a.json"),
        ("a.json", '{"steps": [{"type": "Gaussian", "noise_multiplier": NaN}]}', "finite"),
        ("a.json", '{"steps": ' + "[" * 100_000, "nested too deeply|a.json"),
        ("a.json", '{"steps": [{"count": 1, "count": 2}]}', "'count' is given twice"),
        ("a.json", '{"steps": [{"count": %s}]}' % ("9" * 4000), "count must be in"),
        ("a.json", '{"steps": [{"count": %s}]}' % ("9" * 5000), "a.json"),
        ("a.toml", "steps = [", "a.toml"),
        ("a.toml", "[[steps]]\ntype = 'Gaussian'\nnoise_multiplier = nan", "noise_multiplier"),
        ("a.yaml", "", "ends in .toml or .json"),
    ],
)
def test_bad_files_are_refused_by_name(tmp_path, name, text, told):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises((TypeError, ValueError), match=told):
        read_schedule(path)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "encoding"),
    [("a.toml", "utf-8-sig"), ("a.TOML", "utf-8"), ("a.json", "utf-8-sig"), ("a.JSON", "utf-16")],
)
def test_files_as_other_systems_write_them(tmp_path, name, encoding, newline):
    lines = ["steps = [", "{type = 'Gaussian', noise_multiplier = 2, count = 3}", "]"]
    if name.lower() == "a.json":
        lines = json.dumps(
            {"steps": [{"type": "Gaussian", "noise_multiplier": 2, "count": 3}]}
        ).split()
    path = tmp_path / name
    path.write_bytes(newline.join(lines).encode(encoding))
    assert read_schedule(path) == ((prv.Gaussian(2), 3),)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"a\.json"):
        read_schedule(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device without an end")
def test_files_without_an_end(tmp_path):
    path = tmp_path / "a.json"
    path.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="at most 16777216 bytes"):
        read_schedule(path)


def test_the_schema_that_is_shipped_is_that_of_the_mechanisms():
    shipped = json.loads((Path(prv.__file__).parent / "files" / "schedule.schema.json").read_text())
    assert shipped == schedule_schema()


@pytest.mark.slow
def test_the_schema_judges_as_the_reader_does():
    validator = jsonschema.Draft202012Validator(schedule_schema())
    validator.check_schema(schedule_schema())
    good = {"steps": [{**STEP, "count": 3}, {"type": "Laplace", "scale": 20}]}
    assert validator.is_valid(good)
    gaussian = {"type": "Gaussian", "noise_multiplier": 1.0}
    count = {"type": "NoisyCount", "deviation": 0.8, "centred": True}
    one, other = prv.Gaussian(1.0), prv.NoisyCount(0.8, centred=True)
    for inner, of in (
        (gaussian, one),
        ([gaussian, count], [one, other]),
        ([[gaussian, 3], count], [(one, 3), other]),
    ):
        nested = {"type": "PoissonSubsampled", "mechanism": inner, "sampling_probability": 0.01}
        assert validator.is_valid({"steps": [nested]})
        assert schedule_from_dict({"steps": [nested]}) == ((prv.PoissonSubsampled(of, 0.01), 1),)
    for bad in ({}, {"steps": [{"type": "Gaussian"}]}, {"steps": [{**STEP, "sigma": 1}]}):
        assert not validator.is_valid(bad)


SCHEDULES = Path(ROOT, "src_c", "tests", "schedules.inc").read_text("utf-8").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in SCHEDULES if line.startswith('"')])
def test_steps_as_the_core_writes_them_are_read_and_written_alike(line):
    # A string of C is one of JSON, too, if only quotes are escaped.
    text = json.loads(line.removesuffix(","))
    values = json.loads(text)
    ((mechanism, count),) = schedule_from_dict({"steps": [values]})
    assert count == values["count"]
    written = mechanism_to_dict(mechanism)
    del values["count"]
    left_out = {"selected": 1, "neighbors": "add-or-remove", "attained": True}
    told = {name: left_out[name] for name in written.keys() - values.keys()}
    assert {**values, **told} == written
    jsonschema.validate({"steps": [{**values, "count": count}]}, schedule_schema())


@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "[[steps]]\n{} = 1"])
@pytest.mark.parametrize("part", ["a", "1", '"="', "a "])
def test_long_dotted_keys_are_refused_in_linear_time(tmp_path, form, part):
    path = tmp_path / "long.toml"
    path.write_text(form.format(".".join([part] * 100_000)))
    with pytest.raises(ValueError, match=r"^long\.toml: more than 200 dots"):
        prv.read_schedule(path)


def test_long_lines_of_numbers_are_read(tmp_path):
    path = tmp_path / "table.toml"
    losses = ", ".join(f"{i}.5" for i in range(1000))
    masses = ", ".join(["0.001"] * 1000)
    path.write_text(f'steps = [{{type="FromTable", losses=[{losses}], probabilities=[{masses}]}}]')
    assert len(prv.read_schedule(path)[0][0].losses) == 1000
