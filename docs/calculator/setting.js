// What the form says: its fields, their ranges, the link that holds them all, and the steps that the core is asked about.
import {numberOf, timesDecimal} from "./numbers.js";

const MOST = 2 ** 53;

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
    return {terms: "training", neighbors: "add-or-remove", ...fields, list: listText([EXAMPLES[0], EXAMPLES[2]])};
}

/** Steps as a schedule file, one step on each line. */
export function listText(steps) {
    return `{"steps": [\n${steps.map((step) => `  ${JSON.stringify(step)}`).join(",\n")}\n]}`;
}

/** The fragment of a link: the terms, and what they use. */
export function fragmentOf(setting) {
    const names = ["terms", ...TERMS[setting.terms], "neighbors", ...(setting.terms === "list" ? ["list"] : [])];
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
    if (Object.keys(faults).length === 0 && setting.terms === "training") ofTraining(setting, found);
    const {noise_multiplier, sampling_probability, steps} = values;
    found.steps = [{type: "PoissonSubsampledGaussian", noise_multiplier, sampling_probability, count: steps}];
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
    const {dataset_size: size, batch_size: batch} = values;
    if (batch > size) {
        faults.batch_size = "Batch size must be at most the data set size.";
        return;
    }
    const perEpoch = (BigInt(size) + BigInt(batch) - 1n) / BigInt(batch), steps = timesDecimal(perEpoch, setting.epochs);
    if (steps > BigInt(MOST)) faults.epochs = "Epochs are too many: the batches must be at most 2^53.";
    values.steps = Number(steps);
    values.sampling_probability = batch / size;
    values.steps_per_epoch = Number(perEpoch);
}

function ofList(setting, found) {
    try {
        const {steps} = JSON.parse(setting.list);
        if (!Array.isArray(steps) || steps.length === 0) throw new TypeError("write {\"steps\": [...]} with at least one step");
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

/** The first `count` of the steps, in their order. */
export function firstSteps(steps, count) {
    const taken = [];
    let left = count;
    for (const step of steps) {
        if (left <= 0) break;
        taken.push({...step, count: Math.min(left, step.count ?? 1)});
        left -= step.count ?? 1;
    }
    return taken;
}
