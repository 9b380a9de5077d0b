// prvcore for web pages: questions go to a worker, so that a page never blocks, and answers are promises.
import {PrvError} from "./core.js";

export {PrvError};

/**
 * One worker with its core. Questions are answered in their order. `signal` (an AbortSignal) takes a question back: if it
 * is under way, the worker ends, and a new one asks the questions that wait.
 */
export class Prvcore {
    #worker = null;
    #waiting = new Map(); // by number: {message, resolve, reject}, in the order of the questions
    #last = 0;

    /** Bounds of epsilon at a delta, or at each of several. */
    epsilon(steps, delta, options = {}) {
        return this.#ask("epsilon", [steps, delta], options);
    }

    /** Bounds of delta at an epsilon, or at each of several. */
    delta(steps, epsilon, options = {}) {
        return this.#ask("delta", [steps, epsilon], options);
    }

    /** Bounds of the greatest true positive rate at a false positive rate, or at each of several. */
    power(steps, rate, options = {}) {
        return this.#ask("power", [steps, rate], options);
    }

    /** The least factor of all noise with which the steps meet `epsilon` at `delta`. */
    noise(steps, {epsilon, delta, tolerance}, options = {}) {
        return this.#ask("calibrate", [steps, "noise"], options, {epsilon, delta, tolerance});
    }

    /** Points of the privacy curve: {epsilons, bounds}, deltas at `count` epsilons from 0 to that of a delta of `least`. */
    async curve(steps, {least = 1e-10, count = 65} = {}, options = {}) {
        const {upper} = await this.epsilon(steps, least, options);
        const greatest = Number.isFinite(upper) ? upper : 0;
        const epsilons = Array.from({length: count}, (_, i) => greatest * i / (count - 1));
        return {epsilons, bounds: await this.delta(steps, epsilons, options)};
    }

    /** The version of prvcore. */
    version(options = {}) {
        return this.#ask("version", [], options);
    }

    /** Ends the worker. Questions that wait are rejected. */
    close() {
        this.#end();
        for (const {reject} of this.#waiting.values()) reject(new DOMException("closed", "AbortError"));
        this.#waiting.clear();
    }

    #ask(method, values, {signal, ...options}, target = {}) {
        signal?.throwIfAborted();
        const id = ++this.#last, given = Object.entries(target).filter(([, value]) => value !== undefined);
        const message = {id, method, values: [...values, {...options, ...Object.fromEntries(given)}]};
        return new Promise((resolve, reject) => {
            const abort = () => {
                const isUnderWay = this.#waiting.keys().next().value === id;
                this.#waiting.delete(id);
                if (isUnderWay) this.#restart();
                reject(signal.reason);
            };
            const settle = (how) => (value) => {
                signal?.removeEventListener("abort", abort);
                how(value);
            };
            const worker = this.#start();
            worker.postMessage(message); // throws what cannot be sent, before anything waits for its answer
            signal?.addEventListener("abort", abort, {once: true});
            this.#waiting.set(id, {message, resolve: settle(resolve), reject: settle(reject)});
        });
    }

    #start() {
        if (this.#worker !== null) return this.#worker;
        this.#worker = new Worker(new URL("worker.js", import.meta.url), {type: "module"});
        // An answer without a number is that of a question that could not be read: the one that has waited longest.
        this.#worker.onmessage = ({data: {id = this.#waiting.keys().next().value, result, error}}) => {
            const question = this.#waiting.get(id);
            this.#waiting.delete(id); // not there if it was taken back
            if (error === undefined) question?.resolve(result);
            else question?.reject(errorOf(error));
        };
        this.#worker.onerror = ({message}) => {
            const waiting = [...this.#waiting.values()];
            this.#waiting.clear();
            this.#end();
            for (const {reject} of waiting) reject(new Error(`the worker failed: ${message}`));
        };
        return this.#worker;
    }

    #end() {
        this.#worker?.terminate();
        this.#worker = null;
    }

    #restart() {
        this.#end();
        for (const {message} of this.#waiting.values()) this.#start().postMessage(message);
    }
}

function errorOf({name, message, status}) {
    if (name === "PrvError") return new PrvError(message, status);
    if (name === "TypeError") return new TypeError(message);
    return name === "RangeError" ? new RangeError(message) : new Error(message);
}
