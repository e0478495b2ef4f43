// A form from the JSON Schema of an algorithm's parameters.
import { make } from "./drawing.js";

const types = schema => [].concat(schema.type || []);

function control(name, schema, required) {
  const id = `parameter-${name}`, hint = `${id}-hint`;
  const common = { id, name, "aria-describedby": hint, required, "data-parameter": name };
  const note = make("p", { class: "note", id: hint }, schema.description || "");
  if (types(schema).includes("boolean")) {
    const box = make("input", { ...common, type: "checkbox", required: false });
    box.checked = box.defaultChecked = schema.default === true;
    return make("div", { class: "field check" }, box, make("label", { for: id }, name), note);
  }
  const label = make("label", { for: id }, name);
  if (schema.enum) {
    const options = schema.enum.map(choice => make("option", { value: choice, selected: choice === schema.default }, String(choice)));
    if (schema.default === undefined) options.unshift(make("option", { value: "" }, "default"));
    return make("div", { class: "field" }, label, make("select", common, ...options), note);
  }
  const number = types(schema).some(type => type === "integer" || type === "number") && !types(schema).includes("string");
  const placeholder = schema.oneOf ? "[1, 2] or {\"1\": 0.5}" : schema.default === undefined ? "" : String(schema.default);
  return make("div", { class: "field" }, label, make("input", { ...common, type: "text", spellcheck: "false",
    inputmode: number ? "decimal" : undefined, placeholder }), note);
}

// Fills two containers, for required and for other parameters; returns the number of the others.
export function fill(schema, needed, optional) {
  const must = new Set(schema.required || []), rows = Object.entries(schema.properties || {});
  needed.replaceChildren(...rows.filter(([name]) => must.has(name)).map(([name, each]) => control(name, each, true)));
  optional.replaceChildren(...rows.filter(([name]) => !must.has(name)).map(([name, each]) => control(name, each, false)));
  return rows.length - must.size;
}

// Returns the parameters that were given; throws an Error that names the field.
export function read(form, schema, textIds) {
  const given = {};
  for (const node of form.querySelectorAll("[data-parameter]")) {
    const name = node.dataset.parameter, each = schema.properties[name];
    if (node.type === "checkbox") {
      if (node.checked !== node.defaultChecked) given[name] = node.checked;
      continue;
    }
    const text = node.value.trim();
    if (!text || (each.enum && text === String(each.default))) continue;
    given[name] = value(name, each, text, textIds);
  }
  return given;
}

function value(name, schema, text, textIds) {
  if (schema.enum) return schema.enum.find(choice => String(choice) === text);
  if (schema.oneOf) {
    try { return JSON.parse(text); } catch { throw new Error(`${name}: ${text} is not JSON; write a list or an object`); }
  }
  if (types(schema).includes("string") && (textIds || !types(schema).includes("integer"))) return text;
  if (types(schema).includes("integer") && !/^-?\d+$/.test(text)) throw new Error(`${name}: ${text} is not an integer`);
  const found = Number(text);
  if (!Number.isFinite(found)) throw new Error(`${name}: ${text} is not a number`);
  if (Number.isInteger(found) && !Number.isSafeInteger(found)) throw new Error(`${name}: ${text} is too large for this page; use curl or Python`);
  return found;
}
