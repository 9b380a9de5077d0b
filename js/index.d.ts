import type {Answer, Calibration, Options, Step, Target} from "./core.js";

export type {Answer, Bounds, Calibration, Mechanism, Options, Step, Target} from "./core.js";
export {PrvError} from "./core.js";

/** Options of a question to the worker; `signal` takes the question back. */
export interface WorkerOptions extends Options {
    signal?: AbortSignal;
}

/** One worker with its core. Questions are answered in their order. */
export class Prvcore {
    epsilon(steps: Step[], delta: number, options?: WorkerOptions): Promise<Answer>;
    epsilon(steps: Step[], deltas: ArrayLike<number>, options?: WorkerOptions): Promise<Answer[]>;
    delta(steps: Step[], epsilon: number, options?: WorkerOptions): Promise<Answer>;
    delta(steps: Step[], epsilons: ArrayLike<number>, options?: WorkerOptions): Promise<Answer[]>;
    power(steps: Step[], rate: number, options?: WorkerOptions): Promise<Answer>;
    power(steps: Step[], rates: ArrayLike<number>, options?: WorkerOptions): Promise<Answer[]>;
    noise(steps: Step[], target: Target, options?: WorkerOptions): Promise<Calibration>;
    curve(
        steps: Step[],
        extent?: {least?: number; count?: number},
        options?: WorkerOptions,
    ): Promise<{epsilons: number[]; bounds: Answer[]}>;
    version(options?: {signal?: AbortSignal}): Promise<string>;
    close(): void;
}
