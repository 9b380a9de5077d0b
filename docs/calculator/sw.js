// Keeps the page's files, so that it works without a network once it was loaded. What the network has is preferred.
const CACHE = "prvcore-calculator";
const FILES = [
    "./", "index.html", "calculator.css", "main.js", "numbers.js", "setting.js", "words.js", "latest.js", "charts.js", "rows.js",
    "vendor/chart.min.js", "prvcore/index.js", "prvcore/core.js", "prvcore/mechanisms.js", "prvcore/worker.js",
    "prvcore/core.wasm",
];

self.addEventListener("install", (event) => {
    self.skipWaiting();
    event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
    const {request} = event;
    if (request.method === "GET" && new URL(request.url).origin === self.location.origin) event.respondWith(answer(request));
});

async function answer(request) {
    const cache = await caches.open(CACHE);
    try {
        const response = await fetch(request);
        if (response.ok) await cache.put(request, response.clone());
        return response;
    } catch (error) {
        const kept = await cache.match(request, {ignoreSearch: true});
        if (kept === undefined) throw error;
        return kept;
    }
}
