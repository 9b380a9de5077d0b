// The calculator: reads the form, asks the core, and shows what it answers.
import {Prvcore} from "./prvcore/index.js";
import {draw} from "./charts.js";
import {Latest} from "./latest.js";
import {numberOf, outward} from "./numbers.js";
import {Rows, stepsOfText} from "./rows.js";
import {EXAMPLES, FIELDS, fragmentOf, moments, read, SAMPLERS, settingOf, total} from "./setting.js";
import {commandLine, csvOf, pythonCall, sentence} from "./words.js";

const FEWEST_FALSE_POSITIVES = 1e-4;
// Points of the curves of delta and of attacks; how far the bounds of an attack may lie apart, of epsilon, since nobody sees it in
// a picture; and how closely noise is found. Allocations take a hundred times as long as others.
const USUAL = {deltas: 41, powers: 25, error: 0.005, tolerance: 1e-4};
const SLOW = {deltas: 21, powers: 13, error: 0.02, tolerance: 1e-3};
const SLOW_TYPES = /"(RandomAllocation|BallsInBins)"/;
const MOST_MOMENTS = 20; // at which epsilon during training is asked
const SPOKEN_AFTER = 800; // ms without a change, after which a screen reader is told
const CURVES_AFTER = 120; // ms without a change, after which curves are asked
const SLIDER = 1000; // places of a slider

const find = (id) => document.getElementById(id);
const core = new Prvcore(), coreOfCurves = new Prvcore();
const version = core.version();
let setting = settingOf(location.hash);
const rows = new Rows(find("rows"), {
    changed: (text) => {
        find("list").value = text;
        change("list", text);
    },
    tell: (text) => { find("rows-done").textContent = text; },
});
let answers = {}; // what is shown, for export: {setting, steps, epsilon, noise, delta, curves}

// ---- The form -------------------------------------------------------------------------------------

function makeFields() {
    for (const [name, {label, unit, slider}] of Object.entries(FIELDS)) {
        const field = document.createElement("div");
        field.className = "field";
        field.id = `${name}-field`;
        field.innerHTML = `<label for="${name}">${label}</label> <span class="unit" id="${name}-unit">${unit}</span>
            <div class="pair">
              <input id="${name}" type="text" inputmode="${name === "sampling_probability" ? "text" : "decimal"}"
                autocomplete="off" aria-describedby="${name}-unit ${name}-fault">
              <input id="${name}-slider" type="range" min="0" max="${SLIDER}" step="1" aria-label="${label}, slider">
            </div>
            <p id="${name}-fault" class="fault" role="alert"></p>`;
        find("fields").append(field);
        const input = find(name), range = find(`${name}-slider`);
        input.addEventListener("input", () => change(name, input.value));
        range.addEventListener("input", () => {
            input.value = textOfPlace(name, Number(range.value), slider);
            change(name, input.value, {isSlider: true});
        });
    }
    for (const {type} of EXAMPLES) find("kind").append(new Option(type));
    find("add").addEventListener("click", addStep);
    find("list").addEventListener("input", ({target}) => {
        rows.show(target.value);
        change("list", target.value);
    });
    for (const name of ["neighbors", "sampler"]) find(name).addEventListener("change", ({target}) => change(name, target.value));
    for (const radio of document.querySelectorAll("[name=terms]")) {
        radio.addEventListener("change", () => change("terms", radio.value));
    }
    find("form").addEventListener("submit", (event) => event.preventDefault());
}

// Sliders are logarithmic; numbers have three digits, whole ones none behind the point.
function textOfPlace(name, place, [low, high]) {
    const value = low * (high / low) ** (place / SLIDER);
    const rounded = Number(value.toPrecision(name === "delta" ? 1 : 3));
    return String(FIELDS[name].whole || name === "epochs" ? Math.round(rounded) : rounded);
}

function placeOf(name) {
    const [low, high] = FIELDS[name].slider, value = numberOf(setting[name]);
    if (!(value > 0)) return 0;
    return Math.round(SLIDER * Math.min(Math.max(Math.log(value / low) / Math.log(high / low), 0), 1));
}

function addStep() {
    if (stepsOfText(setting.list) !== null) {
        rows.add(find("kind").value);
        return;
    }
    find("list-text").open = true; // the list has a fault, which is told: what was typed stays
    find("list").focus();
}

function change(name, value, {isSlider = false} = {}) {
    setting = {...setting, [name]: value};
    if (name === "terms") {
        if (!isSamplerOf(setting)) setting = {...setting, sampler: "poisson"};
        showFields();
    }
    if (name === "sampler") showAssumed();
    if (!isSlider && Object.hasOwn(FIELDS, name)) showPlace(name);
    if (isSlider) find(`${name}-slider`).setAttribute("aria-valuetext", value);
    history.replaceState(null, "", `#${fragmentOf(setting)}`);
    answer();
}

function showPlace(name) {
    find(`${name}-slider`).value = placeOf(name);
    find(`${name}-slider`).setAttribute("aria-valuetext", setting[name]);
}

function showSetting() {
    for (const name of Object.keys(FIELDS)) {
        find(name).value = setting[name];
        showPlace(name);
    }
    find("list").value = setting.list;
    rows.show(setting.list);
    find("neighbors").value = setting.neighbors;
    document.querySelector(`[name=terms][value=${setting.terms}]`).checked = true;
    showFields();
}

function showFields() {
    const isUsed = new URLSearchParams(fragmentOf(setting)), {terms, sampler} = setting;
    for (const name of Object.keys(FIELDS)) find(`${name}-field`).hidden = !isUsed.has(name);
    find("list-field").hidden = terms !== "list";
    find("sampler-field").hidden = find("assumed-sampling").hidden = terms === "list";
    const known = Object.entries(SAMPLERS).filter(([, {terms: of}]) => of.includes(terms));
    find("sampler").replaceChildren(...known.map(([name, {label}]) => new Option(label, name, false, name === sampler)));
    showAssumed();
}

function isSamplerOf({terms, sampler}) {
    return terms === "list" || SAMPLERS[sampler].terms.includes(terms);
}

function showAssumed() {
    find("assumed-batches").textContent = SAMPLERS[setting.sampler].assumed;
}

function showFaults(faults) {
    for (const name of [...Object.keys(FIELDS), "neighbors", "list"]) {
        const told = faults[name] ?? "", place = find(`${name}-fault`);
        if (place.textContent !== told) place.textContent = told;
        find(name).setAttribute("aria-invalid", String(told !== ""));
    }
    rows.mark(placeOfFault(faults.list ?? ""));
}

// The mechanism that a fault of the list is about, from 0; null if it is about none.
function placeOfFault(told) {
    const found = /^Mechanism (\d+): /.exec(told);
    return found === null ? null : Number(found[1]) - 1;
}

// ---- Answers ---------------------------------------------------------------------------------------

let speaking, drawing, isFaulty = false, isFirst = true;

function answer() {
    const found = read(setting);
    showFaults(found.faults);
    clearTimeout(speaking);
    clearTimeout(drawing);
    const question = {...found, setting};
    isFaulty = Object.keys(found.faults).length > 0;
    if (isFaulty) {
        showNothing(Object.values(found.faults)[0]);
        return;
    }
    find("answer").setAttribute("aria-busy", "true");
    for (const id of ["more", "curves"]) find(id).classList.add("outdated"); // until theirs has been answered, too
    allowSaving();
    find("python").textContent = pythonCall(setting, found.values);
    find("command").textContent = commandLine(setting, found.values);
    epsilons.ask(question);
    drawing = setTimeout(() => curves.ask(question), CURVES_AFTER);
}

function isOutdated(question) {
    return question.setting !== setting;
}

// Ends what is asked for a setting that has changed meanwhile.
function stopIfOutdated(question) {
    if (isOutdated(question)) throw new DOMException("the setting has changed", "AbortError");
}

function showNothing(why) {
    answers = {};
    find("answer").setAttribute("aria-busy", "false");
    for (const id of ["epsilon-upper", "noise", "delta-at-target", "accounted"]) find(id).textContent = "–";
    for (const id of ["sentence", "python", "command", "time"]) find(id).textContent = "";
    for (const id of ["curves", "texts"]) find(id).hidden = true;
    find("epsilon-bounds").textContent = why;
    allowSaving();
}

// Keeps an answer beside the others to the same question. Those to another one are no longer of it.
function keep({setting: asked, values, steps}, found) {
    const others = answers.setting === asked ? answers : {};
    answers = {...others, setting: asked, values, steps, ...found};
    allowSaving();
}

// What is saved is of one setting, and whole.
function allowSaving() {
    const isWhole = answers.setting === setting && answers.epsilon !== undefined && answers.curves !== undefined;
    for (const id of ["save-csv", "save-json"]) find(id).disabled = !isWhole;
}

const epsilons = new Latest(async (question, signal) => {
    const {values, steps} = question, {neighbors} = question.setting;
    let epsilon, started;
    try {
        await version; // the time is not that of loading the core
        started = performance.now();
        epsilon = await core.epsilon(steps, values.delta, {neighbors, signal});
    } catch (error) {
        if (error.name === "AbortError") throw error;
        if (!isOutdated(question)) showTrouble(question, error);
        return;
    }
    const time = performance.now() - started;
    if (isOutdated(question) && (isFaulty || question.setting.terms !== setting.terms)) return;
    await showEpsilon(question, epsilon, time);
});

async function showEpsilon({setting: asked, values, steps}, epsilon, time) {
    const upper = outward(epsilon.upper, 4, "up"), lower = outward(epsilon.lower, 4, "down");
    keep({setting: asked, values, steps}, {epsilon});
    find("trouble").textContent = "";
    for (const id of ["curves", "texts"]) find(id).hidden = false;
    find("epsilon-upper").textContent = upper;
    find("epsilon-bounds").textContent = `At delta = ${asked.delta.trim()}, the ${epsilon.attained ? "exact epsilon"
        : "epsilon of the worst data sets"} lies in [${lower}, ${upper}] nats.${accuracy(epsilon)}`;
    find("accounted").textContent = accountedFor(asked, values, steps);
    const why = isFirst ? ", the first time: the browser translated the core" : "";
    find("time").textContent = `Answered in ${time.toFixed(1)} ms${why}.`;
    isFirst = false;
    find("answer").dataset.milliseconds = String(time);
    find("answer").setAttribute("aria-busy", "false");
    clearTimeout(speaking);
    speaking = setTimeout(() => {
        find("spoken").textContent = `Epsilon is at most ${upper}, at least ${lower}.`;
    }, SPOKEN_AFTER);
    find("sentence").textContent = sentence({setting: asked, values, steps, epsilon, version: await version});
}

function accuracy({accurate, limit, upper}) {
    if (upper === Infinity) return " No epsilon is known to hold at this delta.";
    return accurate ? "" : ` These bounds are wider than usual (${limit}); they hold all the same.`;
}

function accountedFor({terms, sampler}, values, steps) {
    if (terms === "list") {
        return `${total(steps).toLocaleString("en")} steps of ${steps.length} ${steps.length === 1 ? "mechanism" : "mechanisms"}`;
    }
    const {steps: count, steps_per_epoch: perEpoch, sampling_probability: probability} = values;
    if (sampler === "in-order") return `${count.toLocaleString("en")} epochs, each record in one batch of each`;
    const batches = `${count.toLocaleString("en")} batches${perEpoch ? ` (${perEpoch.toLocaleString("en")} in an epoch)` : ""}`;
    if (sampler === "random-allocation") return `${batches}, each record in one of an epoch, drawn anew in each`;
    if (sampler === "balls-in-bins") return `${batches}, each record in the same one of each epoch`;
    return `${batches}, each record in each with probability ${Number(probability.toPrecision(4))}`;
}

// A rule of the core that was broken: beside the list, if there is one. Places are counted from 1.
function showTrouble({setting: asked}, {message}) {
    const [, place, rest] = /^(?:steps\[(\d+)\]: )?(.*)$/s.exec(message);
    const saying = `${rest.replace(/\.$/, "")}.`;
    const told = asked.terms === "list" && place !== undefined ? `Mechanism ${Number(place) + 1}: ${saying}`
        : `${saying[0].toUpperCase()}${saying.slice(1)}`;
    showNothing("No answer.");
    if (asked.terms === "list") showFaults({list: told});
    find("trouble").textContent = told;
}

// ---- What takes longer: the target and the curves -----------------------------------------------------

const curves = new Latest(async (question, signal) => {
    find("curves").setAttribute("aria-busy", "true");
    try {
        await answerTarget(question, signal);
        find("more").classList.remove("outdated");
        await answerCurves(question, signal);
        find("curves-trouble").textContent = "";
        find("curves").classList.remove("outdated");
    } catch (error) {
        if (error.name === "AbortError") throw error;
        if (!isOutdated(question)) find("curves-trouble").textContent = `The curves could not be drawn: ${error.message}.`;
    } finally {
        find("curves").setAttribute("aria-busy", "false");
    }
});

function effortOf(steps) {
    return SLOW_TYPES.test(JSON.stringify(steps)) ? SLOW : USUAL;
}

async function answerTarget(question, signal) {
    const {setting: {terms, neighbors, target}, values, steps} = question;
    const delta = await coreOfCurves.delta(steps, values.target, {neighbors, signal});
    stopIfOutdated(question);
    find("delta-at-target").textContent = `at most ${outward(delta.upper, 4, "up")} at epsilon ${target.trim()}; the exact one `
        + `lies in [${outward(delta.lower, 4, "down")}, ${outward(delta.upper, 4, "up")}]`;
    let noise = null;
    try {
        const sought = {epsilon: values.target, delta: values.delta, tolerance: effortOf(steps).tolerance};
        noise = await coreOfCurves.noise(steps, sought, {neighbors, signal});
        stopIfOutdated(question);
        const isFactor = terms === "list", at = outward(noise.epsilon.upper, 4, "up");
        const found = isFactor ? noise.factor
            : noise.factor * values.noise_multiplier * (1 + Number.EPSILON); // at least the product
        noise = {...noise, [isFactor ? "noise_factor" : "noise_multiplier"]: found};
        // With discrete noise a greater scale may have a greater epsilon: such a factor is not rounded.
        const told = noise.monotone ? outward(found, 4, "up") : `exactly ${found}`;
        find("noise").textContent = isFactor ? `all noise times ${told} is enough for epsilon ${target.trim()} (epsilon ≤ ${at})`
            : `noise multiplier ${told} is enough for epsilon ${target.trim()} (epsilon ≤ ${at})`;
    } catch (error) {
        if (error.name === "AbortError") throw error;
        find("noise").textContent = `none was found: ${error.message}`;
    }
    keep(question, {delta_at_target: delta, noise});
}

async function answerCurves(question, signal) {
    const {setting: {neighbors}, values, steps} = question;
    const options = {neighbors, signal}, drawn = [];
    const show = (curve) => {
        stopIfOutdated(question);
        draw(find(curve.name), curve);
        showTable(curve);
        drawn.push(curve);
    };
    const extent = {least: Math.min(1e-10, values.delta), count: effortOf(steps).deltas};
    const {epsilons: at, bounds} = await coreOfCurves.curve(steps, extent, options);
    stopIfOutdated(question);
    show(curveOf("privacy-curve", "epsilon", at, bounds, {
        title: {x: "epsilon (nats)", y: "delta"}, logarithmic: {x: false, y: true}}));
    show(await growth(question, options));
    show(await tradeOff(question, options));
    keep(question, {curves: drawn.map(({name, x, points}) => ({name, x, points}))});
}

function curveOf(name, x, at, bounds, look) {
    return {name, x, points: at.map((value, i) => ({at: value, lower: bounds[i].lower, upper: bounds[i].upper})), ...look};
}

// Powers are asked one by one: a question that is taken back ends sooner.
async function tradeOff(question, options) {
    const {values, steps} = question, powers = [];
    const {powers: count, error} = effortOf(steps);
    const rates = Array.from({length: count}, (_, i) => FEWEST_FALSE_POSITIVES ** (1 - i / (count - 1)));
    const {upper} = await coreOfCurves.epsilon(steps, values.delta, options);
    const epsError = Number.isFinite(upper) && upper > 0 ? error * upper : error;
    for (const rate of rates) {
        stopIfOutdated(question);
        powers.push(await coreOfCurves.power(steps, rate, {...options, epsError}));
    }
    return curveOf("trade-off", "false positive rate", rates, powers, {
        title: {x: "false positive rate", y: "greatest true positive rate"}, logarithmic: {x: true, y: true},
        guide: rates.map((rate) => ({x: rate, y: rate}))});
}

async function growth(question, options) {
    const {setting: asked, values} = question;
    const {x, moments: told} = moments(asked, question, MOST_MOMENTS);
    const bounds = [{lower: 0, upper: 0}]; // nothing has run
    for (const {steps} of told) {
        stopIfOutdated(question);
        bounds.push(await coreOfCurves.epsilon(steps, values.delta, options));
    }
    stopIfOutdated(question);
    const delta = asked.delta.trim();
    find("growth-caption").textContent = `Epsilon after so many ${x}, at delta = ${delta}`;
    return curveOf("growth", x, [0, ...told.map(({at}) => at)], bounds, {
        title: {x: asked.terms === "list" ? "steps, in the order of the list" : x, y: "epsilon (nats)"},
        logarithmic: {x: false, y: false}});
}

function showTable({name, points, title}) {
    const rows = points.map(({at, lower, upper}) => `<tr><th scope="row">${outward(at, 4, "down")}</th>`
        + `<td>${outward(lower, 4, "down")}</td><td>${outward(upper, 4, "up")}</td></tr>`);
    find(`${name}-table`).innerHTML = `<table><thead><tr><th scope="col">${title.x}</th><th scope="col">${title.y}, at least</th>`
        + `<th scope="col">at most</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
    const last = points[points.length - 1], first = points[0];
    find(name).setAttribute("aria-label", `${title.y} against ${title.x}: at most ${outward(first.upper, 3, "up")} at `
        + `${outward(first.at, 3, "down")}, at most ${outward(last.upper, 3, "up")} at ${outward(last.at, 3, "down")}. `
        + "The table below has the numbers.");
}

// ---- Taking it away ------------------------------------------------------------------------------------

async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text);
        find("done").textContent = `Copied: ${what}.`;
    } catch {
        find("done").textContent = "The browser does not allow copying here: select the text instead.";
    }
}

function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    find("done").textContent = `Saved: ${name}.`;
}

// As the command line writes JSON: infinite numbers are texts.
function jsonOf(value) {
    const told = (_, each) => each === Infinity ? "inf" : each === -Infinity ? "-inf" : each;
    return JSON.stringify(value, told, 2);
}

async function allNumbers() {
    const {setting: {terms, neighbors}, values, steps, ...found} = answers;
    return {version: await version, terms, neighbors, values, steps, ...found, link: location.href};
}

function makeButtons() {
    find("copy-link").addEventListener("click", () => copy(location.href, "the link to this setting"));
    find("save-csv").addEventListener("click", () => save("prvcore.csv", "text/csv", csvOf(answers.curves)));
    find("save-json").addEventListener("click", async () => save("prvcore.json", "application/json", jsonOf(await allNumbers())));
    for (const button of document.querySelectorAll("[data-copy]")) {
        const {copy: id} = button.dataset;
        button.addEventListener("click", () => copy(find(id).textContent, button.ariaLabel.replace("Copy ", "")));
    }
}

// ---- Start ------------------------------------------------------------------------------------------------

// The theme that was chosen on the other pages of the site; without one, that of the system.
function showTheme() {
    let theme = "auto";
    try {
        theme = localStorage.getItem("theme") ?? "auto";
    } catch { // pages without storage have the theme of the system
    }
    document.documentElement.dataset.theme = theme;
}

showTheme();
makeFields();
makeButtons();
showSetting();
history.replaceState(null, "", `#${fragmentOf(setting)}`);
answer();
version.then((text) => { find("version").textContent = text; }, (error) => {
    showNothing("The core could not be loaded.");
    find("trouble").textContent = `The core could not be loaded: ${error.message}. If you have built this site yourself: ` +
        "./dev site builds the core, too, where emscripten is installed.";
});
addEventListener("hashchange", () => {
    setting = settingOf(location.hash);
    showSetting();
    answer();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", answer);
if ("serviceWorker" in navigator) navigator.serviceWorker.register("sw.js");
