// The rows of tests/data/truth.json, answered by the module: node --test js/test/
import assert from "node:assert/strict";
import {readFile} from "node:fs/promises";
import {test} from "node:test";

import {load, PrvError} from "../core.js";

const at = (path) => new URL(path, import.meta.url);
const core = await load(await readFile(at("../core.wasm")));
const {rows} = JSON.parse(await readFile(at("../../tests/data/truth.json"), "utf8"));

const digits = 1e-12; // what truth.json may have been rounded by, relatively

// The mechanisms of truth.json under the names of schedule files.
function mechanismOf({type, ...fields}) {
    const value = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, Number(text)]));
    const sampled = type.startsWith("subsampled_");
    const plain = {
        gaussian: () => ({type: "Gaussian", noise_multiplier: value.noise_multiplier}),
        laplace: () => ({type: "Laplace", scale: value.scale}),
        epsilon_delta: () => ({type: "ApproximateDP", epsilon: value.epsilon, delta: value.delta}),
        discrete_gaussian: () => ({type: "DiscreteGaussian", scale: value.sigma, sensitivity: value.sensitivity}),
        discrete_laplace: () => ({type: "DiscreteLaplace", scale: value.scale, sensitivity: value.sensitivity}),
    }[type.replace("subsampled_", "")]();
    return sampled ? {type: "PoissonSubsampled", mechanism: plain, sampling_probability: value.sampling_probability} : plain;
}

for (const row of rows) {
    test(row.id, () => {
        const steps = row.steps.map(({mechanism, count}) => ({mechanism: mechanismOf(mechanism), count}));
        const neighbors = row.direction === "both" ? "add-or-remove" : row.direction;
        const delta = Number(row.delta), found = core.delta(steps, Number(row.eps), {neighbors});
        assert.ok(found.lower <= delta * (1 + digits) && delta * (1 - digits) <= found.upper,
            `delta ${delta} outside [${found.lower}, ${found.upper}]`);
        if (row.target_delta === undefined) return;
        const epsilon = Number(row.eps_at_delta), bounds = core.epsilon(steps, Number(row.target_delta), {neighbors});
        assert.ok(bounds.lower <= epsilon * (1 + digits) && epsilon * (1 - digits) <= bounds.upper,
            `epsilon ${epsilon} outside [${bounds.lower}, ${bounds.upper}]`);
        assert.ok(bounds.upper - bounds.lower <= 1.001e-3 * Math.max(epsilon, 1e-3) || !bounds.accurate);
    });
}

const step = {type: "PoissonSubsampledGaussian", noise_multiplier: 0.8, sampling_probability: 1e-3};

test("arrays in, arrays out, and the same values as one by one", () => {
    const steps = [{mechanism: step, count: 1000}], deltas = [1e-5, 1e-7];
    assert.deepEqual(core.epsilon(steps, deltas), deltas.map((delta) => core.epsilon(steps, delta)));
    assert.deepEqual(core.epsilon(steps, []), []);
});

test("the step of a schedule file", () => {
    const one = core.epsilon([{...step, count: 1000}], 1e-7);
    assert.deepEqual(one, core.epsilon([{mechanism: step, count: 1000}], 1e-7));
    assert.ok(one.lower <= 0.703708838718 && 0.703708838718 <= one.upper);
});

test("the step of a schedule file with a mechanism in its mechanism", () => {
    const sampled = {type: "PoissonSubsampled", mechanism: {type: "Gaussian", noise_multiplier: 0.8}, sampling_probability: 1e-3};
    const found = core.epsilon([{...sampled, count: 1000}], 1e-7);
    assert.deepEqual(found, core.epsilon([{mechanism: sampled, count: 1000}], 1e-7));
    assert.ok(found.lower <= 0.703708838718 && 0.703708838718 <= found.upper);
});

test("a calibration proves its value", () => {
    const found = core.calibrate([{mechanism: {...step, noise_multiplier: 1}, count: 1000}], "noise",
        {epsilon: 0.703708838718, delta: 1e-7});
    assert.ok(found.factor >= 0.8 * (1 - 1e-10) && found.factor <= 0.8002, `${found.factor}`);
    assert.ok(found.epsilon.upper <= 0.703708838718 && found.nextEpsilon.upper > 0.703708838718);
});

test("several on one sample, allocations, and power", () => {
    const both = {type: "PoissonSubsampled", sampling_probability: 0.01,
        mechanism: [{type: "Gaussian", noise_multiplier: 1}, [{type: "Laplace", scale: 5}, 2]]};
    assert.ok(core.epsilon([{mechanism: both, count: 10}], 1e-5).upper < 10);
    const epoch = {type: "RandomAllocation", mechanism: {type: "Gaussian", noise_multiplier: 0.5}, batches: 1000};
    const found = core.epsilon([{mechanism: epoch}], 1e-6, {neighbors: "remove"});
    assert.ok(found.lower <= 4.1060159 && 4.1060159 <= found.upper && found.upper - found.lower < 5e-3);
    const power = core.power([{mechanism: step, count: 1000}], 0.01);
    assert.ok(power.lower >= 0.01 && power.upper < 0.02);
});

test("nothing is left behind by a thousand questions", () => {
    for (let i = 0; i < 1000; i++) core.epsilon([{mechanism: step, count: 1000 + i}], 1e-7);
});

const noise = {type: "Gaussian", noise_multiplier: 5};
const OTHERS = {
    PoissonSubsampled: {sampling_probability: 0.1}, SubsampledWithoutReplacement: {sampling_probability: 0.1},
    RandomAllocation: {batches: 10}, BallsInBins: {bins: 10, epochs: 2},
};
const NEIGHBORS = {SubsampledWithoutReplacement: "replace-one"};

test("counts belong to steps, and count there", () => {
    const often = (mechanism) => core.epsilon([{type: "PoissonSubsampled", mechanism, sampling_probability: 0.1}], 1e-5).lower;
    assert.ok(often([{...noise, count: 100}]) > 6); // all on one sample
    assert.equal(often([{...noise, count: 100}]), often([[noise, 100]]));
    assert.ok(core.epsilon([{...noise, count: 100}], 1e-5).lower > 9);
});

test("a factor of discrete noise may be met by greater ones in vain", () => {
    const target = {epsilon: 3, delta: 1e-5}, found = (type) => core.calibrate([{type, scale: 2, count: 1}], "noise", target);
    assert.equal(found("DiscreteGaussian").monotone, false);
    assert.equal(found("Laplace").monotone, true);
});

for (const [name, ask, error] of [
    ["a type that is none", () => core.epsilon([{mechanism: {type: "toString"}}], 1e-5), TypeError],
    ["a missing field", () => core.epsilon([{mechanism: {type: "Gaussian"}}], 1e-5), TypeError],
    ["a field that is none", () => core.epsilon([{mechanism: {...step, noise: 2}}], 1e-5), TypeError],
    ["text for a number", () => core.epsilon([{mechanism: {type: "Gaussian", noise_multiplier: "1"}}], 1e-5), TypeError],
    ["a noise below 0", () => core.epsilon([{mechanism: {type: "Gaussian", noise_multiplier: -1}}], 1e-5), PrvError],
    ["a delta above 1", () => core.epsilon([{mechanism: step}], 2), PrvError],
    ["half a step", () => core.epsilon([{mechanism: step, count: 0.5}], 1e-5), RangeError],
    ["no count", () => core.epsilon([{mechanism: step, count: null}], 1e-5), RangeError],
    ["a field beside a mechanism and its count", () => core.epsilon([{mechanism: step, count: 2, times: 3}], 1e-5), TypeError],
    ["a count of the mechanism of a step", () => core.epsilon([{mechanism: {...step, count: 50}}], 1e-5), TypeError],
    ...["PoissonSubsampled", "SubsampledWithoutReplacement", "RandomAllocation", "BallsInBins"].map((type) => [
        `a count of the mechanism of ${type}`,
        () => core.epsilon([{type, mechanism: {...noise, count: 50}, ...OTHERS[type]}], 1e-5, {neighbors: NEIGHBORS[type]}),
        TypeError]),
    ["a count of a mechanism of a pair", () => core.epsilon(
        [{type: "PoissonSubsampled", mechanism: [[{...noise, count: 50}, 1]], sampling_probability: 0.1}], 1e-5), TypeError],
    ["text for an epsilon", () => core.delta([{mechanism: step}], "10"), TypeError],
    ["no delta", () => core.epsilon([{mechanism: step}], [null]), TypeError],
    ["a memory limit that is none", () => core.epsilon([{mechanism: step}], 1e-5, {memoryLimit: NaN}), RangeError],
    ["neighbours that are none", () => core.epsilon([{mechanism: step}], 1e-5, {neighbors: "both"}), RangeError],
]) {
    test(`refused: ${name}`, () => assert.throws(ask, error));
}

test("a refusal leaves the core as it was", () => {
    assert.throws(() => core.epsilon([{mechanism: step}, {mechanism: {type: "Gaussian", noise_multiplier: -1}}], 1e-5));
    assert.ok(core.epsilon([{mechanism: step, count: 1000}], 1e-7).upper > 0.7);
});
