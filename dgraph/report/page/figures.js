// Figures of a report: SVG and canvas drawn from columns of numbers
import { colour, count, figure, hint, make, seconds, short, ticks, wide } from "./drawing.js";

const HUES = ["compute", "pull", "load", "exchange", "compile", "unpack", "pack", "build", "validate", "output"];
export const hues = names => Object.fromEntries(names.map((name, i) => [name, colour(HUES[i % HUES.length])]));

export function section(title, note, ...children) {
  return make("section", {}, make("h2", {}, title), make("p", { class: "note" }, note), ...children);
}

// stacked bars: edges of every thread block, by kernel; columns: kernel → edges, of equal length
export function profile(columns, group, most, of, width = wide(), high = 110) {
  const names = Object.keys(columns),
    n = columns[names[0]].length,
    left = 62,
    top = 8,
    w = (width - left - 10) / n;
  const totals = Array.from({ length: n }, (_, i) => names.reduce((sum, name) => sum + columns[name][i], 0)),
    mean = totals.reduce((a, b) => a + b, 0) / n;
  const y = value => top + high * (1 - value / Math.max(most, 1));
  const svg = make("svg", { viewBox: `0 0 ${width} ${top + high + 18}`, width, role: "img" });
  for (const at of ticks(most).filter((_, i) => i % 2 === 0)) svg.append(make("line", { class: "rule", x1: left,
    x2: width - 10, y1: y(at), y2: y(at) }), make("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, short(
    at)));
  for (let i = 0; i < n; i += 1) {
    let at = 0;
    for (const name of names) {
      const value = columns[name][i];
      if (value > 0) svg.append(make("rect", { x: left + i * w, y: y(at + value), width: Math.max(w - (w > 3 ? 1 :
        0), 0.4), height: Math.max(y(at) - y(at + value), 0.3), fill: of[name] }));
      at += value;
    }
  }
  svg.append(make("line", { x1: left, x2: width - 10, y1: y(mean), y2: y(mean), stroke: "var(--ink)",
    "stroke-dasharray": "4 4", opacity: 0.7 }));
  for (let i = 0; i < n; i += Math.ceil(n * 90 / width)) svg.append(make("text", { x: left + (i + 0.5) * w, y: top + high +
      14, "text-anchor": "middle" }, count(i * group)));
  return hint(svg, event => {
    const box = svg.getBoundingClientRect(),
      i = Math.floor(((event.clientX - box.left) / box.width * width - left) / w);
    if (!(i >= 0 && i < n)) return "";
    const parts = names.filter(name => columns[name][i]).map(name => `${name} ${count(columns[name][i])}`);
    return `block ${count(i * group)}${group > 1 ? ` to ${count((i + 1) * group - 1)}, the fullest` : ""}\n${count(totals[i])} edges\n${parts.join("\n")}`;
  });
}

// heat map of a matrix, dark is large, log scale; hint(row, column): text at the pointer
export function map(rows, text, width = 0, write = null) {
  const high = rows.length,
    cells = rows[0].length;
  const cell = width ? 0 : Math.max(3, Math.min(58, Math.floor(wide(460) / Math.max(high, cells))));
  const w = width ? Math.max(1, Math.floor(width / cells)) : cell,
    h = width ? Math.max(3, Math.min(18, Math.floor(320 / high))) : cell;
  const canvas = make("canvas", { width: w * cells, height: h * high }),
    draw = canvas.getContext("2d");
  Object.assign(draw, { font: "11px system-ui, DejaVu Sans, sans-serif", textAlign: "center",
    textBaseline: "middle" });
  let least = Infinity,
    most = 0;
  for (const row of rows)
    for (const value of row)
      if (value > 0) { least = Math.min(least, value);
        most = Math.max(most, value); }
  const span = Math.log(most / least) || 1;
  for (let i = 0; i < high; i += 1)
    for (let j = 0; j < cells; j += 1) {
      const value = rows[i][j],
        share = value > 0 ? 0.12 + 0.88 * (most === least ? 1 : Math.log(value / least) / span) : 0;
      draw.fillStyle = value > 0 ? `hsl(${205 + 20 * share}, ${55 - 5 * share}%, ${92 - 66 * share}%)` :
        "rgba(128,128,128,0.12)";
      draw.fillRect(j * w, i * h, w > 3 ? w - 1 : w, h > 3 ? h - 1 : h);
      if (write && w >= 44) {
        draw.fillStyle = share > 0.5 ? "#ffffff" : "#1c2330";
        draw.fillText(write(value), (j + 0.5) * w, (i + 0.5) * h);
      }
    }
  return hint(canvas, event => {
    const box = canvas.getBoundingClientRect();
    const i = Math.floor((event.clientY - box.top) / box.height * high),
      j = Math.floor((event.clientX - box.left) / box.width * cells);
    return rows[i] && rows[i][j] !== undefined ? text(i, j) : "";
  });
}

export function ranksOf(i, group, last) {
  return group === 1 ? `rank ${i}` : `ranks ${i * group} to ${Math.min((i + 1) * group, last) - 1}`;
}

// time (bars) and frontier (line, log scale) of every round
export function rounds(series) {
  const n = series.round.length,
    left = 62,
    right = 62,
    width = wide(),
    top = 12,
    high = 170,
    w = (width - left - right) / n;
  const most = Math.max(...series.seconds, 1e-12),
    crowd = Math.max(...series.vertices, 1);
  const y = value => top + high * (1 - value / most),
    level = value => top + high * (1 - Math.log10(1 + value) / Math.log10(1 + crowd));
  const svg = make("svg", { viewBox: `0 0 ${width} ${top + high + 26}`, width, role: "img" });
  for (const at of ticks(most)) {
    svg.append(make("line", { class: "rule", x1: left, x2: width - right, y1: y(at), y2: y(at) }), make(
    "text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, seconds(at)));
  }
  for (let power = 0; 10 ** power <= crowd; power += Math.ceil(Math.log10(crowd + 1) / 5) || 1)
    svg.append(make("text", { x: width - right + 6, y: level(10 ** power) + 4 },
      `10${[...String(power)].map(digit => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`));
  for (let i = 0; i < n; i += 1) {
    svg.append(make("rect", { x: left + i * w, y: y(series.seconds[i]), width: Math.max(w - (w > 3 ? 1 : 0), 0.4),
      height: Math.max(top + high - y(series.seconds[i]), 0.5), fill: colour(series.direction[i]) }));
  }
  if (series.schedule) {
    const of = hues([...new Set(series.schedule.filter(Boolean))]);
    for (let i = 0; i < n; i += 1)
      if (series.schedule[i]) svg.append(make("rect", { x: left + i * w, y: top + high + 1, width: Math.max(w, 0.4),
        height: 4, fill: of[series.schedule[i]] }));
  }
  const line = series.vertices.map((value, i) =>
    `${i ? "L" : "M"}${(left + (i + 0.5) * w).toFixed(1)} ${level(value).toFixed(1)}`).join("");
  svg.append(make("path", { d: line, fill: "none", stroke: "var(--ink)", "stroke-width": 1.3, opacity: 0.75 }));
  for (let i = 0; i < n; i += Math.ceil(n * 70 / width)) svg.append(make("text", { x: left + (i + 0.5) * w, y: top + high +
      16, "text-anchor": "middle" }, count(series.round[i])));
  return hint(svg, event => {
    const box = svg.getBoundingClientRect(),
      i = Math.floor(((event.clientX - box.left) / box.width * width - left) / w);
    if (!(i >= 0 && i < n)) return "";
    const schedule = series.schedule && series.schedule[i] ? `, ${series.schedule[i]}` : "";
    return `round ${count(series.round[i])}: ${series.direction[i]}${schedule}\n${seconds(series.seconds[i])}\n${count(series.vertices[i])} vertices, ${count(series.edges[i])} edges${series.lines ? `\n${series.lines[i]}` : ""}`;
  });
}

export function table(head, rows) {
  return make("table", {}, make("tr", {}, ...head.map(text => make("th", {}, text))),
    ...rows.map(row => make("tr", {}, ...row.map((text, i) => make("td", { "data-name": head[i] }, text)))));
}

// strong scaling: time against ranks, both on log scales, one line a group
export function scaling(rows) {
  const left = 70,
    width = wide(),
    top = 14,
    high = 300,
    right = 30,
    groups = [...new Set(rows.map(row => row.group))];
  const lines = groups.map(group => rows.filter(row => row.group === group && row.seconds > 0).sort((a, b) => a.ranks - b
    .ranks || a.seconds - b.seconds)).filter(line => line.length);
  const ideal = line => line[0].seconds * line[0].ranks / line[line.length - 1].ranks;
  const logs = lines.flatMap(line => [...line.map(row => row.seconds), ideal(line)]).map(Math.log2);
  const ranks = rows.map(row => Math.log2(row.ranks)),
    low = Math.min(...logs) - 0.5,
    top2 = Math.max(...logs) + 0.5;
  const first = Math.min(...ranks) - 0.2,
    last = Math.max(...ranks) + 0.2;
  const x = value => left + (width - left - right) * (Math.log2(value) - first) / (last - first),
    y = value => top + high * (top2 - Math.log2(value)) / (top2 - low);
  const svg = make("svg", { viewBox: `0 0 ${width} ${top + high + 34}`, width, role: "img" });
  for (let power = Math.ceil(low); power <= top2; power += Math.ceil((top2 - low) / 8))
    svg.append(make("line", { class: "rule", x1: left, x2: width - right, y1: y(2 ** power), y2: y(2 ** power) }),
      make("text", { x: left - 6, y: y(2 ** power) + 4, "text-anchor": "end" }, seconds(2 ** power)));
  for (const p of new Set(rows.map(row => row.ranks))) svg.append(make("text", { x: x(p), y: top + high +
    16, "text-anchor": "middle" }, `${p}`));
  svg.append(make("text", { x: (left + width) / 2, y: top + high + 31, "text-anchor": "middle" }, "ranks"));
  const hues = ["compute", "exchange", "load", "unpack", "compile", "pack"];
  for (const line of lines) {
    const hue = colour(hues[line[0].group % hues.length]);
    svg.append(make("line", { x1: x(line[0].ranks), y1: y(line[0].seconds), x2: x(line[line.length - 1].ranks), y2: y(
        ideal(line)), stroke: "var(--soft)", "stroke-dasharray": "4 4" }));
    svg.append(make("path", { d: line.map((row, i) => `${i ? "L" : "M"}${x(row.ranks)} ${y(row.seconds)}`).join(""),
      fill: "none", stroke: hue, "stroke-width": 2 }));
    for (const row of line) svg.append(hint(make("circle", { cx: x(row.ranks), cy: y(row.seconds), r: 4.5,
        fill: hue }),
      `${row.label}\n${row.ranks} ranks: ${seconds(row.seconds)}\nspeed-up ${figure(row.speedup, 3)}, efficiency ${figure(100 * row.efficiency, 3)} %`
      ));
  }
  return svg;
}
