// The page: polls graphs, jobs and health, follows the chosen job's events, and draws what changed.
import { call, follow } from "./api.js";
import { PARTS, bars, bytes, count, figure, legend, make, seconds } from "./drawing.js";
import { ago, breakdown, named, rounds, table } from "./figures.js";
import { fill, read } from "./form.js";
import { figureNodes, look, requested } from "./pictures.js";
import { every, notice } from "./polls.js";
import { themed } from "./theme.js";

const at = id => document.getElementById(id);
const ENDED = ["done", "failed", "cancelled"];
const TOP = 10;
const CLASSES = ["labels", "community"]; // columns whose values name classes: the largest name says nothing, the figure has sizes
const state = { graphs: [], jobs: [], cursors: [], algorithms: [], chosen: null, record: null, points: [], phase: "", report: null, rows: null, figures: [], stop: () => {} };
const drawn = {};

// Draws a part of the page only if what it shows has changed, so that focus and selection stay.
function draw(id, shown, nodes) {
  const key = JSON.stringify(shown);
  if (drawn[id] === key) return;
  const made = nodes().filter(Boolean), old = document.activeElement;
  const kept = old && at(id).contains(old) ? old.dataset.key : null;
  at(id).replaceChildren(...made);
  drawn[id] = key;
  if (kept) at(id).querySelector(`[data-key="${CSS.escape(kept)}"]`)?.focus();
}

// The width of a figure in a part of the page
const width = id => Math.max(at(id).clientWidth, 240);

const pill = name => make("span", { class: `pill ${name}` }, name);
const empty = text => make("p", { class: "empty" }, text);

async function health() {
  let found;
  try {
    found = await call("GET", "/healthz");
  } catch (error) {
    at("health").replaceChildren(make("span", { class: "dot down" }), "the service does not answer");
    throw error;
  }
  const up = found.ranks === "up", running = state.jobs.filter(job => job.state === "running").length;
  const waiting = state.jobs.filter(job => job.state === "queued").length;
  const words = [up ? "ranks up" : `ranks ${found.ranks}: jobs wait`];
  if (running) words.push(`${running} running`);
  if (waiting) words.push(`${waiting} queued`);
  if (!running && !waiting) words.push("idle");
  if (found.restarts) words.push(`${found.restarts} restart${found.restarts > 1 ? "s" : ""}`);
  draw("health", words, () => [make("span", { class: `dot ${up ? "up" : "waiting"}` }), words.join(" · ")]);
}

async function graphs() {
  state.graphs = (await call("GET", "/v1/graphs")).graphs;
  const most = Math.max(...state.graphs.flatMap(each => each.bytes_by_rank || []), 0);
  draw("graphs-body", state.graphs, () => state.graphs.length ? [make("ul", { class: "graphs" }, ...state.graphs.map(each => graph(each, most)))]
    : [empty("No graph is loaded. Load one below: a file of the data root, or a generator such as grid:900x900.")]);
  if (!state.graphs.length && !at("loader").dataset.seen) at("loader").open = at("loader").dataset.seen = true;
  const names = state.graphs.filter(each => each.state !== "failed").map(each => each.name);
  const before = at("graph").value;
  draw("graph", names, () => names.map(name => make("option", { value: name, dir: "auto" }, name)));
  if (names.includes(before)) at("graph").value = before;
  at("ask").querySelector(".main").disabled = at("estimate").disabled = !names.length;
}

// Shows a graph; most: the largest number of bytes of any graph on a rank.
function graph(each, most) {
  const facts = each.facts || {}, held = each.bytes_by_rank || [];
  const size = held.reduce((sum, value) => sum + value, 0);
  const words = each.state === "ready"
    ? `${count(facts.n)} vertices · ${count(facts.m)} ${facts.directed ? "arcs" : "edges"}${facts.weight_type ? " · weighted" : ""}${each.version > 1 ? ` · version ${each.version}` : ""} · ${bytes(size)}`
    : each.state === "loading" ? "loading; jobs on it wait" : `failed: ${(each.error || {}).message || (each.error || {}).detail || "see the log"}`;
  return make("li", {},
    make("p", { class: "title" }, make("b", {}, named(each.name)), each.state === "ready" ? null : pill(each.state), each.pinned ? make("span", { class: "pill" }, "pinned") : null,
      make("button", { type: "button", class: "quiet", "data-key": `pin-${each.name}`, onclick: () => change("PATCH", each.name, { pinned: !each.pinned }) }, each.pinned ? "Unpin" : "Pin"),
      make("button", { type: "button", class: "quiet", "data-key": `drop-${each.name}`, disabled: each.pinned, "aria-label": `Remove ${each.name}`, onclick: event => confirmed(event.target, () => change("DELETE", each.name)) }, "Remove")),
    make("p", { class: each.state === "failed" ? "bad" : "note" }, named(words)),
    held.length > 1 ? bars({ memory: held }, bytes, { width: width("graphs-body"), full: most }) : null);
}

// Asks once more before something is removed.
function confirmed(button, act) {
  if (button.dataset.sure) return act();
  const before = button.textContent;
  button.dataset.sure = "1";
  button.textContent = "Really remove?";
  setTimeout(() => { delete button.dataset.sure; button.textContent = before; }, 4000);
}

async function change(method, name, body) {
  try {
    await call(method, `/v1/graphs/${encodeURIComponent(name)}`, body);
    notice(null);
    await graphs();
  } catch (error) { notice(error); }
}

async function jobs() {
  let page = await call("GET", "/v1/jobs?limit=30");
  state.jobs = page.jobs;
  const cursors = state.cursors, cursor = cursors[cursors.length - 1];
  if (cursor) page = await call("GET", `/v1/jobs?limit=30&cursor=${encodeURIComponent(cursor)}`);
  const shown = page.jobs.map(job => [job.id, job.state, job.rounds ?? job.round, job.seconds, ago(job.created), state.chosen]);
  draw("jobs-body", [shown, cursors, page.cursor], () => page.jobs.length ? [table(
    [["Job", ""], ["Graph", ""], ["State", ""], ["Rounds", "number wide"], ["Time", "number"], ["Submitted", "number wide"]],
    page.jobs.map(job => make("tr", { class: job.id === state.chosen ? "chosen" : "" },
      make("td", { class: "name" }, make("a", { class: "target", "data-key": job.id, href: address(job.id), "aria-current": job.id === state.chosen ? "true" : null }, job.algorithm), brief(job) ? make("bdi", { class: "brief wide" }, brief(job)) : null),
      make("td", { class: "name" }, make("bdi", { class: "clip", title: job.graph }, job.graph)), make("td", {}, pill(job.state)), make("td", { class: "number wide" }, count(job.rounds ?? job.round)),
      make("td", { class: "number" }, job.cached ? "cached" : seconds(job.seconds)), make("td", { class: "number wide" }, ago(job.created)))),
    "Jobs, the newest first"), turns(page.cursor)] : [empty("No job has run yet. Choose a graph and an algorithm, and press Run.")]);
}

// Draws the jobs before their next poll, which has the notice if this fails.
const redraw = () => jobs().catch(() => null);

// Buttons for the pages of older and newer jobs; null if there is one page.
function turns(next) {
  const turn = (name, cursors) => make("button", { type: "button", class: "quiet", "data-key": name, onclick: () => { state.cursors = cursors; jobs().catch(notice); } }, name);
  const { cursors } = state;
  if (!next && !cursors.length) return null;
  return make("p", { class: "actions" }, cursors.length ? turn("Newer", cursors.slice(0, -1)) : null, next ? turn("Older", [...cursors, next]) : null);
}

// The address of a job within the page; opening it, or reloading the page, shows the job.
const address = id => `#job/${encodeURIComponent(id)}`;

async function opened() {
  if (!location.hash.startsWith("#job/")) return;
  try {
    const id = decodeURIComponent(location.hash.slice(5));
    if (!id || id === state.chosen) return;
    choose(state.jobs.find(job => job.id === id) || await call("GET", `/v1/jobs/${encodeURIComponent(id)}`));
  } catch (error) { notice(error); }
}

// Shows a job, and follows it to its end.
function choose(job) {
  state.stop();
  if (location.hash !== address(job.id)) history[state.chosen ? "pushState" : "replaceState"](null, "", address(job.id));
  Object.assign(state, { chosen: job.id, record: job, points: [], phase: "", report: null, rows: null, figures: [], stop: () => {} });
  showJob();
  if (ENDED.includes(job.state)) return ended();
  let waiting = false;
  state.stop = follow(job.id, (kind, data) => {
    if (kind === "round") state.points.push({ round: data.round, active: data.active });
    if (kind === "phase") state.phase = data.phase;
    if (kind === "state") state.record = { ...state.record, ...data };
    if (kind === "round") state.record = { ...state.record, round: data.round };
    if (kind === "state" && ENDED.includes(data.state)) return ended();
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; showJob(); });
  });
  redraw();
}

async function ended() {
  const id = state.chosen, path = `/v1/jobs/${encodeURIComponent(id)}`;
  try {
    const record = await call("GET", path);
    if (state.chosen !== id) return;
    state.record = record;
    showJob();
    redraw();
    if (record.state !== "done") return;
    const wanted = [call("GET", `${path}/report`).catch(() => null)];
    if (record.mode === "stream") wanted.push(call("GET", `${path}/result?format=json&top=${TOP}`).catch(error => ({ error: error.message })));
    const [report, rows] = await Promise.all(wanted);
    if (state.chosen !== id) return;
    Object.assign(state, { report, rows: rows || null });
    showJob();
    await pictures();
  } catch (error) { notice(error); }
}

// Requests the figures of the chosen job anew, in the page's width and colours; answers that a later request overtook
// are dropped.
let requests = 0;
async function pictures() {
  const id = state.chosen, job = state.record, kinds = [], mine = ++requests;
  if (!job || job.state !== "done") return;
  if (job.mode === "stream") kinds.push(null);
  if ((state.report?.rounds?.kept || []).some(row => "residual" in row)) kinds.push("convergence");
  const figures = await requested(id, kinds, look(width("job-body")));
  if (mine !== requests || state.chosen !== id) return;
  state.figures = figures;
  showJob();
}

const given = job => Object.entries(job.parameters || {}).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`);

// A job's parameters and mode in few words.
function brief(job) {
  const words = [...given(job), ...(job.mode === "stream" ? [] : [job.mode])].join(" · ");
  return words.length > 48 ? `${words.slice(0, 47)}…` : words;
}

function showJob() {
  const job = state.record, live = !ENDED.includes(job.state);
  at("job").setAttribute("aria-busy", String(live));
  draw("job-body", [job, state.points.length, state.phase, state.report !== null, state.rows, state.figures], () => {
    const facts = [`${count(job.rounds ?? job.round)} rounds`];
    if (job.seconds !== null && job.seconds !== undefined) facts.push(job.cached ? "answered from the cache" : seconds(job.seconds));
    if (live && state.phase && !state.points.length) facts.push(state.phase);
    const summary = Object.entries(job.summary || {}).filter(([, value]) => typeof value !== "object" || value === null);
    return [
      make("p", { class: "title" }, make("b", {}, `${job.algorithm} on `, named(job.graph)), pill(job.state),
        live ? make("button", { type: "button", class: "danger", "data-key": "cancel", onclick: cancel }, "Cancel") : null),
      make("p", { class: "note" }, ...[...given(job), ...facts].flatMap((word, i) => [i ? " · " : "", named(word)])),
      job.error ? make("p", { class: "bad" }, named(job.error.message || job.error.detail || String(job.error))) : null,
      job.state === "cancelled" ? make("p", { class: "note" }, "It was cancelled; its record stays in the list.") : null,
      job.converged === false ? make("p", { class: "bad" }, `Not converged: stopped after ${job.limit}.`) : null,
      summary.length ? make("dl", { class: "facts" }, ...summary.map(([name, value]) => make("div", {}, make("dt", {}, named(name.replaceAll("_", " "))),
        make("dd", {}, typeof value === "number" ? Number.isInteger(value) ? count(value) : figure(value, 5) : named(String(value)))))) : null,
      ...answerRows(job), ...figureNodes(state.figures), ...roundsFigure(), ...rankFigures(),
    ];
  });
}

function answerRows(job) {
  if (!state.rows) return [];
  if (state.rows.error) return [make("h3", {}, "Answer"), make("p", { class: "note" }, state.rows.error)];
  const names = Object.keys(state.rows.columns), columns = Object.values(state.rows.columns), path = `/v1/jobs/${encodeURIComponent(job.id)}/result`;
  const cell = (value, i) => value === null ? "–" : typeof value !== "number" ? named(String(value)) : i === 0 ? String(value) : Number.isInteger(value) ? count(value) : figure(value, 6);
  const rows = (columns[0] || []).map((_, i) => make("tr", {}, ...columns.map((values, at) => make("td", { class: typeof values[i] === "string" ? "name" : "number" }, cell(values[i], at)))));
  const classes = CLASSES.includes(names[1]);
  return [make("h3", {}, names[1] && !classes ? `Largest ${names[1].replaceAll("_", " ")}` : "Answer"),
    classes ? null : rows.length ? table(names.map((name, at) => [name.replaceAll("_", " "), columns[at].some(value => typeof value === "string") ? "name" : "number"]), rows, "First rows of the answer") : empty("No row has a value."),
    make("p", { class: "note" }, `${count(state.rows.rows)} rows in all: `, ...["csv", "arrow", "parquet", "json"].flatMap((kind, i) => [i ? " · " : "", make("a", { class: "target", href: `${path}?format=${kind}`, download: `${job.id}.${kind}` }, kind)]))];
}

function roundsFigure() {
  const kept = state.report?.rounds?.kept;
  const points = kept?.length ? kept.map(row => ({ round: row.round, active: row.frontier_vertices })) : state.points;
  if (points.length < 2 || kept && points.every(point => point.active === points[0].active)) return [];
  return [make("h3", {}, "Active vertices by round"), rounds(thinned(points), width("job-body"))];
}

function thinned(points) {
  const step = Math.ceil(points.length / 600);
  return points.filter((_, i) => i % step === 0 || i === points.length - 1);
}

function rankFigures() {
  const found = state.report && breakdown(state.report);
  if (!found) return [];
  const out = [];
  if (found.parts) out.push(make("h3", {}, "Time in rounds, by rank"), legend(PARTS.filter(name => name in found.parts)), bars(found.parts, seconds, { width: width("job-body") }));
  if (found.whole) out.push(make("h3", {}, "Whole run, by rank"), legend(Object.keys(found.whole)), bars(found.whole, seconds, { width: width("job-body") }));
  return out;
}

async function cancel() {
  try {
    await call("DELETE", `/v1/jobs/${encodeURIComponent(state.chosen)}?ended=keep`);
    notice(null);
    state.stop();
    await ended();
  } catch (error) { notice(error); }
}

async function memory() {
  if (state.jobs.some(job => job.state === "running")) return;
  const found = (await call("GET", "/v1/memory")).by_rank;
  const shown = found.map(rank => [rank.host_used >> 20, rank.device_used >> 20]);
  draw("memory-body", shown, () => {
    const gpu = found.some(rank => rank.device_total);
    const parts = [make("p", { class: "note" }, "Process memory of each rank."), bars({ memory: found.map(rank => rank.host_used || 0) }, bytes, { width: width("memory-body") })];
    if (gpu) parts.push(make("p", { class: "note" }, "GPU memory in use; grey is free."), bars({ memory: found.map(rank => rank.device_used || 0), idle: found.map(rank => Math.max((rank.device_total || 0) - (rank.device_used || 0), 0)) }, bytes, { width: width("memory-body") }));
    return parts;
  });
}

const algorithm = () => state.algorithms.find(each => each.name === at("algorithm").value);
const textIds = () => (state.graphs.find(each => each.name === at("graph").value)?.facts || {}).ids === "string";

function choices() {
  const chosen = algorithm();
  at("about").textContent = (chosen.help || "").replaceAll("``", "");
  at("more").hidden = !fill(chosen.parameters, at("needed"), at("optional"));
}

function say(id, text, bad = false) {
  at(id).textContent = text;
  at(id).className = bad ? "bad" : "note";
}

function query() {
  return { graph: at("graph").value, algorithm: at("algorithm").value, parameters: read(at("ask"), algorithm().parameters, textIds()) };
}

at("ask").addEventListener("submit", async event => {
  event.preventDefault();
  say("answer", "");
  try {
    const options = algorithm().residual ? { record: "residual" } : {};
    const job = await call("POST", `/v1/jobs?top=${TOP}`, { ...query(), report: true, options });
    choose(job);
    if (innerWidth < 900) at("job").scrollIntoView({ behavior: "smooth" });
  } catch (error) { say("answer", error.message, true); }
});

at("estimate").addEventListener("click", async () => {
  try {
    const found = await call("POST", "/v1/estimate", query());
    const most = Math.max(...found.bytes_by_rank), free = found.available_by_rank.filter(each => each !== null);
    say("answer", `A run takes ${bytes(most)} a rank; ${free.length ? `${bytes(Math.min(...free))} are free` : "the free memory is not known"}. It ${found.fits ? "fits" : "does not fit"}.`, !found.fits);
  } catch (error) { say("answer", error.message, true); }
});

at("load").addEventListener("submit", async event => {
  event.preventDefault();
  const given = Object.fromEntries([...new FormData(at("load"))].map(([name, value]) => [name, value.trim()]));
  const options = given.weights ? { weights: given.weights } : {};
  try {
    await call("POST", "/v1/graphs", { name: given.name, source: given.source, options });
    at("load").reset();
    say("loaded", `${given.name} is loading.`);
    await graphs();
  } catch (error) { say("loaded", error.message, true); }
});

at("algorithm").addEventListener("change", () => { choices(); say("answer", ""); });
at("graph").addEventListener("change", () => say("answer", ""));

let resized = 0;
themed(at("theme"));
at("theme").addEventListener("click", pictures);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", pictures);
addEventListener("resize", () => {
  delete drawn["job-body"];
  if (state.record) showJob();
  clearTimeout(resized);
  resized = setTimeout(pictures, 300);
});
await every(2000, "jobs", jobs);
await every(3000, "graphs", graphs);
every(3000, "states of the ranks", health);
every(5000, "figures of memory", memory);
for (;;) {
  try {
    state.algorithms = (await call("GET", "/v1/algorithms")).algorithms;
    notice(null);
    break;
  } catch (error) {
    notice(error);
    await new Promise(again => setTimeout(again, 2000));
  }
}
at("algorithm").replaceChildren(...state.algorithms.map(each => make("option", { value: each.name }, each.name)));
at("algorithm").value = "pagerank"; // the first of the list, apsp, takes a row of n numbers for each vertex
addEventListener("hashchange", opened);
addEventListener("popstate", opened);
await opened();
if (state.jobs.length && !state.record) {
  const last = state.jobs[0];
  if ([...at("graph").options].some(option => option.value === last.graph)) at("graph").value = last.graph;
  if (state.algorithms.some(each => each.name === last.algorithm)) at("algorithm").value = last.algorithm;
  choose(last);
}
choices();
document.body.dataset.ready = "true";
