/** What is asked of every question. */
export interface Options {
    /** Which data sets are neighbours; by default a record added or removed, whichever is worse. */
    neighbors?: "add-or-remove" | "add" | "remove" | "replace-one";
    /** Greatest width of the bounds in epsilon (nats); by default 0.1 % of epsilon, or 1e-6. */
    epsError?: number;
    /** In [0, 1), by default 1e-3: bounds of delta that are this part of the upper one apart are close enough, too. */
    deltaRelativeError?: number;
    /** Bytes that the largest buffers of a question may take together; by default 2^30. */
    memoryLimit?: number;
}

/** A mechanism as in a schedule file of prvcore, `type` and the fields of the Python class of this name. */
export interface Mechanism {
    type: string;
    [field: string]: unknown;
}

/** A mechanism that runs `count` times (by default once), or a mechanism with its count beside its fields. */
export type Step = {mechanism: Mechanism; count?: number} | (Mechanism & {count?: number});

/** The exact value lies in [lower, upper]. */
export interface Bounds {
    lower: number;
    estimate: number;
    upper: number;
}

export interface Answer extends Bounds {
    /** Whether bounds are as close as asked; if not, `limit` says what kept them apart. */
    accurate: boolean;
    /** Whether two data sets are known to reach the upper bound as closely as is asked. */
    attained: boolean;
    limit: "none" | "rounding" | "memory" | "engine" | "mesh-size" | "passes";
}

export interface Target {
    /** nats */
    epsilon: number;
    delta: number;
    /** Relative, of the value that is found; by default 1e-4. */
    tolerance?: number;
}

/** The factor of a parameter of all steps that was found, and the next cheaper one, which misses the target. */
export interface Calibration {
    factor: number;
    /** Whether every greater factor of noise meets the target, too: with discrete noise that is not known. */
    monotone: boolean;
    epsilon: Bounds;
    nextFactor: number;
    nextEpsilon: Bounds;
}

/** A rule of prvcore.h that was broken; `status` is its number. */
export class PrvError extends Error {
    readonly status: number;
}

export interface Core {
    readonly version: string;
    epsilon(steps: Step[], delta: number, options?: Options): Answer;
    epsilon(steps: Step[], deltas: ArrayLike<number>, options?: Options): Answer[];
    delta(steps: Step[], epsilon: number, options?: Options): Answer;
    delta(steps: Step[], epsilons: ArrayLike<number>, options?: Options): Answer[];
    power(steps: Step[], rate: number, options?: Options): Answer;
    power(steps: Step[], rates: ArrayLike<number>, options?: Options): Answer[];
    calibrate(
        steps: Step[],
        parameter: "noise" | "sampling-probability" | "steps",
        target: Target & Options,
    ): Calibration;
}

/** Loads the core from the bytes of core.wasm, or from what fetch gives. */
export function load(source: BufferSource | Response | Promise<BufferSource | Response>): Promise<Core>;
