// The answer in words: the sentence for a paper, and the calls of Python and of the command line that give the same numbers.
import {outward, pythonFloat} from "./numbers.js";

const RELATIONS = {
    "add-or-remove": "one record added or removed",
    add: "one record added",
    remove: "one record removed",
    "replace-one": "one record replaced by another",
};

// Fields that are whole numbers; the sensitivity of discrete noise is one, too.
const WHOLE = ["categories", "group_size", "dataset_size", "maximum_batch_size", "batches", "selected", "bins", "epochs", "count"];
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

// What Python sorts by: the mechanism that a short name stands for.
function placeOf({type, count: _, noise_multiplier, sampling_probability, ...fields}) {
    if (type === "PoissonSubsampledGaussian") {
        return mechanismText({type: "PoissonSubsampled", mechanism: {type: "Gaussian", noise_multiplier}, sampling_probability});
    }
    if (type === "PureDP") return mechanismText({type: "ApproximateDP", ...fields, delta: 0});
    const given = {type, noise_multiplier, ...fields, sampling_probability};
    return mechanismText(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
}

/** The sentence that PrivacyCurve.report of the Python package gives. */
export function sentence({values, steps, neighbors, epsilon, version}) {
    const counts = new Map(), places = new Map();
    for (const step of steps.map((each) => each.mechanism && !each.type ? {...each.mechanism, count: each.count} : each)) {
        const text = mechanismText(step);
        counts.set(text, (counts.get(text) ?? 0) + (step.count ?? 1));
        places.set(text, placeOf(step));
    }
    const told = [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => places.get(a) < places.get(b) ? -1 : 1);
    const times = (count) => count === 1 ? "once" : `${count.toLocaleString("en-US")} times`;
    const reached = epsilon.attained ? "exact value" : "value for the worst data sets";
    return `At delta = ${pythonFloat(values.delta)}, epsilon is at most ${outward(epsilon.upper, 4, "up")} (${reached} in `
        + `[${outward(epsilon.lower, 4, "down")}, ${outward(epsilon.upper, 4, "up")}], certified) for neighbouring data sets `
        + `with ${RELATIONS[neighbors]}. Accounted for: ${told.map(([text, count]) => `${text}, ${times(count)}`).join("; ")}. `
        + `Computed with prvcore ${version}.`;
}

/** Python that prints the same bounds. */
export function pythonCall(setting) {
    const of = (name) => text(setting[name]);
    const neighbors = setting.neighbors === "add-or-remove" ? "" : `, neighbors="${setting.neighbors}"`;
    if (setting.terms === "training") {
        return "import prvcore as prv\n\n"
            + `training = prv.dpsgd_schedule(dataset_size=${of("dataset_size")}, batch_size=${of("batch_size")}, `
            + `epochs=${of("epochs")})\n`
            + `print(training.epsilon(noise_multiplier=${of("noise_multiplier")}, delta=${of("delta")}${neighbors}))\n`
            + `print(training.noise_multiplier(epsilon=${of("target")}, delta=${of("delta")}${neighbors}))`;
    }
    if (setting.terms === "accounting") {
        const run = `sampling_probability=${of("sampling_probability")}, steps=${of("steps")}, delta=${of("delta")}${neighbors}`;
        return `import prvcore as prv\n\nrun = dict(${run})\n`
            + `print(prv.dpsgd_epsilon(noise_multiplier=${of("noise_multiplier")}, **run))\n`
            + `print(prv.dpsgd_noise_multiplier(epsilon=${of("target")}, **run))`;
    }
    return `import io\n\nimport prvcore as prv\n\nschedule = rb"""${setting.list}"""\n`
        + `steps = prv.read_schedule(io.BytesIO(schedule))\n`
        + `print(prv.compose(steps${neighbors}).epsilon(${of("delta")}))`;
}

/** The command that prints the same bounds. */
export function commandLine(setting) {
    const option = (name) => `--${name.replaceAll("_", "-")} ${text(setting[name])}`;
    const neighbors = setting.neighbors === "add-or-remove" ? "" : ` --neighbors ${setting.neighbors}`;
    if (setting.terms === "list") {
        return `prvcore epsilon --schedule - ${option("delta")}${neighbors} <<'JSON'\n${setting.list}\nJSON`;
    }
    const names = setting.terms === "training"
        ? ["dataset_size", "batch_size", "epochs"] : ["sampling_probability", "steps"];
    return `prvcore epsilon ${["noise_multiplier", ...names, "delta"].map(option).join(" ")}${neighbors}`;
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
