// Drawing for the page of a report and the page of the service: elements, numbers as text, colours, bars of ranks.
export const PARTS = ["compute", "pack", "exchange", "unpack", "idle"];
const SVG = new Set(["svg", "g", "rect", "line", "path", "text", "circle", "title"]);

// Width of a figure: at most most, and what a narrow screen leaves; text is then as large as on a wide one
export const wide = (most = 1040) => Math.min(most, Math.max(260, document.documentElement.clientWidth - 62));

// Creates an element; text is never parsed as markup. An attribute such as onclick is a function; null is left out.
export function make(name, attributes = {}, ...children) {
  const node = SVG.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

// Numbers as text; one that is missing is a dash
const written = write => value => value === null || value === undefined ? "–" : write(value);
export const figure = (value, digits = 3) => value.toLocaleString("en", { maximumSignificantDigits: digits });
export const count = written(value => value.toLocaleString("en"));

export function short(value) {
  const [scale, unit] = value >= 1e9 ? [1e9, "G"] : value >= 1e6 ? [1e6, "M"] : value >= 1e4 ? [1e3, "k"] : [1, ""];
  return `${figure(value / scale)}${unit}`;
}

export const seconds = written(value => {
  if (value === 0) return "0 s";
  const [scale, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${figure(value * scale)} ${unit}`;
});

export const bytes = written(value => {
  const power = value < 1024 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), 4);
  return `${figure(value / 1024 ** power)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
});

// The colour of a part or phase, a variable of the page's style sheet
export const colour = name => `var(--${name}, var(--other))`;

// Names beside their colours; of: name → colour
export function legend(names, of = null) {
  return make("ul", { class: "legend" }, ...names.map(name => {
    const square = make("i");
    square.style.background = of ? of[name] : colour(name);
    return make("li", {}, square, name);
  }));
}

const tip = make("div", { id: "tip", role: "tooltip", hidden: true });

// Shows text, or what text returns for the event, while the pointer is over a node.
export function hint(node, text) {
  node.addEventListener("pointermove", event => {
    if (!tip.isConnected) document.body.append(tip);
    const shown = typeof text === "function" ? text(event) : text;
    tip.hidden = !shown;
    tip.textContent = shown || "";
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
  });
  node.addEventListener("pointerleave", () => { tip.hidden = true; });
  return node;
}

// Round numbers from 0 to most, at equal steps
export function ticks(most) {
  if (!(most > 0)) return [0];
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map(k => k * power).find(s => most / s <= 5);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

// Stacked bars, one a rank; columns: part → numbers by rank. A narrow figure has no axis.
// full: number of a full bar, by default the largest; marks: numbers by rank that a stroke shows; of: part → colour
export function bars(columns, write, { width = wide(), full = 0, marks = [], of = null } = {}) {
  const names = Object.keys(columns), ranks = columns[names[0]].length;
  const height = ranks > 256 ? 2 : ranks > 64 ? 6 : ranks > 24 ? 12 : 18, every = Math.ceil(12 / height);
  const left = 62, top = width < 250 ? 0 : 20;
  const totals = Array.from({ length: ranks }, (_, r) => names.reduce((sum, name) => sum + columns[name][r], 0));
  const parts = r => names.filter(name => columns[name][r] > 0).map(name => `${name} ${write(columns[name][r])}`);
  const most = Math.max(...totals, ...marks.filter(Boolean), full, 1e-12), x = value => left + (width - left - 90) * value / most;
  const svg = make("svg", { viewBox: `0 0 ${width} ${top + ranks * height + 4}`, width, class: "bars", role: "img",
    "aria-label": totals.slice(0, 64).map((total, r) => `rank ${r} ${write(total)}: ${parts(r).join(", ")}`).join("; ") });
  const unit = write === bytes ? 1024 ** Math.max(Math.floor(Math.log2(most) / 10), 0) : 1;
  for (const value of top ? ticks(most / unit).filter((_, i) => width > 600 || i % 2 === 0).map(step => step * unit) : []) {
    svg.append(make("line", { class: "rule", x1: x(value), x2: x(value), y1: top - 4, y2: top + ranks * height }),
      make("text", { x: x(value), y: 11, "text-anchor": "middle" }, write(value)));
  }
  for (let r = 0; r < ranks; r += 1) {
    const y = top + r * height;
    let start = 0;
    if (r % every === 0) svg.append(make("text", { x: left - 8, y: y + Math.min(height, 12) - 1, "text-anchor": "end" }, `rank ${r}`));
    for (const name of names) {
      const value = columns[name][r];
      if (value <= 0) continue;
      const bar = make("rect", { class: name, x: x(start), y, width: Math.max(x(start + value) - x(start), 0.3),
        height: Math.max(height - (height > 4 ? 2 : 0), 1), fill: of ? of[name] : colour(name) });
      svg.append(hint(bar, `rank ${r}\n${name} ${write(value)}\nall ${write(totals[r])}`));
      start += value;
    }
    if (marks[r]) svg.append(make("line", { class: "mark", x1: x(marks[r]), x2: x(marks[r]), y1: y, y2: y + height - 2 }));
    if (height >= 12) svg.append(make("text", { x: x(start) + 5, y: y + 12 }, write(totals[r])));
  }
  return svg;
}
