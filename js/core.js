// The core of prvcore, compiled to WebAssembly, in the thread that loads it. Pages use index.js instead, which keeps it in a
// worker.
import {countOf, handleOf, stepOf} from "./mechanisms.js";

const NEIGHBORS = {"add-or-remove": 0, add: 1, remove: 2, "replace-one": 3}; // prv_neighbors
const PARAMETERS = {noise: 0, "sampling-probability": 1, steps: 2}; // prv_parameter
const LIMITS = ["none", "rounding", "memory", "engine", "mesh-size", "passes"]; // prv_limit
const BOUNDS = 3; // doubles of prv_bounds: lower, estimate, upper

/** A rule of prvcore.h that was broken; `status` is its number. */
export class PrvError extends Error {
    constructor(message, status) {
        super(message);
        this.name = "PrvError";
        this.status = status;
    }
}

/**
 * Load the core.
 * @param {BufferSource | Response | Promise<Response>} source core.wasm: its bytes, or what fetch gives
 */
export async function load(source) {
    const imports = {env: {emscripten_notify_memory_growth() {}}};
    const given = await source;
    if (given.ok === false) throw new Error(`the core cannot be fetched: ${given.status} ${given.url}`);
    const bytes = given instanceof ArrayBuffer || ArrayBuffer.isView(given) ? given : await given.arrayBuffer();
    const {instance} = await WebAssembly.instantiate(bytes, imports);
    instance.exports._initialize();
    return new Core(instance.exports);
}

class Core {
    #wasm;
    #mechanisms = []; // of the call that is under way
    #memory = [];

    constructor(wasm) {
        this.#wasm = wasm;
    }

    /** The version of prvcore. */
    get version() {
        return this.#text(this.#wasm.prv_version());
    }

    /** Bounds of epsilon at each delta. */
    epsilon(steps, deltas, options) {
        return this.#ask("prv_epsilon", steps, deltas, options);
    }

    /** Bounds of delta at each epsilon. */
    delta(steps, epsilons, options) {
        return this.#ask("prv_delta", steps, epsilons, options);
    }

    /** Bounds of the greatest true positive rate at each false positive rate. */
    power(steps, rates, options) {
        return this.#ask("prv_power", steps, rates, options);
    }

    /** The cheapest value of a parameter that meets a target; what it multiplies is that of the steps. */
    calibrate(steps, parameter, {epsilon, delta, tolerance = 1e-4, ...options}) {
        return this.#call(() => {
            const {array, length} = this.#steps(steps);
            const found = this.#allocate(this.#wasm.bridge_size_of_calibration());
            this.#check(this.#wasm.prv_calibrate(array, length, 0, choice(PARAMETERS, parameter, "parameter"),
                checkedNumber(epsilon, "epsilon"), checkedNumber(delta, "delta"), checkedNumber(tolerance, "tolerance"),
                this.#options(options), found));
            const [factor, , lower, estimate, upper, next, , nextLower, nextEstimate, nextUpper] = this.#doubles(found, 10);
            return {factor, monotone: this.#wasm.bridge_monotone(found) === 1, epsilon: {lower, estimate, upper},
                nextFactor: next,
                nextEpsilon: {lower: nextLower, estimate: nextEstimate, upper: nextUpper}};
        });
    }

    // ---- For mechanisms.js -----------------------------------------------------------------

    /** A mechanism by a constructor of prvcore.h, until the end of the call. */
    make(constructor, ...values) {
        const to = this.#allocate(4);
        this.#check(this.#wasm[constructor](...values, to));
        const made = new DataView(this.#wasm.memory.buffer).getUint32(to, true);
        this.#mechanisms.push(made);
        return made;
    }

    /** Gaussian noise of each of these multipliers, so often, on the same records, as one mechanism. */
    gaussians(noises, counts) {
        const values = this.#allocate(8 * noises.length), times = this.#allocate(8 * noises.length);
        new Float64Array(this.#wasm.memory.buffer, values, noises.length).set(noises);
        new BigUint64Array(this.#wasm.memory.buffer, times, noises.length).set(counts);
        return this.make("prv_mechanism_gaussians", values, times, noises.length);
    }

    /** Several mechanisms on the same records, as one. */
    composed(steps) {
        return this.make("prv_mechanism_composed", this.#stepArray(steps), steps.length);
    }

    // ---- Calls ---------------------------------------------------------------------------------

    #ask(question, steps, values, options = {}) {
        if (typeof values === "number") return this.#ask(question, steps, [values], options)[0];
        return this.#call(() => {
            if (!Array.isArray(values) && !ArrayBuffer.isView(values)) {
                throw new TypeError(`values must be a number or a list of numbers, got ${values}`);
            }
            for (const value of values) checkedNumber(value, "each value");
            const {array, length} = this.#steps(steps), count = values.length, wasm = this.#wasm;
            const asked = this.#allocate(8 * count), bounds = this.#allocate(8 * BOUNDS * count);
            const reports = this.#allocate(wasm.bridge_size_of_report() * count);
            new Float64Array(wasm.memory.buffer, asked, count).set(values);
            this.#check(wasm[question](array, length, this.#options(options), asked, count, bounds, reports));
            const found = this.#doubles(bounds, BOUNDS * count);
            return Array.from(values, (_, i) => {
                const [lower, estimate, upper] = found.slice(BOUNDS * i, BOUNDS * (i + 1));
                const report = wasm.bridge_report(reports, i);
                return {lower, estimate, upper, accurate: wasm.bridge_accurate(report) === 1,
                    attained: wasm.bridge_attained(report) === 1, limit: LIMITS[wasm.bridge_limit(report)]};
            });
        });
    }

    // Runs a call, and frees what it made.
    #call(run) {
        try {
            return run();
        } finally {
            for (const mechanism of this.#mechanisms.splice(0)) this.#wasm.prv_mechanism_free(mechanism);
            for (const pointer of this.#memory.splice(0)) this.#wasm.free(pointer);
        }
    }

    #options({neighbors = "add-or-remove", epsError = 0, deltaRelativeError = -1, memoryLimit = 0}) {
        checkedNumber(epsError, "epsError");
        checkedNumber(deltaRelativeError, "deltaRelativeError");
        if (!(checkedNumber(memoryLimit, "memoryLimit") >= 0)) {
            throw new RangeError(`memoryLimit must be at least 0, got ${memoryLimit}`);
        }
        const options = this.#wasm.bridge_options(choice(NEIGHBORS, neighbors, "neighbors"), epsError,
            deltaRelativeError, memoryLimit);
        if (options === 0) throw new RangeError("out of memory");
        return options;
    }

    #steps(steps) {
        const each = steps.map((step, place) => {
            try {
                const [mechanism, count] = partsOf(step);
                return {mechanism: handleOf(this, mechanism), count: countOf(count)};
            } catch (error) {
                error.message = `steps[${place}]: ${error.message}`;
                throw error;
            }
        });
        return {array: this.#stepArray(each), length: each.length};
    }

    #stepArray(steps) {
        const array = this.#allocate(this.#wasm.bridge_size_of_step() * steps.length);
        steps.forEach(({mechanism, count}, i) => this.#wasm.bridge_set_step(array, i, mechanism, count));
        return array;
    }

    #allocate(bytes) { // above 2^32 the number would lose its upper bits on the way
        const pointer = bytes < 2 ** 32 ? this.#wasm.malloc(Math.max(bytes, 1)) : 0;
        if (pointer === 0) throw new RangeError("out of memory");
        this.#memory.push(pointer);
        return pointer;
    }

    #doubles(pointer, length) {
        return Array.from(new Float64Array(this.#wasm.memory.buffer, pointer, length));
    }

    #check(status) {
        if (status !== 0) throw new PrvError(this.#text(this.#wasm.prv_status_message(status)), status);
    }

    #text(pointer) {
        const bytes = new Uint8Array(this.#wasm.memory.buffer);
        return new TextDecoder().decode(bytes.slice(pointer, bytes.indexOf(0, pointer)));
    }
}

// A step with a type is a mechanism itself, even if it has another one in it.
function partsOf(step) {
    if (step?.type !== undefined || step?.mechanism === undefined) return stepOf(step);
    const {mechanism, count = 1, ...others} = step, unknown = Object.keys(others);
    if (unknown.length > 0) throw new TypeError(`a step has mechanism and count, and no ${unknown.join(", ")}`);
    return [mechanism, count];
}

function checkedNumber(value, name) {
    if (typeof value !== "number") throw new TypeError(`${name} must be a number, got ${value}`);
    return value;
}

function choice(choices, value, name) {
    if (!Object.hasOwn(choices, value)) {
        throw new RangeError(`${name} must be one of ${Object.keys(choices).join(", ")}; got ${value}`);
    }
    return choices[value];
}
