"use strict";
// Names come from files that others made: they are set as text and never as markup.
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
};
const svg = (tag, attributes = {}, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

// Numbers as people read them; a figure that is undefined is a dash.
const isNumber = value => typeof value === "number" && isFinite(value);
const grouped = value => isNumber(value) ? Math.round(value).toLocaleString("en") : "–";
const fixed = (value, digits = 4) => isNumber(value) ? value.toFixed(digits).replace(/^-/, "−") : "–";
const signed = (value, digits = 4) => isNumber(value) ? (value > 0 ? "+" : "") + fixed(value, digits) : "–";
const percent = (value, digits = 1) => isNumber(value) ? (100 * value).toFixed(digits) + " %" : "–";
const short = value => !isNumber(value) ? "–" : value === 0 ? "0" : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(1).replace("e-", "e−").replace("e+", "e") : String(Number(value.toPrecision(4))).replace(/^-/, "−");
const seconds = value => !isNumber(value) ? "–" : value < 10 ? value.toFixed(1) + " s" : value < 120 ? Math.round(value) + " s" : value < 7200 ? (value / 60).toFixed(1) + " min" : (value / 3600).toFixed(1) + " h";
const cut = (text, letters) => { const all = [...String(text)]; return all.length > letters ? all.slice(0, Math.max(1, letters - 1)).join("") + "…" : String(text); };

// A cell is a text, an element, or {text, sort}; columns but the first are numbers unless `words` names them.
const tableOf = (head, rows, words = []) => {
  const kind = i => i > 0 && !words.includes(i) ? "number" : "";
  const cell = (value, i) => make(i ? "td" : "th", Object.assign({className: kind(i)}, i ? {} : {scope: "row"}), value instanceof Node ? value : String(value));
  return make("div", {className: "scroll"}, make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((text, i) => make("th", {scope: "col", className: kind(i), textContent: text})))),
    make("tbody", {}, ...rows.map(cells => make("tr", {}, ...cells.map(cell))))));
};
const chooser = (label, options, chosen, changed) => {
  const select = make("select", {}, ...options.map(([value, text]) => make("option", {value, textContent: text, selected: value === chosen})));
  select.onchange = () => changed(select.value);
  return make("label", {className: "choose"}, make("span", {className: "quiet", textContent: label}), select);
};
const section = (id, title, about, ...children) => {
  const element = make("section", {className: "card", id}, make("h2", {textContent: title}), about ? make("p", {className: "quiet lead", textContent: about}) : null, ...children);
  element.setAttribute("aria-labelledby", id + "-title");
  element.querySelector("h2").id = id + "-title";
  return element;
};
// What a run does not hold, and the command that makes it.
const missing = (text, command) => make("p", {className: "note"}, text + " ", command ? make("code", {textContent: command}) : null);
