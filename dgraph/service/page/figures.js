// Elements, numbers as text, and the figures of a job: rounds, and time by rank and phase with the report's colours.
export const PARTS = ["compute", "pack", "exchange", "unpack", "idle"];
const PHASES = ["load", "partition", "build", "prepare", "compile", "init", ...PARTS, "checkpoint", "validate", "output"];
const SVG = new Set(["svg", "g", "rect", "line", "path", "text", "circle", "title"]);

// Creates an element; text is never parsed as markup.
export function make(name, attributes = {}, ...children) {
  const node = SVG.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

// A text from outside, isolated: letters that turn the direction of text do not turn what stands beside it.
export const named = text => make("bdi", {}, text);

export const count = value => value === null || value === undefined ? "–" : value.toLocaleString("en");
export const figure = (value, digits = 3) => value.toLocaleString("en", { maximumSignificantDigits: digits });

function compact(value) {
  const [scale, unit] = value >= 1e9 ? [1e9, "G"] : value >= 1e6 ? [1e6, "M"] : value >= 1e4 ? [1e3, "k"] : [1, ""];
  return `${figure(value / scale)}${unit}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 s";
  const [scale, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${figure(value * scale)} ${unit}`;
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let unit = 0;
  while (value >= 1024 && unit < 4) { value /= 1024; unit += 1; }
  return `${figure(value)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

export function ago(time) {
  const past = Math.max(Date.now() / 1000 - time, 0);
  if (past < 60) return "now";
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  return new Date(time * 1000).toLocaleDateString("en", { day: "numeric", month: "short" });
}

export function table(heads, rows, caption) {
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map(([text, kind]) => make("th", { scope: "col", class: kind }, text)))),
    make("tbody", {}, ...rows)));
}

// Active vertices by round, on a log scale; points: [{round, active}]
export function rounds(points, width, height = 120) {
  const left = 52, right = 8, top = 8, bottom = 22;
  const last = Math.max(...points.map(point => point.round)), first = Math.min(...points.map(point => point.round));
  const most = Math.max(...points.map(point => point.active), 1);
  const x = round => left + (width - left - right) * (last === first ? 1 : (round - first) / (last - first));
  const y = active => top + (height - top - bottom) * (1 - Math.log1p(active) / Math.log1p(most));
  const line = points.map((point, i) => `${i ? "L" : "M"}${x(point.round).toFixed(1)} ${y(point.active).toFixed(1)}`).join("");
  const floor = height - bottom;
  const words = (text, at, up, anchor) => make("text", { x: at, y: up, "text-anchor": anchor }, text);
  const shown = points[points.length - 1];
  return make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "figure", role: "img",
    "aria-label": `active vertices by round: ${count(shown.active)} in round ${shown.round}, at most ${count(most)}` },
  make("line", { class: "rule", x1: left, x2: width - right, y1: floor, y2: floor }),
  make("line", { class: "rule faint", x1: left, x2: width - right, y1: top, y2: top }),
  make("path", { class: "area", d: `${line}L${x(last).toFixed(1)} ${floor}L${x(first).toFixed(1)} ${floor}Z` }),
  make("path", { class: "line", d: line }),
  make("circle", { class: "end", cx: x(shown.round), cy: y(shown.active), r: 3.2 }),
  words(compact(most), left - 6, top + 9, "end"), words("0", left - 6, floor, "end"),
  words(`round ${count(first)}`, left, height - 6, "start"), words(count(last), width - right, height - 6, "end"));
}

// Stacked bars, one a rank; columns: part → numbers by rank; full: the number of a full bar, by default the largest
export function bars(columns, write, full = 0) {
  const names = Object.keys(columns), ranks = columns[names[0]].length;
  const totals = Array.from({ length: ranks }, (_, r) => names.reduce((sum, name) => sum + columns[name][r], 0));
  const most = Math.max(...totals, full, 1e-12);
  return make("ul", { class: ranks > 16 ? "bars many" : "bars" }, ...totals.map((total, r) => {
    const told = names.filter(name => columns[name][r] > 0).map(name => `${name} ${write(columns[name][r])}`);
    const track = make("span", { class: "track", role: "img", "aria-label": told.join(", "), title: told.join("\n") }, ...names.map(name => {
      const part = make("i", { class: `part ${name}` });
      part.style.width = `${100 * columns[name][r] / most}%`;
      return part;
    }));
    return make("li", {}, make("span", {}, `rank ${r}`), track, make("span", {}, write(total)));
  }));
}

export function legend(names) {
  return make("ul", { class: "legend" }, ...names.map(name => make("li", {}, make("i", { class: `part ${name}` }), name)));
}

// Parts of rounds and phases of the run by rank, from a report; null if it has no ranks
export function breakdown(report) {
  const ranks = report.ranks || [];
  if (!ranks.length) return null;
  const pick = names => Object.fromEntries(names.map(name => [name, ranks.map(rank => rank.seconds[name] || 0)])
    .filter(([, values]) => values.some(value => value > 0)));
  const parts = pick(PARTS), whole = pick(PHASES);
  return { parts: Object.keys(parts).length ? parts : null, whole: Object.keys(whole).length ? whole : null };
}
