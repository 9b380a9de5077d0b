// The pictures, drawn by Chart.js; colours are those of the page.
/* global Chart */
import {outward} from "./numbers.js";

const drawn = new Map(); // by name: the Chart

function colours() {
    const style = getComputedStyle(document.body), of = (name) => style.getPropertyValue(name).trim();
    return {text: of("--text"), grid: of("--line"), curve: of("--accent"), band: of("--band"), quiet: of("--quiet")};
}

/**
 * Draw a curve with its bounds.
 * `curve` is {name, x, points: [{at, lower, upper}], title: {x, y}, logarithmic: {x, y}, guide}; `guide` is a line
 * to compare with, of {x, y}.
 */
export function draw(canvas, curve) {
    const colour = colours(), {name, points, title, logarithmic, guide = []} = curve;
    const shown = (value) => Number.isFinite(value) && !(logarithmic.y && value <= 0) ? value : null;
    const line = (of) => points.map((point) => ({x: point.at, y: shown(point[of])}));
    const usual = {borderWidth: 2, pointRadius: 0, pointHitRadius: 8, tension: 0};
    const datasets = [
        {...usual, label: "upper bound", data: line("upper"), borderColor: colour.curve, backgroundColor: colour.band, fill: "+1"},
        {...usual, label: "lower bound", data: line("lower"), borderColor: colour.curve, borderWidth: 1, borderDash: [4, 3]},
        ...(guide.length ? [{...usual, label: "guessing", data: guide, borderColor: colour.quiet, borderDash: [2, 4], borderWidth: 1}] : []),
    ];
    const axis = (which) => ({
        type: logarithmic[which] ? "logarithmic" : "linear",
        title: {display: true, text: title[which], color: colour.text},
        grid: {color: colour.grid},
        ticks: {color: colour.text, maxRotation: 0, autoSkipPadding: 16,
            ...(logarithmic[which] ? {callback: powerOfTen} : {})},
        ...(which === "y" && !logarithmic.y ? {beginAtZero: true} : {}),
    });
    const options = {
        animation: false, responsive: true, maintainAspectRatio: false, normalized: true,
        interaction: {mode: "index", intersect: false},
        scales: {x: axis("x"), y: axis("y")},
        plugins: {
            legend: {display: guide.length > 0, labels: {color: colour.text, boxHeight: 0, boxWidth: 24}},
            tooltip: {callbacks: {
                title: ([item]) => `${title.x}: ${outward(item.parsed.x, 4, "down")}`,
                label: ({dataset, parsed}) => `${dataset.label}: ${
                    outward(parsed.y, 4, dataset.label.startsWith("lower") ? "down" : "up")}`,
            }},
        },
    };
    const chart = drawn.get(name);
    if (chart === undefined) {
        drawn.set(name, new Chart(canvas, {type: "line", data: {datasets}, options}));
        return;
    }
    chart.data = {datasets};
    chart.options = options;
    chart.update();
}

function powerOfTen(value) {
    const power = Math.log10(value);
    if (Math.abs(power - Math.round(power)) > 1e-9) return "";
    return value >= 1e-3 && value <= 1e3 ? String(Number(value.toPrecision(3))) : `1e${Math.round(power)}`;
}
