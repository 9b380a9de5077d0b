// The worker of index.js: loads the core once, and answers one question after another.
import {load} from "./core.js";

const core = load(fetch(new URL("core.wasm", import.meta.url)));

self.onmessage = async ({data}) => {
    try {
        const loaded = await core;
        if (data === null) throw new RangeError("a question is nested too deeply"); // some browsers make null of it
        const {method, values} = data;
        self.postMessage({id: data.id, result: method === "version" ? loaded.version : loaded[method](...values)});
    } catch (error) {
        self.postMessage({id: data?.id, error: {name: error.name, message: error.message, status: error.status}});
    }
};
self.onmessageerror = async () => {
    await core.catch(() => {}); // after the answers of the questions before
    self.postMessage({error: {name: "RangeError", message: "a question could not be read by the worker"}});
};
