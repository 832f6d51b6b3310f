// The page of a folder of runs: Pareto front, table, two runs side by side.
const view = {dataset: "", split: "", metric: "auc", filter: "", sort: "active", down: false, a: 0, b: 1};
const figureOf = (run, split) => run.evaluations[split];
const groupOf = run => run.group;
const activeOf = evaluation => evaluation.test_rule === "none" ? 1 : evaluation.active_fraction;

const columns = [
  ["name", "run", (run, e) => run.name, value => value], ["dataset", "data", run => groupOf(run), value => value], ["seed", "seed", run => run.seed, grouped],
  ["active", "active", (run, e) => e && activeOf(e), value => percent(value)], ["open", "open units", (run, e) => e && (e.test_rule === "none" ? null : e.open_units), grouped], ["projected", "projected", (run, e) => e && e.projected_units, grouped],
  ["parameters", "parameters", (run, e) => e && e.parameters, grouped], ["accuracy", "accuracy", (run, e) => e && e.accuracy, value => percent(value, 2)], ["auc", "AUC", (run, e) => e && e.auc, value => fixed(value)],
  ["macro_f1", "macro-F1", (run, e) => e && e.macro_f1, value => fixed(value)], ["nll", "NLL", (run, e) => e && e.nll, value => fixed(value)], ["ece", "ECE", (run, e) => e && eceOf(e).value, value => percent(value, 2)], ["floor", "by chance", (run, e) => e && eceOf(e).floor, value => percent(value, 2)],
  ["nll_scaled", "NLL cal.", (run, e) => e && e.nll_scaled, value => fixed(value)], ["ece_scaled", "ECE cal.", (run, e) => e && eceOf(e, "_scaled").value, value => percent(value, 2)], ["rob", "Rob μ AUC", (run, e) => e && e.rob_mu && e.rob_mu.auc, value => fixed(value)],
  ["seconds", "training", run => run.summary.seconds, seconds],
];

function paretoFigure(data) {
  const {split, dataset, metric} = view, picked = data.runs.map((run, i) => ({run, i, e: figureOf(run, split)})).filter(({run, e}) => e && groupOf(run) === dataset && isNumber(e[metric]));
  const front = ((data.fronts[split] || {})[dataset] || {})[metric] || [], errors = picked.map(({e}) => eceOf(e).value).filter(isNumber), low = Math.min(...errors), high = Math.max(...errors);
  const form = value => metric === "nll" ? fixed(value) : metric === "accuracy" ? percent(value, 2) : fixed(value);
  const points = {kind: "points", ink: "first", x: picked.map(({e}) => activeOf(e)), y: picked.map(({e}) => e[metric]), value: picked.map(({e}) => high > low ? (eceOf(e).value - low) / (high - low) : 0), hollow: picked.map(({e}) => e.converged === false),
    hover: picked.map(({run, e, i}) => `${run.name}${front.includes(i) ? " (on the front)" : ""}\n${metric_names[metric]} ${form(e[metric])}\n${e.test_rule === "none" ? "dense" : `${percent(e.active_fraction)} active: ${grouped(e.open_units)} of ${grouped(e.units)} ${e.units_are || "units"}`}\nECE ${percent(eceOf(e).value, 2)}${e.converged === false ? `\nnot converged: ${grouped(e.projected_units)} units projected` : ""}`)};
  const ordered = front.map(i => data.runs[i].evaluations[split]).sort((a, b) => activeOf(a) - activeOf(b));
  const line = {kind: "line", name: "Pareto front", ink: "quiet", dashed: true, thin: true, steps: true, x: ordered.map(activeOf), y: ordered.map(e => e[metric])};
  const marked = picked.some(({e}) => e.converged === false) ? [{kind: "points", name: "not converged", ink: "second", x: [], y: []}] : [];
  return {title: `${metric_names[metric]} against active fraction`, about: `${picked.length} runs on ${dataset}. ${metric === "nll" ? "Lower" : "Higher"} and further left is better; hover for the run. A ring is a run that has not converged.`, legend: true, ramp: errors.length ? ["ECE", percent(low, 2), percent(high, 2)] : null, height: 400, x: {title: "active fraction", percent: true, range: [-.03, 1.05]}, y: {title: metric_names[metric], percent: metric === "accuracy"},
    series: [line, ...marked, points], table: {head: ["run", "active", metric_names[metric], "ECE", "projected", "front"], words: [5], rows: picked.sort((a, b) => activeOf(a.e) - activeOf(b.e)).map(({run, e, i}) => [run.name, percent(activeOf(e)), form(e[metric]), percent(eceOf(e).value, 2), grouped(e.projected_units) + (e.converged === false ? " (not converged)" : ""), front.includes(i) ? "yes" : ""])}};
}

function frontSection(data) {
  const place = make("div"), datasets = [...new Set(data.runs.map(groupOf))].filter(Boolean), splits = ["test", "valid"].filter(split => data.runs.some(run => figureOf(run, split)));
  const many = name => data.runs.filter(run => groupOf(run) === name && figureOf(run, view.split)).length;
  if (!splits.length) return section("front", "Pareto front", "", missing("None of these runs has been judged yet.", "l0gm eval RUN"));
  if (!splits.includes(view.split)) view.split = splits[0];
  if (!datasets.includes(view.dataset)) view.dataset = datasets.reduce((best, name) => many(name) > many(best) ? name : best, datasets[0]);
  const show = () => { place.replaceChildren(figureElement(paretoFigure(data))); forgetGone(); drawAll(); };
  const change = key => value => { view[key] = value; show(); tableRows(data); };
  queueMicrotask(show);
  const without = data.runs.filter(run => !figureOf(run, view.split)).length;
  return section("front", "Pareto front", "What each active fraction costs. Runs on the front are beaten by none that reads fewer units.", make("div", {className: "head"}, make("span", {}, datasets.length > 1 ? chooser("data", datasets.map(name => [name, name]), view.dataset, change("dataset")) : null,
    splits.length > 1 ? chooser("judged on", splits.map(split => [split, split === "test" ? "test rows" : "validation rows"]), view.split, change("split")) : null, chooser("measure", ["auc", "accuracy", "macro_f1", "nll"].map(key => [key, metric_names[key]]), view.metric, change("metric")))), place,
  without ? missing(`${without} of the runs have not been judged on ${view.split === "test" ? "test" : "validation"} rows.`, `l0gm eval RUN${view.split === "valid" ? " --split valid" : ""}`) : null);
}

// Columns that tell something of these runs.
const columnsFor = data => columns.filter(([key, , of]) => key === "dataset" ? new Set(data.runs.map(groupOf)).size > 1 : data.runs.some(run => { const found = of(run, figureOf(run, view.split)); return found !== null && found !== undefined && found !== false; }));
function tableSection(data) {
  const search = make("input", {type: "search", id: "filter", placeholder: "filter: name, data, option=value …", ariaLabel: "Filter the runs"});
  search.oninput = () => { view.filter = search.value; tableRows(data); };
  const shownColumns = columnsFor(data), head = make("tr", {}, ...shownColumns.map(([key, title], i) => {
    const button = make("button", {type: "button", textContent: title});
    button.onclick = () => { view.down = view.sort === key ? !view.down : false; view.sort = key; tableRows(data); };
    return make("th", {scope: "col", className: i > 0 && key !== "dataset" ? "number" : ""}, button);
  }));
  const element = section("table", "All runs", "", make("div", {className: "head"}, search, make("span", {className: "quiet", id: "count"})), make("div", {className: "scroll"}, make("table", {}, make("thead", {}, head), make("tbody", {id: "rows"}))));
  queueMicrotask(() => tableRows(data));
  return element;
}
// A word of the filter is part of the name or of the data, or an option and its value: gate.unit=group.
const fits = (run, words) => words.every(word => `${run.name} ${groupOf(run)}`.toLowerCase().includes(word) || run.config.some(([key, value]) => `${key}=${value}`.toLowerCase().includes(word)));
function tableRows(data) {
  const shownColumns = columnsFor(data), words = view.filter.toLowerCase().split(/\s+/).filter(Boolean), value = columns.find(([key]) => key === view.sort)[2];
  const rows = data.runs.map((run, i) => ({run, i, e: figureOf(run, view.split)})).filter(({run}) => fits(run, words));
  const order = (a, b) => typeof a === "string" ? a.localeCompare(b, "en", {numeric: true}) : a - b, undefinedLast = value => value === null || value === undefined || value === false || Number.isNaN(value);
  rows.sort((p, q) => { const a = value(p.run, p.e), b = value(q.run, q.e); return undefinedLast(a) || undefinedLast(b) ? undefinedLast(a) - undefinedLast(b) : (view.down ? -1 : 1) * order(a, b); });
  const name = ({run, e, i}) => make("th", {scope: "row"}, run.name + " ", e && e.converged === false ? make("span", {className: "mark", textContent: `not converged, ${grouped(e.projected_units)} projected`}) : null, run.state !== "finished" ? make("span", {className: "mark", textContent: run.state}) : null,
    (((data.fronts[view.split] || {})[groupOf(run)] || {})[view.metric] || []).includes(i) ? make("span", {className: "mark good", textContent: "front"}) : null);
  document.getElementById("rows").replaceChildren(...rows.map(row => make("tr", {className: row.i === view.a || row.i === view.b ? "chosen" : ""}, name(row), ...shownColumns.slice(1).map(([key, , of, form]) => { const found = of(row.run, row.e); return make("td", {className: key === "dataset" ? "data-name" : "number", textContent: undefinedLast(found) ? "–" : form(found)}); }))));
  document.getElementById("count").textContent = rows.length === data.runs.length ? `${rows.length} runs` : `${rows.length} of ${data.runs.length} runs`;
  [...document.querySelectorAll("#table thead th")].forEach((cell, i) => { const [key, title] = shownColumns[i], sorted = key === view.sort; cell.setAttribute("aria-sort", sorted ? view.down ? "descending" : "ascending" : "none"); cell.firstChild.textContent = title + (sorted ? view.down ? " ▼" : " ▲" : ""); });
}

function pairSection(data) {
  const place = make("div", {id: "pair"}), options = data.runs.map((run, i) => [String(i), run.name]);
  const show = () => { place.replaceChildren(...pairParts(data)); forgetGone(); drawAll(); tableRows(data); };
  queueMicrotask(show);
  return section("compare", "Two runs side by side", "", make("div", {className: "head"}, make("span", {}, chooser("first", options, String(view.a), value => { view.a = Number(value); show(); }), chooser("second", options, String(view.b), value => { view.b = Number(value); show(); }))), place);
}
function pairParts(data) {
  const pair = [data.runs[view.a], data.runs[view.b]].map(run => ({run, name: run.name})), split = ["test", "valid"].find(name => pair.every(({run}) => run.evaluations[name]));
  if (!split) return [missing("These two have not been judged on the same rows.", "l0gm eval RUN")];
  const [a, b] = pair.map(({run}) => run.evaluations[split]), rows = columnsFor(data).filter(([key]) => !["name", "dataset", "seed"].includes(key)).map(([, title, of, form]) => { const one = of(pair[0].run, a), two = of(pair[1].run, b), both = isNumber(one) && isNumber(two);
    return [title, isNumber(one) ? form(one) : "–", isNumber(two) ? form(two) : "–", both && title !== "training" ? (two >= one ? "+" : "−") + form(Math.abs(two - one)) : ""]; });
  const before = new Map(pair[0].run.config), after = new Map(pair[1].run.config), keys = [...new Set([...before.keys(), ...after.keys()])].filter(key => before.get(key) !== after.get(key));
  const parts = [make("p", {className: "quiet", textContent: `Judged on ${split === "test" ? "test" : "validation"} rows.${a.dataset !== b.dataset ? " They are of different data: figures do not compare." : ""}`}),
    make("div", {className: "pair"}, make("div", {}, tableOf(["figure", pair[0].run.name, pair[1].run.name, "difference"], rows)), make("div", {}, make("h3", {textContent: keys.length ? "Options that differ" : "All options are the same"}), keys.length ? tableOf(["option", pair[0].run.name, pair[1].run.name], keys.map(key => [key, before.get(key) ?? "–", after.get(key) ?? "–"]), [1, 2]) : null))];
  const drawn = [...learningCurves(pair), ...(pair.every(({run}) => run.evaluations[split].reliability_shown) ? [reliability(pair, split, false)[0]] : []), ...(pair.every(({run}) => run.gates && run.gates.length) ? [gateHistogram(pair)] : []), ...(pair.every(({run}) => run.evaluations[split].conditions) ? [robustness(pair, split, isNumber(a.auc) ? "auc" : "accuracy")] : [])];
  parts.push(make("div", {className: "pair"}, ...drawn.map(figureElement)));
  return [make("div", {className: "stack"}, ...parts)];
}

// What a study wrote about itself: headings, sentences and tables.
function studySection(study) {
  const parts = study.parts.map(part => part.head ? tableOf(part.head, part.rows, part.head.map((_, i) => i)) : part.heading ? make("h3", {textContent: part.heading}) : make("p", {className: "quiet lead", textContent: part.text}));
  return section("study-" + study.name, "Study: " + study.name, "", ...parts);
}

function runsPage(data) {
  document.getElementById("title").textContent = data.title;
  document.getElementById("subtitle").textContent = `${data.runs.length} runs`;
  view.b = Math.min(1, data.runs.length - 1);
  const first = frontSection(data), notes = data.notes.map(note => missing(note.text, note.command));
  document.getElementById("main").replaceChildren(...notes, first, tableSection(data), ...data.studies.map(studySection), data.runs.length > 1 ? pairSection(data) : "");
  finishPage(data);
}
