// The worker of index.js: loads the core once, and answers one question after another.
import {load} from "./core.js";

const core = load(fetch(new URL("core.wasm", import.meta.url)));

self.onmessage = async ({data: {id, method, values}}) => {
    try {
        const loaded = await core;
        self.postMessage({id, result: method === "version" ? loaded.version : loaded[method](...values)});
    } catch (error) {
        self.postMessage({id, error: {name: error.name, message: error.message, status: error.status}});
    }
};
