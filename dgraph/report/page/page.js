// the page: which figures a run gets, and a comparison of several
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("page");

function show(run) {
  const card = (value, name, bad) => make("div", { class: bad ? "card bad" : "card" }, make("b", {}, value), make(
    "span", {}, name));
  const sent = run.pairs.bytes.flat().reduce((a, b) => a + b, 0),
    ranks = run.walls.length;
  const share = value => value === null ? "–" : `${figures(100 * value, 3)} %`;
  const nodes = [
    make("h1", {}, run.title), make("code", {}, `${run.command}  ·  ${run.created}`),
    make("div", { class: "cards" },
      card(run.converged ? "done" : "stopped", `${count(run.rounds)} rounds`, !run.converged),
      card(time(run.solving), "in rounds, slowest rank"), card(time(run.wall), "in all"), card(count(ranks),
        `rank${ranks > 1 ? "s" : ""} on ${new Set(run.hosts).size} host${new Set(run.hosts).size > 1 ? "s" : ""}`
        ),
      card(share(run.balance), "balance: mean ÷ largest compute"), card(share(run.communication),
        "compute ÷ time in rounds"),
      card(size(sent), "sent in all"), card(size(Math.max(...run.memory)), "memory, largest rank")),
    make("ul", { class: "facts" }, ...run.facts.map(text => make("li", text.startsWith("warning") ?
    { class: "warning" } : {}, text))),
    section("Rounds, by rank",
      "Where the time of the rounds went. Exchange is time in which a rank did nothing but communicate, idle the wait for the slowest rank of each round.",
      legend(PARTS), bars(run.parts, PARTS, time)),
  ];
  if (run.series.round.length) {
    const shown = run.series.round.length < run.series.of ?
      ` ${count(run.series.round.length)} of ${count(run.series.of)} rounds are shown.` : "";
    const strip = run.series.schedule ? " Below the bars: what spread the edges over a GPU's threads." : "";
    nodes.push(section("Rounds, one by one",
      `Bars: seconds on rank 0, by direction. Line: vertices of the frontier, over all ranks (right, powers of ten).${strip}${shown}`,
      legend([...new Set(run.series.direction)]), ...(run.series.schedule ? [scheduled(run.series)] : []),
      rounds(run.series)));
  }
  if (run.map && ranks > 1) {
    const m = run.map;
    nodes.push(section("Compute, by rank and round",
      "A row a rank, a column a round; dark is much, on a scale of logarithms. A dark row is a rank with too much work, a dark column a costly round.",
      map(m.microseconds, (i, j) =>
        `${ranksOf(i, m.ranks, ranks)}, round ${count(m.first[j])}\ncompute ${time(m.microseconds[i][j] / 1e6)}`,
        1040)));
  }
  if (run.load) nodes.push(loads(run.load, ranks));
  if (run.kernels) nodes.push(section("GPU kernels, by rank",
    "Seconds between events before and after every launch, added up; the rest of compute is the host's.",
    legend(Object.keys(run.kernels), hues(Object.keys(run.kernels))), bars(run.kernels, Object.keys(run.kernels),
      time, [], 1040, hues(Object.keys(run.kernels)))));
  const phases = Object.keys(run.phases);
  nodes.push(section("The whole run, by rank",
    "From the start to the report. Compile and init are of all programs; what is left to the wall time was in none of these.",
    legend(phases), bars(run.phases, phases, time)));
  const pair = make("div", { class: "pair" });
  if (sent) {
    const p = run.pairs;
    pair.append(section("Bytes from rank to rank",
      "Rows send, columns receive; dark is much, on a scale of logarithms.",
      map(p.bytes, (i, j) =>
        `${ranksOf(i, p.group, ranks)} to ${ranksOf(j, p.group, ranks)}\n${size(p.bytes[i][j])} in ${count(p.messages[i][j])} messages`,
        0, value => value ? size(value) : "")));
  }
  pair.append(section("Memory, by rank", run.planned.some(Boolean) ?
    "The most that a process held; the stroke is what was planned." : "The most that a process held.",
  bars({ memory: run.memory }, ["memory"], size, run.planned, 480)));
  if (run.gpu) pair.append(section("GPU memory, by rank",
    "The most that arrays took at once; the stroke is what was planned before the first was allocated.",
    bars({ memory: run.gpu.peak }, ["memory"], size, run.gpu.planned, 480)));
  nodes.push(pair);
  const columns = Object.entries(run.counts),
    parts = PARTS.map(name => [NAMES[name] && name === "agree" ? "idle" : name, run.parts[name]]);
  nodes.push(section("Figures", "", table(["rank", "host", ...columns.map(([name]) => name), ...parts.map(([
      name]) => name), "wall", "memory"],
    run.walls.slice(0, 256).map((wall, r) => [String(r), run.hosts[r], ...columns.map(([, c]) => count(c[r])),
      ...parts.map(([, c]) => time(c[r])), time(wall), size(run.memory[r])
    ]))));
  return nodes;
}

function scheduled(series) {
  const names = [...new Set(series.schedule.filter(Boolean))];
  return legend(names, hues(names));
}

function loads(load, ranks) {
  const names = [...new Set(load.profiles.flatMap(one => Object.keys(one.columns)))],
    of = hues(names);
  const whose = ranks > 1 ? ` Of rank ${load.rank}, whose blocks are least even.` : "";
  const rows = ["block", "warp", "thread"].map(unit => [unit, ...["min", "mean", "max", "deviation", "ratio"].map(
    key => load[unit][key] === null ? "–" : figures(load[unit][key], 4))]);
  return section("Load by thread block",
    `Edges that each thread block of the GPU visited, by kernel; dashed: their mean.${whose} The first rounds, those of most edges, and all together.`,
    legend(names, of), ...load.profiles.flatMap(one => [make("p", { class: "note" }, one.title), profile(one.columns,
      one.group, one.most, of)]),
    table(["edges by", "fewest", "mean", "most", "deviation", "most ÷ mean"], rows));
}

function compared(rows) {
  const several = new Set(rows.map(row => row.group)).size > 1;
  const note =
    "Seconds from a graph in memory to the answer, without compilation, on the slowest rank. Dashed: a time that falls as ranks grow. " +
    (several ? "Lines of different colours differ in graph, algorithm or parameters: compare within a line." :
      "All runs solved the same problem.");
  return [make("h1", {}, `${rows.length} runs`), section("Strong scaling", note, scaling(rows)),
    section("Figures",
      "Speed-up and efficiency are against the run of fewest ranks on the same problem. Rest is what the largest compute does not explain: communication that nothing hid.",
      table(["run", "ranks", "seconds", "compute", "rest", "balance", "sent", "memory", "speed-up", "efficiency"],
        rows.map((row, i) => [`${i + 1}  ${row.label}`, count(row.ranks), time(row.seconds), time(row.compute),
          time(Math.max(row.seconds - row.compute, 0)), figures(row.balance, 3), size(row.bytes), size(row
            .memory), figures(row.speedup, 3), `${figures(100 * row.efficiency, 3)} %`
        ])))
  ];
}

function open(chosen) {
  main.replaceChildren();
  if (data.runs.length > 1) {
    const button = (text, at) => {
      const node = make("button", { type: "button", "aria-pressed": String(at === chosen) }, text);
      node.addEventListener("click", () => open(at));
      return node;
    };
    main.append(make("nav", {}, button("compare", -1), ...data.runs.map((run, i) => button(
      `${i + 1}: ${run.walls.length} ranks`, i))));
  }
  main.append(...(chosen < 0 ? compared(data.rows) : show(data.runs[chosen])));
}
open(data.runs.length > 1 ? -1 : 0);
document.documentElement.dataset.drawn = "yes";
