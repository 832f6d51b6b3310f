// The page of one run.
const tile = (what, figure, more, warn) => make("div", {className: "tile" + (warn ? " warn" : "")}, make("div", {className: "what", textContent: what}), make("div", {className: "figure", textContent: figure}), make("div", {className: "more", textContent: more || " "}));
const eceOf = (evaluation, suffix = "") => { const name = evaluation.classes === 2 ? "ece_binary" : "ece"; return {value: evaluation[name + suffix], interval: evaluation[name + "_interval" + suffix], floor: evaluation[name + "_floor" + suffix]}; };

function tilesOf(run, evaluation) {
  const raw = eceOf(evaluation), calibrated = eceOf(evaluation, "_scaled"), gated = isNumber(evaluation.units) && evaluation.test_rule !== "none", units = evaluation.units_are || "units";
  const between = interval => Array.isArray(interval) ? `${percent(interval[0])} to ${percent(interval[1])}` : "no interval";
  const tiles = [tile("accuracy", percent(evaluation.accuracy, 2), `of ${grouped(evaluation.rows)} ${evaluation.nouns.rows}`), tile("AUC", fixed(evaluation.auc), evaluation.classes > 2 ? "mean, one class against the rest" : isNumber(evaluation.bayes_auc) ? `the best possible is ${fixed(evaluation.bayes_auc)}` : `macro-F1 ${fixed(evaluation.macro_f1)}`),
    tile("NLL", fixed(evaluation.nll), isNumber(evaluation.nll_scaled) ? `calibrated ${fixed(evaluation.nll_scaled)}` : ""), tile("ECE, raw", percent(raw.value, 2), `${between(raw.interval)}; by chance ${percent(raw.floor, 2)}`)];
  if (isNumber(calibrated.value)) tiles.push(tile("ECE, calibrated", percent(calibrated.value, 2), `${between(calibrated.interval)}; by chance ${percent(calibrated.floor, 2)}`));
  if (gated) {
    tiles.push(tile("active fraction", percent(evaluation.active_fraction), `${grouped(evaluation.open_units)} of ${grouped(evaluation.units)} ${units} open`));
    tiles.push(evaluation.converged === false ? tile("gates", "not converged", `${grouped(evaluation.projected_units)} units projected`, true) : tile("projected units", grouped(evaluation.projected_units), `undecided: ${percent(evaluation.undecided_fraction)}`));
  } else tiles.push(tile("gate", "none", "a dense model"));
  tiles.push(tile("parameters", grouped(evaluation.parameters), `of ${grouped(evaluation.parameters_dense)}`));
  if (isNumber(evaluation.columns)) tiles.push(tile(evaluation.nouns.columns + " read", grouped(evaluation.open_columns.length), `of ${grouped(evaluation.columns)}`));
  if (isNumber(run.summary.seconds)) tiles.push(tile("training", seconds(run.summary.seconds), `${grouped(run.summary.steps)} steps${run.summary.stopped_early ? ", stopped early" : ""}`));
  return make("div", {className: "tiles"}, ...tiles);
}

function gateSection(run, evaluation) {
  if (evaluation.test_rule === "none") return null;
  const children = [];
  if (run.gates && run.gates.length) {
    const pair = [gateHistogram([{run, name: ""}]), gateHistory(run)].filter(Boolean);
    children.push(make("div", {className: "stack"}, make("div", {className: "pair"}, ...pair.map(figureElement)), ...run.gates.flatMap(site => gateUnits(site, site.noun === "units" ? "group" : site.noun)).map(figureElement)));
  } else children.push(missing("This run does not hold the probabilities of its gates.", `l0gm eval ${run.command_name} --again`));
  return section("gates", "Gates", `Rule ${evaluation.test_rule}: ${grouped(evaluation.open_units)} of ${grouped(evaluation.units)} ${evaluation.units_are || "units"} are open. Projected units (${grouped(evaluation.projected_units)}) had to be opened or closed against their own gates to meet the budget.`, ...children);
}

function inputSection(run, evaluation) {
  if (!evaluation.open_columns) return null;
  const {table, drawn} = inputWorth(evaluation), noun = evaluation.nouns.columns, children = drawn ? [figureElement(drawn)] : [tableOf(table.head, table.rows)];
  const planted = evaluation.planted ? ` Of ${evaluation.planted.planted.length} that were planted, ${evaluation.planted.found.length} are read${evaluation.planted.wrong.length ? `, and ${evaluation.planted.wrong.length} others` : ", and no other"}.` : "";
  return section("inputs", noun.charAt(0).toUpperCase() + noun.slice(1) + " that are read", `${grouped(evaluation.open_columns.length)} of ${grouped(evaluation.columns)} ${noun} are read.${planted}${drawn ? ` Worth: by how much the NLL of validation rows rises without it.` : ""}`, ...children);
}

function robustnessSection(runs, split) {
  const held = runs.filter(({run}) => run.evaluations[split] && run.evaluations[split].conditions);
  if (!held.length) return section("robustness", "Robustness", "", missing("Nobody has looked at damaged copies of these rows yet.", `l0gm eval ${runs[0].run.command_name}${split === "valid" ? " --split valid" : ""} --perturb`));
  const place = make("div"), show = metric => { place.replaceChildren(figureElement(robustness(held, split, metric))); forgetGone(); drawAll(); };
  const first = held.every(({run}) => isNumber(run.evaluations[split].auc)) ? "auc" : "accuracy", mean = held[0].run.evaluations[split].rob_mu;
  queueMicrotask(() => show(first));
  return section("robustness", "Robustness", "Twelve kinds of damage to the inputs, at test time only: cells missing, noise, fewer bits, a block of inputs occluded. Raw probabilities.", make("div", {className: "head"}, chooser("show", [["auc", "AUC"], ["accuracy", "accuracy"], ["nll", "NLL"]], first, show),
    held.length === 1 ? make("span", {className: "quiet", textContent: `mean over the conditions: accuracy ${percent(mean.accuracy)}, AUC ${fixed(mean.auc)}, NLL ${fixed(mean.nll)}`}) : null), place);
}

function latencySection(run) {
  const kept = run.latency;
  if (!kept) return section("latency", "Latency", "", missing("Not measured yet. Make a compact file, and measure it for this run:", `l0gm compact ${run.command_name} --out model.l0gm && l0gm bench latency model.l0gm --run ${run.command_name}`));
  const tokens = kept.results.some(result => "tokens" in result);
  return section("latency", "Latency", `Microseconds per example through the public interface, ${grouped(kept.threads)} thread${kept.threads === 1 ? "" : "s"}, ${grouped(kept.runs)} runs after ${grouped(kept.warmup)} that do not count${isNumber(kept.memory_bytes) ? `; ${grouped(kept.memory_bytes / 1024)} KiB in memory` : ""}.`,
    tableOf(["input", ...(tokens ? ["tokens"] : []), "batch", "median µs", "p99 µs"], kept.results.map(result => [result.input || "text", ...(tokens ? [grouped(result.tokens)] : []), grouped(result.batch), fixed(result.median_us, 2), fixed(result.p99_us, 2)])));
}

function settingsSection(run) {
  const search = make("input", {type: "search", placeholder: "filter, e.g. gate", ariaLabel: "Filter the configuration"}), place = make("div");
  const show = () => { const wanted = search.value.toLowerCase(), kept = run.config.filter(([key, value]) => (key + " " + value).toLowerCase().includes(wanted)); place.replaceChildren(tableOf(["option", "value"], kept, [1])); place.firstChild.classList.add("tall"); };
  search.oninput = show;
  show();
  const environment = Object.entries(run.environment || {}).map(([key, value]) => [key.replace(/_/g, " "), String(value)]);
  return section("settings", "Configuration and environment", "Every option as it was resolved, and the machine that trained the run.", make("div", {className: "pair"}, make("div", {}, make("div", {className: "head"}, make("h3", {textContent: "Configuration"}), search), place), make("div", {}, make("div", {className: "head"}, make("h3", {textContent: "Environment"})), tableOf(["what", "value"], environment, [1]))));
}

function runPage(data, split) {
  const run = data.runs[0], splits = Object.keys(run.evaluations), main = document.getElementById("main");
  document.getElementById("title").textContent = run.name.split("/").at(-1);
  document.getElementById("subtitle").textContent = [run.modality && `a ${run.modality} model`, run.dataset && `on ${run.dataset}`, isNumber(run.seed) ? `seed ${run.seed}` : "", run.state !== "finished" ? `state: ${run.state}` : ""].filter(Boolean).join(", ");
  const labels = {test: "test rows, never seen in training", valid: "validation rows"};
  document.getElementById("controls").replaceChildren(splits.length > 1 ? chooser("judged on", splits.map(name => [name, labels[name]]), split, chosen => runPage(data, chosen)) : "");
  const evaluation = run.evaluations[split], one = [{run, name: ""}], curves = learningCurves(one), sections = [];
  const notes = run.notes.map(note => missing(note.text, note.command));
  if (evaluation) {
    sections.push(section("summary", "Summary", splits.length > 1 ? "" : `Judged on ${labels[split]}.`, tilesOf(run, evaluation), ...notes));
  } else sections.push(section("summary", "Summary", "", ...notes));
  if (curves.length) sections.push(section("curves", "Training", `${grouped(run.summary.steps ?? run.metrics.step.at(-1))} steps; the weights of step ${grouped(run.summary.best_step)} were kept.`, make("div", {className: "pair"}, ...curves.map(figureElement))));
  if (evaluation) {
    sections.push(gateSection(run, evaluation), section("reliability", "Calibration", `Calibrator: ${evaluation.calibrator}${isNumber(evaluation.temperature) ? `, T = ${fixed(evaluation.temperature, 3)}` : ""}${evaluation.calibrated_by === "cross-fit" ? "; on these rows, which it was fitted to, calibrated figures are cross-fitted" : ""}. ${eceText(evaluation)}`, calibrationParts(evaluation, reliability(one, split, true))),
      evaluation.confusion ? section("confusion", "Confusion", "", figureElement(confusion(evaluation))) : null, inputSection(run, evaluation), robustnessSection(one, split));
  }
  sections.push(latencySection(run), settingsSection(run));
  main.replaceChildren(...sections.filter(Boolean));
  finishPage(data);
}
// The diagram, and beside it how many rows it rests on and the errors in figures.
function calibrationParts(evaluation, [diagram, counts]) {
  const kinds = [["ece_binary", "P of the second class"], ["ece", "top class"], ["ece_adaptive", "top class, bins of equal mass"], ["ece_classwise", "mean over classes"]].filter(([name]) => isNumber(evaluation[name]));
  const figure = (name, suffix) => { const interval = evaluation[name + "_interval" + suffix]; return isNumber(evaluation[name + suffix]) ? percent(evaluation[name + suffix], 2) + (Array.isArray(interval) ? ` (${(100 * interval[0]).toFixed(1)} to ${(100 * interval[1]).toFixed(1)})` : "") : "–"; };
  const table = tableOf(["error", "raw", "calibrated", "by chance"], kinds.map(([name, what]) => [what, figure(name, ""), figure(name, "_scaled"), percent(evaluation[name + "_floor"], 2)]));
  return make("div", {className: "pair"}, figureElement(diagram), make("div", {className: "stack"}, figureElement(counts), make("div", {}, make("h3", {textContent: "Calibration errors"}), make("p", {className: "quiet", textContent: "With 95 % intervals, and what a perfectly calibrated model of this size scores by chance."}), table)));
}
const eceText = evaluation => { const raw = eceOf(evaluation), after = eceOf(evaluation, "_scaled"); return `ECE ${percent(raw.value, 2)} before${isNumber(after.value) ? `, ${percent(after.value, 2)} after` : ""}; a perfectly calibrated model of this size scores ${percent(raw.floor, 2)} by chance.`; };
