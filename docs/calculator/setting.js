// What the form says: its fields, their ranges, the link that holds them all, and the steps that the core is asked about.
import {atLeast, numberOf, timesDecimal} from "./numbers.js";

const MOST = 2 ** 53, MOST_BATCHES = 2 ** 32;
const ROUNDING = 2 ** -50; // 1 / batches, however it was computed, is so close to the float next to it

// Ranges of sliders are narrower than what may be typed.
export const FIELDS = {
    dataset_size: {label: "Data set size", unit: "records", whole: true, least: 1, slider: [1e3, 1e8], first: "60000"},
    batch_size: {label: "Batch size", unit: "records, expected", whole: true, least: 1, slider: [1, 65536], first: "256"},
    epochs: {label: "Epochs", unit: "", above: 0, most: 1e9, slider: [1, 1000], first: "15", isDecimal: true},
    sampling_probability: {label: "Sampling probability", unit: "of a record in a batch", above: 0, most: 1,
        slider: [1e-5, 1], first: "256/60000"},
    steps: {label: "Steps", unit: "batches", whole: true, least: 1, slider: [1, 1e6], first: "3525"},
    noise_multiplier: {label: "Noise multiplier", unit: "deviation of the noise / clipping norm", above: 0, most: 1e6,
        slider: [0.3, 20], first: "1.1"},
    delta: {label: "Delta", unit: "", above: 0, below: 1, slider: [1e-12, 1e-2], first: "1e-5"},
    target: {label: "Target epsilon", unit: "nats", above: 0, most: 1e4, slider: [0.05, 50], first: "2"},
};

const TERMS = {
    training: ["dataset_size", "batch_size", "epochs", "noise_multiplier", "delta", "target"],
    accounting: ["sampling_probability", "steps", "noise_multiplier", "delta", "target"],
    list: ["delta", "target"],
};

// How batches are drawn: what a form calls it, the terms that have it, and what is assumed then.
export const SAMPLERS = {
    "poisson": {
        label: "by chance: each record in each batch (Poisson)", terms: ["training", "accounting"],
        assumed: "Each record enters each batch with the sampling probability, independently of all others. Most data loaders "
            + "shuffle instead: their epsilon is another one, and may be larger.",
    },
    "opacus": {
        label: "by Opacus's loader (Poisson)", terms: ["training"],
        assumed: "Each record enters each batch independently of all others, as the loader has it that Opacus makes of a PyTorch "
            + "loader: with 1 / (batches of an epoch) as the probability.",
    },
    "opacus-drop-last": {
        label: "by Opacus's loader (Poisson), of a loader with drop_last=True", terms: ["training"],
        assumed: "Each record enters each batch independently of all others, as the loader has it that Opacus makes of a PyTorch "
            + "loader without the last, smaller batch: with 1 / (batches of an epoch) as the probability.",
    },
    "fixed-size": {
        label: "without replacement: each batch of one size, drawn anew", terms: ["training", "accounting"],
        assumed: "Each batch has the same number of records, drawn without replacement and independently of all other batches. "
            + "Neighbouring data sets can only differ by a replaced record.",
    },
    "random-allocation": {
        label: "random allocation: each record in one batch of an epoch", terms: ["training", "accounting"],
        assumed: "In each epoch, each record enters one of the batches, drawn anew and independently of all other records, so "
            + "that batches differ in size. A shuffle that is cut into batches of one size is another sampler.",
    },
    "balls-in-bins": {
        label: "balls in bins: each record in one batch, the same in all epochs", terms: ["training", "accounting"],
        assumed: "Before the first epoch, each record draws one of the batches, independently of all other records, and is in "
            + "this batch in every epoch.",
    },
    "in-order": {
        label: "in a known order, or shuffled: no gain of sampling", terms: ["training"],
        assumed: "Each record is in one batch of each epoch, and an attacker may know in which: epsilon is that of one noisy "
            + "sum per epoch. It holds for shuffled batches, too, of which no smaller upper bound is proven here. The place of a "
            + "removed record stays empty, so that the other records keep their batches.",
    },
};

const NEIGHBORS = ["add-or-remove", "add", "remove", "replace-one"];

// One step of each mechanism that the list offers.
export const EXAMPLES = [
    {type: "PoissonSubsampledGaussian", noise_multiplier: 1.1, sampling_probability: 0.004, count: 1000},
    {type: "Gaussian", noise_multiplier: 20, count: 10},
    {type: "Laplace", scale: 20, count: 10},
    {type: "DiscreteGaussian", scale: 20, count: 10},
    {type: "DiscreteLaplace", scale: 20, count: 10},
    {type: "PureDP", epsilon: 0.01, count: 10},
    {type: "ApproximateDP", epsilon: 0.01, delta: 1e-9, count: 10},
    {type: "BoundedRange", epsilon: 0.05, count: 1},
    {type: "RandomizedResponse", epsilon: 0.5, categories: 4, count: 1},
    {type: "PoissonSubsampled", mechanism: {type: "Laplace", scale: 2}, sampling_probability: 0.01, count: 100},
    {type: "SubsampledWithoutReplacement", mechanism: {type: "Gaussian", noise_multiplier: 2},
        sampling_probability: 0.01, count: 100},
    {type: "GroupPoissonSubsampledGaussian", noise_multiplier: 2, sampling_probability: 0.001, group_size: 2, count: 100},
    {type: "TruncatedPoissonSubsampledGaussian", noise_multiplier: 2, sampling_probability: 0.01, dataset_size: 10000,
        maximum_batch_size: 200, count: 100},
    {type: "RandomAllocation", mechanism: {type: "Gaussian", noise_multiplier: 2}, batches: 100, count: 1},
    {type: "BallsInBins", mechanism: {type: "Gaussian", noise_multiplier: 2}, bins: 100, epochs: 2, count: 1},
];

/** What a page shows that was opened without a link to a setting: texts, as they are typed. */
export function firstSetting() {
    const fields = Object.fromEntries(Object.entries(FIELDS).map(([name, {first}]) => [name, first]));
    return {terms: "training", neighbors: "add-or-remove", sampler: "poisson", ...fields, list: listText([EXAMPLES[0], EXAMPLES[2]])};
}

/** Steps as a schedule file, one step on each line. */
export function listText(steps) {
    return `{"steps": [\n${steps.map((step) => `  ${JSON.stringify(step)}`).join(",\n")}\n]}`;
}

/** The fragment of a link: the terms, and what they use. */
export function fragmentOf(setting) {
    const names = ["terms", ...TERMS[setting.terms], "neighbors", setting.terms === "list" ? "list" : "sampler"];
    const given = names.map((name) => [name, name === "list" ? compact(setting.list) : setting[name]]);
    return new URLSearchParams(given).toString();
}

/** The setting of a link; what it does not say, or says in words that no form has, is as at first. */
export function settingOf(fragment) {
    const setting = firstSetting(), given = new URLSearchParams(fragment.replace(/^#/, ""));
    for (const name of Object.keys(setting)) {
        if (given.has(name)) setting[name] = given.get(name);
    }
    if (!Object.hasOwn(TERMS, setting.terms)) setting.terms = "training";
    if (!NEIGHBORS.includes(setting.neighbors)) setting.neighbors = "add-or-remove";
    const isSampler = Object.hasOwn(SAMPLERS, setting.sampler) && SAMPLERS[setting.sampler].terms.includes(setting.terms);
    if (!isSampler) setting.sampler = "poisson";
    if (given.has("list")) setting.list = spread(setting.list);
    return setting;
}

function compact(text) {
    try {
        return JSON.stringify(JSON.parse(text));
    } catch {
        return text; // with its fault, which the page shows
    }
}

function spread(text) {
    try {
        return listText(JSON.parse(text).steps);
    } catch {
        return text;
    }
}

/**
 * Numbers, steps and faults of a setting: {values, steps, faults}. A fault is in words, by the name of its
 * field. If there is one, `steps` is not to be used.
 */
export function read(setting) {
    const values = {}, faults = {};
    for (const name of TERMS[setting.terms]) {
        values[name] = numberOf(setting[name]);
        const fault = faultOf(FIELDS[name], values[name], setting[name]);
        if (fault !== null) faults[name] = fault;
    }
    const found = {values, faults, steps: []};
    if (setting.terms === "list") return ofList(setting, found);
    if (Object.keys(faults).length === 0) (setting.terms === "training" ? ofTraining : ofAccounting)(setting, found);
    if (Object.keys(faults).length === 0) found.steps = stepsOf(setting.sampler, values, values.steps);
    return found;
}

function faultOf({label, whole, least, above, below, most = MOST, isDecimal}, value, text) {
    if (text.trim() === "") return `${label} is empty: write a number.`;
    if (Number.isNaN(value) || (isDecimal && text.includes("/"))) {
        return `${label} must be a number, such as ${isDecimal ? "15 or 1.5" : "1000, 1e-5 or 256/60000"}.`;
    }
    if (whole && !Number.isInteger(value)) return `${label} must be a whole number.`;
    if (least !== undefined && value < least) return `${label} must be at least ${least}.`;
    if (above !== undefined && !(value > above)) return `${label} must be above ${above}.`;
    if (below !== undefined && !(value < below)) return `${label} must be below ${below}.`;
    if (value > most) return `${label} must be at most ${most.toLocaleString("en")}.`;
    return null;
}

// As dpsgd_schedule of the Python package: the batches of an epoch are rounded up, and so are those of a part of one.
function ofTraining(setting, {values, faults}) {
    const {sampler} = setting, size = BigInt(values.dataset_size), batch = BigInt(values.batch_size);
    if (batch > size && sampler !== "opacus") { // whose one batch then has all records
        faults.batch_size = "Batch size must be at most the data set size.";
        return;
    }
    const batches = Number(sampler === "opacus-drop-last" ? size / batch : (size + batch - 1n) / batch);
    const isOpacus = sampler.startsWith("opacus");
    const perEpoch = isOpacus ? Math.trunc(1 / (1 / batches)) : batches; // in the arithmetic of its loader
    const steps = timesDecimal(BigInt(sampler === "in-order" ? 1 : perEpoch), setting.epochs);
    if (steps > BigInt(MOST)) faults.epochs = "Epochs are too many: the batches must be at most 2^53.";
    values.steps = Number(steps);
    values.steps_per_epoch = perEpoch;
    values.sampling_probability = isOpacus || isAllocation(sampler) ? 1 / batches : values.batch_size / values.dataset_size;
    refuseOfSampler(setting, values, faults, "epochs");
}

function ofAccounting(setting, {values, faults}) {
    if (isAllocation(setting.sampler)) {
        const batches = Math.round(1 / values.sampling_probability);
        if (!(batches <= MOST_BATCHES && Math.abs(values.sampling_probability * batches - 1) <= ROUNDING)) {
            faults.sampling_probability = "Sampling probability must be 1 / (batches of an epoch), such as 1/235, where each "
                + "record is in one batch of an epoch.";
            return;
        }
        values.steps_per_epoch = batches;
    }
    refuseOfSampler(setting, values, faults, "steps");
}

function isAllocation(sampler) {
    return sampler === "random-allocation" || sampler === "balls-in-bins";
}

function refuseOfSampler({sampler, neighbors}, {steps, steps_per_epoch: perEpoch}, faults, name) {
    if (sampler === "fixed-size" && neighbors !== "replace-one") {
        faults.neighbors = "Batches of one size are known for one record replaced by another: choose this above.";
    }
    if (isAllocation(sampler) && neighbors === "replace-one") {
        faults.neighbors = "Of allocations no bound is known for a replaced record: choose one added or removed above.";
    }
    if (isAllocation(sampler) && perEpoch > MOST_BATCHES) {
        faults[name] = "An epoch must have at most 2^32 batches where each record is in one of them.";
    } else if (sampler === "balls-in-bins" && steps % perEpoch !== 0) {
        faults[name] = `${FIELDS[name].label} must be whole epochs (of ${perEpoch.toLocaleString("en")} batches) where batches `
            + "are drawn once.";
    }
}

// The first `count` steps of a sampler, as steps_of_sampler of the Python package has them.
function stepsOf(sampler, {noise_multiplier, sampling_probability, steps_per_epoch: perEpoch}, count) {
    const noise = {type: "Gaussian", noise_multiplier};
    if (sampler === "in-order") return [{...noise, count}];
    if (sampler === "fixed-size") {
        return [{type: "SubsampledWithoutReplacement", mechanism: noise, sampling_probability, count}];
    }
    if (!isAllocation(sampler)) return [{type: "PoissonSubsampledGaussian", noise_multiplier, sampling_probability, count}];
    const epochs = Math.floor(count / perEpoch), rest = count % perEpoch;
    if (sampler === "balls-in-bins") {
        return epochs > 0 ? [{type: "BallsInBins", mechanism: noise, bins: perEpoch, epochs, count: 1}] : [];
    }
    const whole = {type: "RandomAllocation", mechanism: noise, batches: perEpoch, count: epochs};
    if (rest === 0) return [whole];
    // A record is in one of the first batches of the last epoch, each as likely, or in none of them.
    const last = {type: "PoissonSubsampled", mechanism: {type: "RandomAllocation", mechanism: noise, batches: rest},
        sampling_probability: atLeast(rest, perEpoch), count: 1};
    return epochs > 0 ? [whole, last] : [last];
}

function ofList(setting, found) {
    try {
        const given = JSON.parse(setting.list);
        if (given === null || typeof given !== "object" || Array.isArray(given)) {
            throw new TypeError("they must be an object with \"steps\"");
        }
        const {steps, ...others} = given, unknown = Object.keys(others);
        if (unknown.length > 0) throw new TypeError(`beside "steps" there is ${unknown.join(", ")}`);
        if (!Array.isArray(steps) || steps.length === 0) throw new TypeError("add at least one");
        if (steps.some((step) => step === null || typeof step !== "object" || typeof step.type !== "string")) {
            throw new TypeError("each step must be an object with a type, such as {\"type\": \"Laplace\", \"scale\": 20}");
        }
        return {...found, steps};
    } catch ({name, message}) {
        const told = name === "SyntaxError" ? `this is not JSON: ${message}` : message;
        return {...found, faults: {...found.faults, list: `Mechanisms: ${told}.`}};
    }
}

/** The number of steps in all. */
export function total(steps) {
    return steps.reduce((sum, {count = 1}) => sum + count, 0);
}

/**
 * How the composition grows: at most about `most` moments, each {at, steps} with `at` in the unit `x`. Between two of
 * them no mechanism begins or ends.
 */
export function moments(setting, {values, steps}, most) {
    const {terms, sampler} = setting;
    if (terms === "list") return {x: "steps", moments: momentsOfList(steps, most)};
    const perEpoch = sampler === "in-order" ? 1 : values.steps_per_epoch;
    const unit = isAllocation(sampler) ? perEpoch : 1; // an epoch is what such mechanisms cost as a whole
    const parts = Math.ceil(values.steps / unit), count = Math.min(most, parts);
    const told = Array.from({length: count}, (_, i) => Math.min(unit * Math.round(parts * (i + 1) / count), values.steps));
    return {x: perEpoch ? "epochs" : "steps",
        moments: told.map((each) => ({at: each / (perEpoch ?? 1), steps: stepsOf(sampler, values, each)}))};
}

function momentsOfList(steps, most) {
    const all = total(steps), counts = new Set(Array.from({length: most}, (_, i) => Math.round(all * (i + 1) / most)));
    let sum = 0;
    for (const {count = 1} of steps.slice(0, most)) counts.add(sum += count); // where another mechanism begins
    const told = [...counts].filter((count) => count > 0).sort((a, b) => a - b);
    return told.map((count) => ({at: count, steps: firstSteps(steps, count)}));
}

// The first `count` of the steps, in their order.
function firstSteps(steps, count) {
    const taken = [];
    let left = count;
    for (const step of steps) {
        if (left <= 0) break;
        taken.push({...step, count: Math.min(left, step.count ?? 1)});
        left -= step.count ?? 1;
    }
    return taken;
}
