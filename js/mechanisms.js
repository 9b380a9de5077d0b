// Mechanisms as plain objects, those of prvcore's schedule files, and what the core makes of them.
//
//     {type: "PoissonSubsampledGaussian", noise_multiplier: 1.1, sampling_probability: 0.004}
//
// Types, names and ranges are those of the classes of the Python package. docs/command_line.rst shows the files.

// The fields of each type and the constructor of the core that takes them, in its order.
const TYPES = {
    Gaussian: (core, m) => core.make("prv_mechanism_gaussian", number(m, "noise_multiplier")),
    Laplace: (core, m) => core.make("prv_mechanism_laplace", number(m, "scale"), number(m, "sensitivity", 1)),
    DiscreteGaussian: (core, m) =>
        core.make("prv_mechanism_discrete_gaussian", number(m, "scale"), whole(m, "sensitivity", 1)),
    DiscreteLaplace: (core, m) =>
        core.make("prv_mechanism_discrete_laplace", number(m, "scale"), whole(m, "sensitivity", 1)),
    PureDP: (core, m) => core.make("prv_mechanism_approximate_dp", number(m, "epsilon"), 0),
    ApproximateDP: (core, m) =>
        core.make("prv_mechanism_approximate_dp", number(m, "epsilon"), number(m, "delta")),
    BoundedRange: (core, m) => core.make("prv_mechanism_bounded_range", number(m, "epsilon")),
    RandomizedResponse: (core, m) =>
        core.make("prv_mechanism_randomized_response", number(m, "epsilon"), whole(m, "categories", 2)),
    PoissonSubsampled: (core, m) =>
        core.make("prv_mechanism_poisson_subsampled", base(core, m), number(m, "sampling_probability")),
    PoissonSubsampledGaussian: (core, m) =>
        core.make("prv_mechanism_poisson_subsampled",
            core.make("prv_mechanism_gaussian", number(m, "noise_multiplier")), number(m, "sampling_probability")),
    SubsampledWithoutReplacement: (core, m) =>
        core.make("prv_mechanism_subsampled_without_replacement", base(core, m), number(m, "sampling_probability")),
    GroupPoissonSubsampledGaussian: (core, m) =>
        core.make("prv_mechanism_group_gaussian", number(m, "noise_multiplier"),
            number(m, "sampling_probability"), whole(m, "group_size")),
    GroupSubsampledWithoutReplacementGaussian: (core, m) =>
        core.make("prv_mechanism_fixed_size_group_gaussian", number(m, "noise_multiplier"),
            whole(m, "dataset_size"), whole(m, "batch_size"), whole(m, "group_size", 2)),
    TruncatedPoissonSubsampledGaussian: (core, m) =>
        core.make("prv_mechanism_truncated_poisson_gaussian", number(m, "noise_multiplier"),
            number(m, "sampling_probability"), whole(m, "dataset_size"), whole(m, "maximum_batch_size")),
    RandomAllocation: (core, m) =>
        core.make("prv_mechanism_random_selection", base(core, m), whole(m, "batches"), whole(m, "selected", 1)),
    BallsInBins: (core, m) => { // a record keeps its bin: all epochs together are what is allocated
        const epochs = Number(whole(m, "epochs")), inner = field(m, "mechanism");
        const all = Array.isArray(inner) ? core.composed([{mechanism: base(core, m), count: countOf(epochs)}])
            : composed(core, [[inner, epochs]]);
        return core.make("prv_mechanism_random_allocation", all, whole(m, "bins"));
    },
    Composed: (core, m) => several(core, m, "mechanisms"),
};

function field(m, name, otherwise) {
    const value = m[name] === undefined ? otherwise : m[name];
    if (value === undefined) throw new TypeError(`${m.type} needs ${name}`);
    return value;
}

function number(m, name, otherwise) {
    const value = field(m, name, otherwise);
    if (typeof value !== "number") throw new TypeError(`${name} of ${m.type} must be a number, got ${value}`);
    return value;
}

function whole(m, name, otherwise) {
    const value = number(m, name, otherwise);
    if (!Number.isSafeInteger(value) || value < 0) {
        throw new RangeError(`${name} of ${m.type} must be a whole number in [0, 2^53), got ${value}`);
    }
    return BigInt(value);
}

// What is sampled or allocated: one mechanism, or several on the same records.
function base(core, m) {
    const value = field(m, "mechanism");
    return Array.isArray(value) ? several(core, m, "mechanism") : handleOf(core, value);
}

function several(core, m, name) {
    const list = field(m, name);
    if (!Array.isArray(list)) throw new TypeError(`${name} of ${m.type} must be a list`);
    return composed(core, list.map(stepOf));
}

/** A mechanism and its count, of a pair of both or of a mechanism that has the count among its fields. */
export function stepOf(step) {
    if (Array.isArray(step)) {
        if (step.length !== 2) throw new TypeError(`a pair of a mechanism and its count has two parts, got ${step.length}`);
        return step;
    }
    const {count = 1, ...mechanism} = step ?? {};
    return [mechanism, count];
}

// Gaussian noise on the same records is joined, as the Python package does: bounds of one mechanism are closer.
function composed(core, steps) {
    const isNoise = ([mechanism]) => mechanism?.type === "Gaussian", noise = steps.filter(isNoise);
    for (const [mechanism] of noise) handleOf(core, mechanism); // refuses what it has too much
    const others = steps.filter((step) => !isNoise(step)).map(([mechanism, count]) => (
        {mechanism: handleOf(core, mechanism), count: countOf(count)}));
    if (noise.length === 0) return core.composed(others);
    const joined = core.gaussians(noise.map(([mechanism]) => number(mechanism, "noise_multiplier")),
        noise.map(([, count]) => countOf(count)));
    return core.composed([...others, {mechanism: joined, count: 1n}]);
}

// The number of times that a step runs, for the core.
export function countOf(count) {
    if (typeof count !== "number" || !(count >= 0 && count <= 2 ** 53 && Number.isInteger(count))) {
        throw new RangeError(`count must be a whole number in [0, 2^53], got ${count}`);
    }
    return BigInt(count);
}

// The handle of a mechanism, which belongs to the call of the core that makes it.
export function handleOf(core, mechanism) {
    const make = Object.hasOwn(TYPES, mechanism?.type) ? TYPES[mechanism.type] : undefined;
    if (make === undefined) {
        throw new TypeError(`type must be one of ${Object.keys(TYPES).join(", ")}; got ${mechanism?.type}`);
    }
    const read = new Set(["type"]); // a count belongs to a step: a mechanism that has one is refused
    const handle = make(core, new Proxy(mechanism, {get: (target, name) => {
        read.add(name);
        return target[name];
    }}));
    const unknown = Object.keys(mechanism).filter((name) => !read.has(name));
    if (unknown.length > 0) throw new TypeError(`${mechanism.type} has no ${unknown.join(", ")}`);
    return handle;
}
