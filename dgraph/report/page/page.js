// The page: sections of one run, and the comparison of several
import { PARTS, bars, bytes, count, figure, legend, make, seconds, wide } from "./drawing.js";
import { hues, map, profile, ranksOf, rounds, scaling, section, table } from "./figures.js";

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("page");

// unit of a column → text of a value; the columns come from the table dgraph/report/fields.py
const WRITTEN = { "s": seconds, "B": bytes, "": count, ratio: value => figure(value, 3),
  share: value => `${figure(100 * value, 3)} %` };
const cells = (columns, i) => columns.map(column => WRITTEN[column.unit](column.values[i]));

function show(run) {
  const card = (value, name, bad) => make("div", { class: bad ? "card bad" : "card" }, make("b", {}, value), make(
    "span", {}, name));
  const sent = run.pairs.bytes.flat().reduce((a, b) => a + b, 0),
    ranks = run.walls.length;
  const share = value => value === null ? "–" : `${figure(100 * value, 3)} %`;
  const nodes = [
    make("h1", {}, run.title), make("code", {}, `${run.command}  ·  ${run.created}`),
    ...run.verdict.map(text => make("p", { class: text.startsWith("try") ? "advice" : "verdict" }, text)),
    make("div", { class: "cards" },
      card(run.converged ? "converged" : "not converged", `${count(run.rounds)} rounds`, !run.converged),
      card(seconds(run.rounds_time), "in rounds, slowest rank"), card(seconds(run.wall), "wall time"), card(count(ranks),
        `rank${ranks > 1 ? "s" : ""} on ${new Set(run.hosts).size} host${new Set(run.hosts).size > 1 ? "s" : ""}`
        ),
      card(run.imbalance === null ? "–" : figure(run.imbalance, 3), "imbalance: max/mean compute"),
      card(share(run.compute_share), "max compute ÷ time in rounds"),
      card(bytes(sent), "bytes sent"), card(bytes(Math.max(...run.memory)), "peak memory, max rank")),
    make("ul", { class: "facts" }, ...run.facts.map(text => make("li", text.startsWith("warning") ?
    { class: "warning" } : {}, text))),
    section("Rounds, by rank",
      "Time of each rank in rounds. Exchange is communication that nothing overlaps, idle the wait for the slowest rank of each round.",
      legend(PARTS), bars(run.parts, seconds)),
  ];
  if (run.series.round.length) {
    const shown = run.series.round.length < run.series.of ?
      ` ${count(run.series.round.length)} of ${count(run.series.of)} rounds are shown.` : "";
    const strip = run.series.schedule ? " Below the bars: the schedule of edges on the GPU." : "";
    nodes.push(section("Rounds, one by one",
      `Bars: time on rank 0, by direction. Line: frontier vertices of all ranks (right axis, log scale).${strip}${shown}`,
      legend([...new Set(run.series.direction)]), ...(run.series.schedule ? [scheduled(run.series)] : []),
      rounds(run.series)));
  }
  if (run.map && ranks > 1) {
    const m = run.map;
    nodes.push(section("Compute, by rank and round",
      "Row: rank. Column: round. Dark is more, on a log scale. A dark row is a rank with too much work, a dark column a costly round.",
      map(m.microseconds, (i, j) =>
        `${ranksOf(i, m.ranks, ranks)}, round ${count(m.first[j])}\ncompute ${seconds(m.microseconds[i][j] / 1e6)}`,
        wide())));
  }
  if (run.load) nodes.push(loads(run.load, ranks));
  if (run.kernels) nodes.push(section("GPU kernels, by rank",
    "Time between events before and after every launch, summed; the rest of compute is the host's.",
    legend(Object.keys(run.kernels), hues(Object.keys(run.kernels))), bars(run.kernels, seconds,
      { of: hues(Object.keys(run.kernels)) })));
  const phases = Object.keys(run.phases);
  nodes.push(section("The whole run, by rank",
    "From the start to the report. Compile and init cover all programs; other is time in no phase.",
    legend(phases), bars(run.phases, seconds)));
  const pair = make("div", { class: "pair" });
  if (sent) {
    const p = run.pairs;
    pair.append(section("Bytes from rank to rank",
      "Row: sender. Column: receiver. Dark is more, on a log scale.",
      map(p.bytes, (i, j) =>
        `${ranksOf(i, p.group, ranks)} to ${ranksOf(j, p.group, ranks)}\n${bytes(p.bytes[i][j])} in ${count(p.messages[i][j])} messages`,
        0, value => value ? bytes(value) : "")));
  }
  pair.append(section("Peak memory, by rank", run.planned.some(Boolean) ?
    "Peak of each process; the stroke is the plan." : "Peak of each process.",
  bars({ memory: run.memory }, bytes, { width: wide(480), marks: run.planned })));
  if (run.gpu) pair.append(section("GPU peak memory, by rank",
    "Peak of the arrays; the stroke is the plan made before the first allocation.",
    bars({ memory: run.gpu.peak }, bytes, { width: wide(480), marks: run.gpu.planned })));
  nodes.push(pair);
  nodes.push(section("Figures", "", table(["rank", "host", ...run.columns.map(column => column.name)],
    run.hosts.slice(0, 256).map((host, r) => [String(r), host, ...cells(run.columns, r)]))));
  return nodes;
}

function scheduled(series) {
  const names = [...new Set(series.schedule.filter(Boolean))];
  return legend(names, hues(names));
}

function loads(load, ranks) {
  const names = [...new Set(load.profiles.flatMap(one => Object.keys(one.columns)))],
    of = hues(names);
  const whose = ranks > 1 ? ` Rank ${load.rank}, whose blocks are the most uneven.` : "";
  const rows = ["block", "warp", "thread"].map(unit => [unit, ...["min", "mean", "max", "deviation", "ratio"].map(
    key => load[unit][key] === null ? "–" : figure(load[unit][key], 4))]);
  return section("Load by thread block",
    `Edges that each thread block of the GPU visited, by kernel; dashed: their mean.${whose} The first rounds, the heaviest rounds, and all rounds.`,
    legend(names, of), ...load.profiles.flatMap(one => [make("p", { class: "note" }, one.title), profile(one.columns,
      one.group, one.most, of)]),
    table(["edges by", "min", "mean", "max", "deviation", "max/mean"], rows));
}

function compared(rows, columns, phases, differences) {
  const names = rows.map((row, i) => `${i + 1}  ${row.label}`),
    scales = new Set(rows.map(row => row.ranks)).size > 1;
  const several = new Set(rows.map(row => row.group)).size > 1;
  const note =
    "Time from a graph in memory to the answer, without compilation, on the slowest rank. Dashed: ideal scaling. " +
    (several ? "Lines of different colours differ in graph, algorithm or parameters: compare within a line." :
      "All runs solved the same problem.");
  const all = list => table(["run", ...list.map(column => column.name)], names.map((name, i) => [name, ...cells(list, i)]));
  return [make("h1", {}, `${rows.length} runs`),
    differences.length ? section("What differs", "All other choices, the version and the machine are the same.",
      table(["run", ...differences.map(([name]) => name)], names.map((name, i) => [name, ...differences.map(([,
        values]) => values[i])]))) : null,
    scales ? section("Strong scaling", note, scaling(rows)) : null,
    section("Figures", (scales ?
      "Speed-up and efficiency are relative to the run of fewest ranks on the same problem. " : "") +
      "Compute is of the slowest rank, communication the rest of the slowest rank's rounds. Seconds also have the start of programs.", all(columns)),
    section("Phases", "Seconds of the whole run, mean of ranks.", all(phases)),
  ].filter(Boolean);
}

function open(run) {
  chosen = run;
  main.replaceChildren();
  if (data.runs.length > 1) {
    const button = (text, at) => {
      const node = make("button", { type: "button", "aria-pressed": String(at === chosen) }, text);
      node.addEventListener("click", () => open(at));
      return node;
    };
    main.append(make("nav", {}, button("compare", -1), ...data.runs.map((run, i) => button(
      `${i + 1}: ${run.walls.length} rank${run.walls.length > 1 ? "s" : ""}`, i))));
  }
  main.append(...(chosen < 0 ? compared(data.rows, data.columns, data.phases, data.differences) : show(data.runs[chosen])));
}
let chosen = data.runs.length > 1 ? -1 : 0, width = wide();
open(chosen);
addEventListener("resize", () => {
  if (wide() === width) return;
  width = wide();
  open(chosen);
});
document.documentElement.dataset.drawn = "yes";
