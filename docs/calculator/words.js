// The answer in words: the sentence for a paper, and the calls of Python and of the command line that give the same numbers.
import {pythonFloat, reported} from "./numbers.js";

const RELATIONS = {
    "add-or-remove": "one record added or removed",
    add: "one record added",
    remove: "one record removed",
    "replace-one": "one record replaced by another",
};

// Fields that are whole numbers; the sensitivity of discrete noise is one, too.
const WHOLE = ["categories", "group_size", "dataset_size", "batch_size", "maximum_batch_size", "batches", "selected", "bins", "epochs", "count"];
const DEFAULTS = {
    Laplace: {sensitivity: 1}, DiscreteGaussian: {sensitivity: 1}, DiscreteLaplace: {sensitivity: 1},
    RandomizedResponse: {categories: 2}, RandomAllocation: {selected: 1},
};

/** A mechanism as Python prints it. */
export function mechanismText({type, count: _, ...given}) {
    const fields = {...given, ...Object.fromEntries(
        Object.entries(DEFAULTS[type] ?? {}).filter(([name]) => !Object.hasOwn(given, name)))};
    const texts = Object.entries(fields).map(([name, value]) => `${name}=${valueText(type, name, value)}`);
    return `${type}(${texts.join(", ")})`;
}

function valueText(type, name, value) {
    if (typeof value === "number") {
        const isWhole = WHOLE.includes(name) || (name === "sensitivity" && type.startsWith("Discrete"));
        return isWhole ? String(value) : pythonFloat(value);
    }
    if (Array.isArray(value)) return composedText(name, value);
    return typeof value === "object" && value !== null ? mechanismText(value) : JSON.stringify(value);
}

function composedText(name, parts) {
    const each = parts.map((part) => Array.isArray(part) ? part : [part, part.count ?? 1]);
    const texts = each.map(([mechanism, count]) => `(${mechanismText(mechanism)}, ${count})`);
    const tuple = `(${texts.join(", ")}${texts.length === 1 ? "," : ""})`;
    return name === "mechanisms" ? tuple : `Composed(mechanisms=${tuple})`;
}

// A mechanism in words, as Python's report has it; one without words of its own as Python prints it.
function words(mechanism) {
    const {type, mechanism: inner, sampling_probability: probability} = mechanism;
    const onEach = (batches) => `${partsInWords(inner)}${Array.isArray(inner) && inner.length > 1 ? ", all" : ""} on ${batches}`;
    const poisson = () => `a Poisson sample (each record with probability ${pythonFloat(probability)}, independently of all others)`;
    const gaussian = () => `Gaussian noise with noise multiplier ${pythonFloat(mechanism.noise_multiplier)}`;
    const noise = (name) => `${name} noise of scale ${pythonFloat(mechanism.scale)} on a query of sensitivity `
        + valueText(type, "sensitivity", mechanism.sensitivity ?? 1);
    const whole = (name) => mechanism[name].toLocaleString("en-US");
    switch (type) {
    case "Gaussian": return gaussian();
    case "Laplace": return noise("Laplace");
    case "DiscreteGaussian": return noise("discrete Gaussian");
    case "DiscreteLaplace": return noise("discrete Laplace");
    case "PureDP": return `any mechanism that is ${pythonFloat(mechanism.epsilon)}-DP`;
    case "ApproximateDP":
        return `any mechanism that is (${pythonFloat(mechanism.epsilon)}, ${pythonFloat(mechanism.delta)})-DP`;
    case "BoundedRange": return `any mechanism whose privacy losses have a range of ${pythonFloat(mechanism.epsilon)}`;
    case "NoisyCount": return `a noisy count with deviation ${pythonFloat(mechanism.deviation)} `
        + `(each record adds ${mechanism.centred ? "1/2 or -1/2" : "1 or 0"})`;
    case "Composed": return partsInWords(mechanism.mechanisms);
    case "PoissonSubsampledGaussian":
    case "GroupPoissonSubsampledGaussian": return `${gaussian()} on ${poisson()}`;
    case "GroupSubsampledWithoutReplacementGaussian": return `${gaussian()} on a sample of fixed size (${whole("batch_size")} of `
        + `${whole("dataset_size")} records, drawn without replacement)`;
    case "PoissonSubsampled": return onEach(poisson());
    case "SubsampledWithoutReplacement":
        return onEach(`a sample of fixed size (${pythonFloat(probability)} of the records, drawn without replacement)`);
    case "RandomAllocation": {
        const drawn = (mechanism.selected ?? 1) === 1 ? "one" : whole("selected");
        return onEach(`each of ${whole("batches")} batches (each record in ${drawn} of them, drawn independently of all others)`);
    }
    case "BallsInBins": return onEach(`each of ${whole("bins")} batches in each of ${whole("epochs")} epochs `
        + "(each record in one of the batches, drawn once for all epochs, independently of all others)");
    default: return mechanismText(mechanism);
    }
}

function partsInWords(parts) {
    const each = (Array.isArray(parts) ? parts : [parts]).map((part) => Array.isArray(part) ? part : [part, part.count ?? 1]);
    return each.map(([part, count]) => count === 1 ? words(part) : `${times(count)} ${words(part)}`).join(" and ");
}

function times(count) {
    return count === 1 ? "once" : `${count.toLocaleString("en-US")} times`;
}

// What Python sorts by: the mechanism that a short name stands for.
function placeOf({type, count: _, noise_multiplier, sampling_probability, ...fields}) {
    if (type === "PoissonSubsampledGaussian") {
        return mechanismText({type: "PoissonSubsampled", mechanism: {type: "Gaussian", noise_multiplier}, sampling_probability});
    }
    if (type === "PureDP") return mechanismText({type: "ApproximateDP", ...fields, delta: 0});
    const given = {type, noise_multiplier, ...fields, sampling_probability};
    return mechanismText(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
}

/** The sentence that `report` of the Python package gives: of a TrainingSchedule in training terms, else of a PrivacyCurve. */
export function sentence({setting, values, steps, epsilon, version}) {
    const size = groupSize(steps);
    const relation = size === 1 ? RELATIONS[setting.neighbors]
        : RELATIONS[setting.neighbors].replace("one record", `a group of ${size.toLocaleString("en-US")} records`);
    const counts = new Map(), places = new Map(), inWords = new Map();
    for (const step of steps.map((each) => each.mechanism && !each.type ? {...each.mechanism, count: each.count} : each)) {
        const text = mechanismText(step);
        counts.set(text, (counts.get(text) ?? 0) + (step.count ?? 1));
        places.set(text, placeOf(step));
        inWords.set(text, words(step));
    }
    const told = [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => places.get(a) < places.get(b) ? -1 : 1);
    const reached = epsilon.attained ? "exact value" : "value for the worst data sets";
    return `At delta = ${pythonFloat(values.delta)}, epsilon is at most ${reported(epsilon.upper, 4, "up")} (${reached} in `
        + `[${reported(epsilon.lower, 4, "down")}, ${reported(epsilon.upper, 4, "up")}], certified) for neighbouring data sets `
        + `with ${relation}. Accounted for: ${told.map(([text, count]) => `${times(count)} ${inWords.get(text)}`).join("; ")}. `
        + `${trainingText(setting, values)}Computed with prvcore ${version}.`;
}

// All steps are for groups of one size.
function groupSize(value) {
    if (value === null || typeof value !== "object") return 1;
    return Math.max(value.group_size ?? 1, ...Object.values(value).map(groupSize));
}

const CLOSE = 1e-9; // sizes of batches so close are the same, but for rounding
const ONE_PLACE = {minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode: "halfEven"};

const MEANINGLESS = "This delta is not below 1 over the number of records, so that publishing a record at random would be "
    + "allowed. ";

// What is known of the training, as TrainingSchedule of the Python package has it.
function trainingText({terms, sampler}, values) {
    const {dataset_size: size, batch_size: batch, epochs, sampling_probability: probability, delta} = values;
    if (terms !== "training" || sampler === "in-order") return "";
    const kept = sampler === "opacus-drop-last" ? " that leaves out the last, smaller batch" : "";
    const drawn = sampler.startsWith("opacus") ? `, drawn by the loader that Opacus makes of a PyTorch loader${kept}` : "";
    const told = Number.isInteger(epochs) ? BigInt(epochs) : pythonFloat(epochs), asked = batch.toLocaleString("en-US");
    const mean = size * probability, isSame = Math.abs(mean - batch) <= CLOSE * Math.max(mean, batch);
    const average = isSame ? `${asked} records on average`
        : `${mean.toLocaleString("en-US", ONE_PLACE)} records on average (batch size ${asked})`;
    return `The training: ${size.toLocaleString("en-US")} records, ${told} epoch${epochs === 1 ? "" : "s"}, batches of `
        + `${sampler === "fixed-size" ? `${asked} records` : average}${drawn}. ${delta * size >= 1 ? MEANINGLESS : ""}`;
}

/** Python that prints the same bounds, and the noise for the target. */
export function pythonCall(setting, values) {
    const of = (name) => text(setting[name]), {sampler} = setting;
    const neighbors = setting.neighbors === "add-or-remove" ? "" : `, neighbors="${setting.neighbors}"`;
    if (setting.terms === "training" && sampler === "in-order") {
        return "import prvcore as prv\n\n"
            + `training = [(prv.Gaussian(${of("noise_multiplier")}), ${values.steps})]\n`
            + `print(prv.compose(training${neighbors}).epsilon(${of("delta")}))\n`
            + `print(prv.calibrate(training, epsilon=${of("target")}, delta=${of("delta")}${neighbors}))  # a factor`;
    }
    if (setting.terms === "training") {
        const drawn = sampler === "poisson" ? "" : sampler === "opacus" ? ', loader="opacus"'
            : sampler === "opacus-drop-last" ? ', loader="opacus", drop_last=True' : `, sampler="${sampler}"`;
        return "import prvcore as prv\n\n"
            + `training = prv.dpsgd_schedule(dataset_size=${of("dataset_size")}, batch_size=${of("batch_size")}, `
            + `epochs=${of("epochs")}${drawn})\n`
            + `print(training.epsilon(noise_multiplier=${of("noise_multiplier")}, delta=${of("delta")}${neighbors}))\n`
            + `print(training.noise_multiplier(epsilon=${of("target")}, delta=${of("delta")}${neighbors}))`;
    }
    if (setting.terms === "accounting") {
        const drawn = sampler === "poisson" ? "" : `, sampler="${sampler}"`;
        const run = `sampling_probability=${of("sampling_probability")}, steps=${of("steps")}, delta=${of("delta")}${drawn}${neighbors}`;
        return `import prvcore as prv\n\nrun = dict(${run})\n`
            + `print(prv.dpsgd_epsilon(noise_multiplier=${of("noise_multiplier")}, **run))\n`
            + `print(prv.dpsgd_noise_multiplier(epsilon=${of("target")}, **run))`;
    }
    return `import io\n\nimport prvcore as prv\n\nschedule = rb"""${setting.list}"""\n`
        + `steps = prv.read_schedule(io.BytesIO(schedule))\n`
        + `print(prv.compose(steps${neighbors}).epsilon(${of("delta")}))\n`
        + `print(prv.calibrate(steps, epsilon=${of("target")}, delta=${of("delta")}${neighbors}))  # a factor of all noise`;
}

/** Commands that print the same bounds, and the noise for the target. */
export function commandLine(setting, values) {
    const {terms, sampler} = setting, option = (name) => `--${name.replaceAll("_", "-")} ${text(setting[name])}`;
    const neighbors = setting.neighbors === "add-or-remove" ? "" : ` --neighbors ${setting.neighbors}`;
    if (terms === "list") return `prvcore epsilon --schedule - ${option("delta")}${neighbors} <<'JSON'\n${setting.list}\nJSON`;
    const drawn = sampler === "poisson" || sampler === "in-order" ? "" : sampler === "opacus" ? " --loader opacus"
        : sampler === "opacus-drop-last" ? " --loader opacus --drop-last" : ` --sampler ${sampler}`;
    const names = terms === "training" ? ["dataset_size", "batch_size", "epochs"] : ["sampling_probability", "steps"];
    const run = sampler === "in-order" ? `--sampling-probability 1 --steps ${values.steps}` : names.map(option).join(" ");
    return `prvcore epsilon ${option("noise_multiplier")} ${run} ${option("delta")}${drawn}${neighbors}\n`
        + `prvcore noise --epsilon ${text(setting.target)} ${run} ${option("delta")}${drawn}${neighbors}`;
}

// A number as it was typed, without blanks; Python and the shell read it alike.
function text(typed) {
    return typed.replaceAll(/\s/g, "").replace(/^\+/, "");
}

/** Tables of the curves as comma-separated values: one line for each point. */
export function csvOf(curves) {
    const lines = curves.flatMap(({name, x, points}) =>
        points.map(({at, lower, upper}) => [name, x, at, lower, upper].join(",")));
    return ["curve,at,value,lower,upper", ...lines, ""].join("\n");
}
