// The list of mechanisms as rows that are added, changed, moved and removed. The list itself is the text of a schedule file
// (JSON), which the page keeps: rows are made of it, and each change of a row makes it anew.
import {numberOf} from "./numbers.js";
import {EXAMPLES, listText} from "./setting.js";

const UNKNOWN = "This mechanism has parts that only the text below shows.";

// Parameters that are left out of a file have their defaults; a row shows them nevertheless.
const DEFAULTS = {
    Laplace: {sensitivity: 1}, DiscreteGaussian: {sensitivity: 1}, DiscreteLaplace: {sensitivity: 1},
    RandomizedResponse: {categories: 2}, RandomAllocation: {selected: 1},
};
const KINDS = EXAMPLES.map(({type}) => type);
const INNER_KINDS = ["Gaussian", "Laplace", "DiscreteGaussian", "DiscreteLaplace", "PureDP", "ApproximateDP"];

/** The steps that a text says, or null if it is no list of objects with a type. */
export function stepsOfText(text) {
    try {
        const {steps} = JSON.parse(text);
        const isStep = (step) => step !== null && typeof step === "object" && typeof step.type === "string";
        return Array.isArray(steps) && steps.every(isStep) ? steps : null;
    } catch {
        return null;
    }
}

function exampleOf(type) {
    return structuredClone(EXAMPLES.find((each) => each.type === type));
}

function inWords(name) {
    const words = name.replaceAll("_", " ");
    return words[0].toUpperCase() + words.slice(1);
}

// `fresh`, which has taken the place of `old`.
function replaced(old, fresh) {
    old.replaceWith(fresh);
    return fresh;
}

function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (key in made && typeof value !== "string") made[key] = value;
        else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
}

export class Rows {
    #place;
    #tell;
    #changed;
    #steps = [];

    /** Rows in the element `place`. `changed` is given the new text, `tell` what a screen reader is told. */
    constructor(place, {changed, tell}) {
        this.#place = place;
        this.#changed = changed;
        this.#tell = tell;
    }

    /** Shows the rows of a text, or none if it has a fault. */
    show(text) {
        const steps = stepsOfText(text);
        this.#place.hidden = steps === null;
        if (steps === null) return;
        this.#steps = steps;
        this.#make();
    }

    /** Adds a mechanism of a kind, and gives it the focus. */
    add(type) {
        this.#steps.push(exampleOf(type));
        this.#remade(`${type} was added: mechanism ${this.#steps.length}.`);
        this.#focus(this.#steps.length - 1, "select");
    }

    /** Marks the mechanism at a place, from 0, as the one with the fault; none if it is null. */
    mark(place) {
        [...this.#place.children].forEach((row, i) => row.classList.toggle("faulty", i === place));
    }

    #make() {
        this.#place.replaceChildren(...this.#steps.map((step, i) => this.#row(step, i)));
    }

    #remade(told) {
        this.#make();
        this.#write();
        this.#tell(told);
    }

    #write() {
        this.#changed(listText(this.#steps));
    }

    #focus(place, what) {
        const row = this.#place.children[Math.min(place, this.#steps.length - 1)];
        (row?.querySelector(`${what}:enabled`) ?? row?.querySelector("select"))?.focus();
    }

    #row(step, place) {
        const id = `row-${place}`, name = `Mechanism ${place + 1}`;
        let parts = this.#parameters(id, step, ["count"]);
        const kind = this.#kinds(`${id}-type`, step.type, KINDS, (type) => {
            const made = {...exampleOf(type), count: this.#steps[place].count ?? 1};
            this.#steps[place] = made;
            parts = replaced(parts, this.#parameters(id, made, ["count"])); // the choice stays, with the focus in it
            this.#write();
            this.#tell(`Mechanism ${place + 1} is ${type}.`);
        });
        const button = (label, text, of, isOff, act) => {
            const made = element("button", {type: "button", class: of, "aria-label": `${label} mechanism ${place + 1}`,
                title: label, disabled: isOff}, text);
            made.addEventListener("click", act);
            return made;
        };
        const move = (by, of) => () => {
            const [moved] = this.#steps.splice(place, 1);
            this.#steps.splice(place + by, 0, moved);
            this.#remade(`${moved.type} is mechanism ${place + by + 1} of ${this.#steps.length} now.`);
            this.#focus(place + by, `.${of}`);
        };
        const last = this.#steps.length - 1;
        const buttons = element("div", {class: "row-buttons"},
            button("Move up", "↑", "up", place === 0, move(-1, "up")),
            button("Move down", "↓", "down", place === last, move(1, "down")),
            button("Remove", "✕", "remove", false, () => {
                this.#steps.splice(place, 1);
                this.#remade(`Mechanism ${place + 1}, ${kind.value}, was removed.`);
                if (this.#steps.length > 0) this.#focus(place, ".remove");
                else document.getElementById("kind").focus();
            }));
        return element("fieldset", {class: "row", id},
            element("legend", {class: "hidden"}, name),
            element("div", {class: "row-head"}, element("span", {class: "row-number", "aria-hidden": "true"}, `${place + 1}.`),
                element("label", {class: "hidden", for: `${id}-type`}, `${name}: kind`), kind, buttons),
            parts);
    }

    #kinds(id, chosen, kinds, choose) {
        const all = kinds.includes(chosen) ? kinds : [chosen, ...kinds]; // as the text has it, with its fault if it is one
        const select = element("select", {id}, ...all.map((type) => new Option(type, type, false, type === chosen)));
        select.addEventListener("change", () => choose(select.value));
        return select;
    }

    // The fields of a mechanism, and behind them `more`, which belongs to its step.
    #parameters(id, mechanism, more = []) {
        const example = EXAMPLES.find(({type}) => type === mechanism.type) ?? {};
        const names = [...Object.keys(example), ...Object.keys(DEFAULTS[mechanism.type] ?? {}), ...Object.keys(mechanism)];
        const known = [...new Set(names)].filter((name) => !["type", "count", "mechanism"].includes(name));
        const fields = element("div", {class: "row-fields"});
        for (const name of [...known, ...more]) fields.append(this.#field(`${id}-${name}`, mechanism, name));
        const parts = element("div", {class: "row-parts"}, fields);
        if (mechanism.mechanism !== undefined) parts.prepend(this.#inner(`${id}-mechanism`, mechanism));
        return parts;
    }

    #inner(id, outer) {
        const inner = outer.mechanism;
        if (inner === null || typeof inner !== "object" || typeof inner.type !== "string") {
            return element("p", {class: "help"}, UNKNOWN);
        }
        let parts = this.#parameters(id, inner);
        const kind = this.#kinds(`${id}-type`, inner.type, INNER_KINDS, (type) => {
            const {count: _, ...made} = exampleOf(type);
            outer.mechanism = made;
            parts = replaced(parts, this.#parameters(id, made));
            this.#write();
            this.#tell(`${outer.type} is of ${type}.`);
        });
        return element("div", {class: "row-inner"}, element("label", {for: `${id}-type`}, "What runs on it"), kind, parts);
    }

    #field(id, mechanism, name) {
        const value = mechanism[name] ?? (name === "count" ? 1 : DEFAULTS[mechanism.type]?.[name] ?? "");
        const label = element("label", {for: id}, name === "count" ? "Times" : inWords(name));
        if (typeof value === "object" || typeof value === "boolean") {
            return element("div", {class: "row-field"}, label, element("p", {class: "help", id}, UNKNOWN));
        }
        const input = element("input", {id, type: "text", autocomplete: "off", "aria-describedby": "list-fault"});
        input.value = String(value);
        input.addEventListener("input", () => {
            const number = numberOf(input.value);
            // What is no number stays as it was typed, a fault that the core tells.
            mechanism[name] = Number.isNaN(number) ? input.value : number;
            this.#write();
        });
        return element("div", {class: "row-field"}, label, input);
    }
}
