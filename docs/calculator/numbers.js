// Numbers as people read and write them. Bounds are rounded outwards: one that is rounded inwards is none.

const EXACT = 100; // digits behind the first: as many as JavaScript gives, and correctly rounded

/** `value` with `digits` significant digits, rounded "up" or "down". Its number is at least, or at most, `value`. */
export function outward(value, digits, direction) {
    if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "not a number";
    if (value === 0) return "0";
    const [whole, shift] = rounded(value, digits, direction);
    return (value < 0 ? "-" : "") + written(whole, shift);
}

/** The same as reports of the Python package write it: with zeros at the end, which are known, and e+04. */
export function reported(value, digits, direction) {
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    if (value === 0) return "0";
    const [whole, shift] = rounded(value, digits, direction), kept = whole.slice(0, digits);
    const power = whole.length + shift - 1, sign = value < 0 ? "-" : "", behind = (text) => text === "" ? "" : `.${text}`;
    if (power < -4 || power >= digits) {
        const exponent = `${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
        return `${sign}${kept[0]}${behind(kept.slice(1))}e${exponent}`;
    }
    if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${kept}`;
    return sign + kept.slice(0, power + 1) + behind(kept.slice(power + 1));
}

// The digits of |value| and the power of ten that they are to be multiplied by.
function rounded(value, digits, direction) {
    const [mantissa, exponent] = Math.abs(value).toExponential(EXACT).split("e");
    const all = mantissa.replace(".", ""), kept = all.slice(0, digits);
    const isCut = /[1-9]/.test(all.slice(digits));
    const isAway = isCut && (direction === "up") === value > 0; // away from zero
    const whole = BigInt(kept) + (isAway ? 1n : 0n);
    return [whole.toString(), Number(exponent) + 1 - digits];
}

// The number digits * 10^shift: as 0.0012 or 1.2e-5, without the zeros at its end.
function written(digits, shift) {
    const bare = digits.replace(/0+$/, ""), power = digits.length + shift - 1;
    if (power < -4 || power >= 7) return bare[0] + (bare.length > 1 ? `.${bare.slice(1)}` : "") + `e${power}`;
    if (power < 0) return `0.${"0".repeat(-power - 1)}${bare}`;
    const padded = bare.padEnd(power + 1, "0");
    return padded.slice(0, power + 1) + (padded.length > power + 1 ? `.${padded.slice(power + 1)}` : "");
}

/** As Python writes a float: 1e-05, 0.004, 1.0. */
export function pythonFloat(value) {
    const text = String(value), [mantissa, exponent] = value.toExponential().split("e");
    const power = Number(exponent);
    if (power < -4 || power >= 16) return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
    return /[.e]/.test(text) ? text : `${text}.0`;
}

/** The number that a text says, or a fraction such as 256/60000; NaN if it says none. */
export function numberOf(text) {
    const parts = text.trim().split("/").map((part) => part.trim().replaceAll("_", ""));
    const isNumber = (part) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(part);
    if (parts.length > 2 || !parts.every(isNumber)) return NaN;
    return parts.length === 1 ? Number(parts[0]) : Number(parts[0]) / Number(parts[1]);
}

/** ceil(times * the decimal that `text` writes), exactly; `times` is a bigint. */
export function timesDecimal(times, text) {
    const [, whole, part = "", exponent = "0"] = /^\+?(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text.trim().replaceAll("_", ""));
    const places = part.length - Number(exponent), above = times * BigInt(whole + part || "0");
    if (places <= 0) return above * 10n ** BigInt(-places);
    const under = 10n ** BigInt(places);
    return (above + under - 1n) / under;
}

const SCALE = 106; // a float of at least 2^-53, times 2^106, is a whole number

/** The nearest float to part / whole, or if that is less, the next one above; whole numbers, 0 < part <= whole < 2^53. */
export function atLeast(part, whole) {
    const rounded = part / whole;
    if (BigInt(rounded * 2 ** SCALE) * BigInt(whole) >= BigInt(part) << BigInt(SCALE)) return rounded;
    const bits = new BigUint64Array(new Float64Array([rounded]).buffer);
    bits[0] += 1n;
    return new Float64Array(bits.buffer)[0];
}
