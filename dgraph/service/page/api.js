// Requests to the service: JSON in, JSON out; an error has the service's own words.
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the service answered ${status}`);
    this.status = status;
    this.kind = problem.kind;
  }
}

export async function call(method, path, body) {
  const text = await textOf(method, path, body);
  try { return text ? JSON.parse(text) : {}; } catch { return { detail: text.slice(0, 200) }; }
}

// Returns the text of an answer.
export async function textOf(method, path, body) {
  const asked = { method, headers: { Accept: "application/json, image/svg+xml" } };
  if (body !== undefined) {
    asked.body = JSON.stringify(body);
    asked.headers["Content-Type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, asked);
  } catch {
    throw new Refused(0, { detail: "The service does not answer. It may be restarting; this page tries again." });
  }
  const text = await answer.text();
  if (answer.ok) return text;
  let problem = {};
  try { problem = text ? JSON.parse(text) : {}; } catch { problem = { detail: text.slice(0, 200) }; }
  throw new Refused(answer.status, problem);
}

// Follows a job's events until it ends; returns a function that stops following.
export function follow(id, seen) {
  const source = new EventSource(`/v1/jobs/${encodeURIComponent(id)}/events`);
  for (const kind of ["round", "phase", "state"]) {
    source.addEventListener(kind, event => {
      const data = JSON.parse(event.data);
      if (kind === "state" && ["done", "failed", "cancelled"].includes(data.state)) source.close();
      seen(kind, data);
    });
  }
  return () => source.close();
}
