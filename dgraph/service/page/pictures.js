// Figures that the service draws of a job's result: requested as SVG in the page's width and colours.
import { textOf } from "./api.js";
import { make } from "./drawing.js";

const dark = () => document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches;

// The look of a figure; another one is requested where it changes.
export const look = width => ({ width: Math.round(Math.min(Math.max(width, 240), 1600)), scheme: dark() ? "dark" : "light" });

// Requests a figure of each kind, null being the one that fits the column; returns [{title, address}] or [{error}].
export function requested(id, kinds, { width, scheme }) {
  return Promise.all(kinds.map(async kind => {
    const query = new URLSearchParams({ width, scheme, ...(kind ? { kind } : {}) });
    try {
      const text = await textOf("GET", `/v1/jobs/${encodeURIComponent(id)}/figure.svg?${query}`);
      const title = text.match(/<title>([^<]*)<\/title>/);
      return { title: title ? title[1] : "figure", address: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}` };
    } catch (error) { return { error: error.message }; }
  }));
}

// Shows figures, and in place of those that failed why they did, once.
export function figureNodes(figures) {
  const errors = [...new Set(figures.map(each => each.error).filter(Boolean))];
  const nodes = figures.filter(each => each.address).flatMap(each => [make("h3", {}, each.title),
    make("img", { class: "picture", src: each.address, alt: `figure of ${each.title}` })]);
  return [...nodes, ...errors.map(error => make("p", { class: "note" }, `No figure: ${error}`))];
}
