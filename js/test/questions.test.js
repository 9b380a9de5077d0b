// The questions of index.js, with a worker of the test: what cannot be sent or read harms no other question.
import assert from "node:assert/strict";
import {test} from "node:test";

// Answers what it is sent, later, as a worker does; structuredClone refuses what a worker cannot be sent.
class FakeWorker {
    postMessage(message) {
        const {id, values} = structuredClone(message);
        if (values[0] === "never") return;
        setTimeout(() => this.onmessage?.({data: values[0] === "unreadable" ? {error: {name: "RangeError", message: "no"}}
            : {id, result: values[0]}}));
    }

    terminate() {
        this.onmessage = null;
    }
}
globalThis.Worker = FakeWorker;
const {Prvcore} = await import("../index.js");

test("a question that cannot be sent is refused, and others go on", async () => {
    const core = new Prvcore(), stop = new AbortController();
    const first = core.epsilon("never", 1e-5, {signal: stop.signal});
    await assert.rejects(core.epsilon([{mechanism: {type: "Gaussian", noise_multiplier: () => 1}}], 1e-5), {name: "DataCloneError"});
    const third = core.epsilon("third", 1e-5);
    stop.abort();
    await assert.rejects(first, {name: "AbortError"});
    assert.equal(await third, "third");
});

test("an answer without a number is that of the question that has waited longest", async () => {
    const core = new Prvcore(), first = core.epsilon("unreadable", 1e-5), second = core.epsilon("second", 1e-5);
    await assert.rejects(first, RangeError);
    assert.equal(await second, "second");
});
