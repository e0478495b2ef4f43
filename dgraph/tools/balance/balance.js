// Page of a comparison of schedules.
import { bytes, colour, count, figure, hint, legend, make, seconds, ticks } from "../../report/page/drawing.js";
import { hues, profile, section, table } from "../../report/page/figures.js";

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("page");
const ran = data.rows.filter(row => row.seconds !== null);
const BROKEN = 6; // bars longer than this multiple of the median are truncated
const MOST_RANKED = 8;

// One stacked bar per schedule.
function stacked(rows, parts, of, write, width = 1040) {
  const height = 18,
    left = 190,
    top = 20,
    totals = rows.map(row => parts.reduce((sum, part) => sum + row[part], 0)),
    middle = [...totals].sort((a, b) => a - b)[Math.floor(totals.length / 2)],
    most = Math.max(Math.min(Math.max(...totals), BROKEN * middle), 1e-12);
  const x = value => left + (width - left - 90) * value / most;
  const svg = make("svg", { viewBox: `0 0 ${width} ${top + rows.length * height + 4}`, width, role: "img" });
  for (const at of ticks(most)) svg.append(make("line", { class: "rule", x1: x(at), x2: x(at), y1: top - 4, y2: top +
      rows.length * height }), make("text", { x: x(at), y: 11, "text-anchor": "middle" }, write(at)));
  rows.forEach((row, i) => {
    let at = 0;
    svg.append(make("text", { x: left - 8, y: top + i * height + 12, "text-anchor": "end" }, row.label));
    for (const part of parts) {
      const end = Math.min(at + row[part], most);
      const bar = make("rect", { x: x(at), y: top + i * height, width: Math.max(x(end) - x(at), 0.3),
        height: height - 3, fill: of[part] });
      svg.append(hint(bar, `${row.label}\n${part} ${write(row[part])}`));
      at = end;
    }
    svg.append(make("text", { x: x(at) + 5, y: top + i * height + 12 }, (totals[i] > most ? "… " : "") + write(
      totals[i])));
  });
  return svg;
}

// Ranks by time, memory and lines; 1 is the centre.
function radar(rows, size = 420) {
  const axes = ["time", "memory", "lines"],
    known = rows.filter(row => axes.every(axis => row.ranks[axis] !== null)).sort((a, b) => a.ranks.time - b.ranks
      .time).slice(0, MOST_RANKED),
    middle = size / 2,
    most = Math.max(...known.flatMap(row => axes.map(axis => row.ranks[axis])), 1);
  const of = hues(known.map(row => row.label)),
    point = (i, value) => {
      const angle = -Math.PI / 2 + i * 2 * Math.PI / 3,
        r = (middle - 34) * value / most;
      return [middle + r * Math.cos(angle), middle + r * Math.sin(angle)];
    };
  const svg = make("svg", { viewBox: `0 0 ${size} ${size}`, width: size, role: "img" });
  axes.forEach((axis, i) => {
    const [x, y] = point(i, most),
      [tx, ty] = point(i, most * 1.12);
    svg.append(make("line", { class: "rule", x1: middle, y1: middle, x2: x, y2: y }), make("text", { x: tx, y: ty +
        4, "text-anchor": "middle" }, axis));
  });
  for (const row of known) {
    const path = axes.map((axis, i) => `${i ? "L" : "M"}${point(i, row.ranks[axis]).map(v => v.toFixed(1)).join(" ")}`)
      .join("") + "Z";
    svg.append(hint(make("path", { d: path, fill: "none", stroke: of[row.label], "stroke-width": 1.6 }),
      `${row.label}\n${axes.map(axis => `${axis} ${row.ranks[axis]}`).join("\n")}`));
  }
  return [legend(known.map(row => row.label), of), svg];
}

const parts = ["kernel", "others", "host"],
  partHues = { kernel: colour("compute"), others: colour("exchange"), host: colour("idle") };
const shade = value => value === null || value === undefined ? "–" : figure(value);
const nodes = [make("h1", {}, data.title), make("code", {}, `${data.command}  ·  ${data.created}`),
  make("ul", { class: "facts" }, ...data.facts.map(text => make("li", {}, text)), ...data.rows.filter(row => row.told || !
    row.right).map(row => make("li", { class: "warning" },
    `${row.label}: ${row.right ? row.told : "its answer is not that of the first"}`))),
  section("Time", "Time of the rounds: kernels that visit edges, other kernels, and the host's remainder. Bars with … are truncated.", legend(
    parts, partHues), stacked(ran, parts, partHues, seconds)),
  section("Figures", data.note, table(["schedule", "time", "M/s", "kernel", "others", "host", "rounds", "memory", "block",
      "warp", "thread", "lines"],
    data.rows.map(row => row.seconds === null ? [row.label, ...Array(11).fill("–")] : [row.label, seconds(row.seconds),
      row.rate === null ? "–" : figure(row.rate / 1e6),
      seconds(row.kernel), seconds(row.others), seconds(row.host), count(row.rounds), bytes(row.memory), ...["block",
        "warp", "thread"
      ].map(unit => shade(row.spread && row.spread[unit].ratio)), row.lines === null ? "–" : String(row.lines)
    ]))),
  section("Ranks by time, memory and lines of the template", "The fastest schedules; 1, at the centre, is best.", ...radar(ran)),
];
for (const row of ran.filter(one => one.profiles)) {
  const names = [...new Set(row.profiles.flatMap(one => Object.keys(one.columns)))],
    of = hues(names);
  nodes.push(section(`Load by thread block: ${row.label}`,
    "Edges that each thread block visited, by kernel; dashed: their mean.", legend(names, of),
    ...row.profiles.flatMap((one, i) => i < 4 ? [make("p", { class: "note" }, one.title), profile(one.columns, one
      .group, one.most, of, 1040, 80)] : [])));
}
main.append(...nodes);
document.documentElement.dataset.drawn = "yes";
