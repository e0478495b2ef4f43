// Figures of a job: rounds, and time by rank and phase; a table, names, times of day.
import { PARTS, count, make, short } from "./drawing.js";

const PHASES = ["load", "partition", "build", "prepare", "compile", "init", ...PARTS, "checkpoint", "validate", "output"];

// A text from outside, isolated: letters that turn the direction of text do not turn what stands beside it.
export const named = text => make("bdi", {}, text);

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
  words(short(most), left - 6, top + 9, "end"), words("0", left - 6, floor, "end"),
  words(`round ${count(first)}`, left, height - 6, "start"), words(count(last), width - right, height - 6, "end"));
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
