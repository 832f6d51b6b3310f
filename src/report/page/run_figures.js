// Figures of one run, or of two side by side in one picture. `runs`: [{run, name}]; `name` is empty where there is one.
const inks = ["first", "second", "third"];
const inkFor = i => inks[i % inks.length];
const nameIn = (name, what) => name ? cut(name, 28) + (what ? ", " + what : "") : what;

function phasesOf(run) {
  const metrics = run.metrics;
  if (!metrics || !run.phases.length) return [];
  return run.phases.map((phase, i) => ({from: phase.from, to: phase.to, name: phase.name, shaded: i % 2 === 1}));
}
// One curve of the metrics, for each run; `also`: a second one, dashed.
function curve(runs, title, about, key, name, extra = {}) {
  const series = [];
  runs.forEach(({run, name: of}, i) => {
    const steps = run.metrics.step, add = (values, what, ink, dashed) => series.push({kind: "line", name: nameIn(of, what), ink, dashed, x: steps, y: values, dots: steps.length < 14,
      hover: values.map((value, at) => `${of ? of + "\n" : ""}step ${grouped(steps[at])}, ${run.metrics.phase[at]}\n${what || name} ${extra.percent ? percent(value) : short(value)}`)});
    add(run.metrics[key], extra.first || (of ? "" : name), inkFor(extra.also && !of ? 0 : i));
    if (extra.also) add(run.metrics[extra.also], extra.second, of ? inkFor(i) : inkFor(1), true);
  });
  const heads = runs.flatMap(({name: of}) => [nameIn(of, extra.first || name), ...(extra.also ? [nameIn(of, extra.second)] : [])]);
  const form = value => extra.percent ? percent(value, 2) : short(value), most = runs.reduce((a, b) => a.run.metrics.step.length >= b.run.metrics.step.length ? a : b);
  const rows = most.run.metrics.step.map((step, at) => [grouped(step), ...runs.flatMap(({run}) => { const place = run === most.run ? at : run.metrics.step.indexOf(step);
    return [key, ...(extra.also ? [extra.also] : [])].map(which => place < 0 ? "–" : form(run.metrics[which][place])); })]);
  return {title, about, height: 220, x: {title: "step", whole: true, range: [0, 1.02 * Math.max(...runs.map(({run}) => run.metrics.step.at(-1)))]}, y: {percent: extra.percent, zero: extra.zero, range: extra.range},
    bands: runs.length === 1 ? phasesOf(runs[0].run) : null, series, table: {head: ["step", ...heads], rows}};
}
function learningCurves(runs) {
  runs = runs.filter(({run}) => run.metrics && run.metrics.step.length);
  if (!runs.length) return [];
  const priced = ["mu", "lambda"].find(key => runs.some(({run}) => run.metrics[key].some(value => value !== 0))) || "lambda", gated = runs.some(({run}) => run.metrics.phase.some(phase => phase !== "dense"));
  const result = [curve(runs, "Loss", "Mean loss of the training steps since the look before, and NLL of validation rows.", "train_loss", "training", {also: "valid_nll", first: "training", second: "validation"})];
  if (!gated) return result;
  result.push(curve(runs, "Active fraction", "Open units by the test rule, and the mean of P(open).", "active_fraction", "open", {also: "expected_active_fraction", first: "open", second: "expected", percent: true, range: [0, 1.04]}),
    curve(runs, priced === "mu" ? "Price of an open unit (μ)" : "Price of an open unit (λ)", priced === "mu" ? "What control charges to meet the target." : "Ramps up while gates anneal.", priced, priced === "mu" ? "μ" : "λ"),
    curve(runs, "Temperature (τ)", "Falls while gates anneal: cold gates are open or closed.", "tau", "τ", {zero: true}));
  return result;
}

// How P(open) is spread over units: two heaps, at 0 and at 1, are what a trained gate has.
function gateHistogram(runs) {
  const sums = runs.map(({run}) => (run.gates || []).reduce((sum, site) => sum.map((count, i) => count + site.histogram[i]), Array(30).fill(0)));
  const edge = i => percent(i / 30, 0) + " to " + percent((i + 1) / 30, 0);
  return {title: "Spread of P(open) over units", about: "A trained gate has two heaps, at 0 and at 1; what lies between is undecided.", height: 240, x: {title: "P(open)", percent: true, range: [0, 1]}, y: {title: "units", zero: true, whole: true},
    series: sums.map((counts, r) => ({kind: "bars", name: runs[r].name, ink: inkFor(r), place: counts.map((_, i) => (i + .5 + (sums.length > 1 ? (r - .5) * .4 : 0)) / 30), size: counts, wide: (sums.length > 1 ? .4 : .85) / 30, hover: counts.map((count, i) => `${runs[r].name ? runs[r].name + "\n" : ""}P(open) ${edge(i)}\n${grouped(count)} units`)})),
    table: {head: ["P(open)", ...runs.map(({name}) => name || "units")], rows: sums[0].map((_, i) => [edge(i), ...sums.map(counts => grouped(counts[i]))])}};
}
// The same over the steps of training.
function gateHistory(run) {
  const kept = run.metrics && run.metrics.gates;
  if (!kept || kept.length < 3) return null;
  const steps = run.metrics.step, every = Math.ceil(kept.length / 60), picked = kept.map((_, i) => i).filter(i => i % every === 0 || i === kept.length - 1);
  const rows = Array.from({length: 30}, (_, bin) => picked.map(i => { const all = kept[i].reduce((a, b) => a + b, 0); return all ? Math.sqrt(kept[i][bin] / all) : null; }));
  const told = (bin, i) => `step ${grouped(steps[i])}, ${run.metrics.phase[i]}\nP(open) ${percent(bin / 30, 0)} to ${percent((bin + 1) / 30, 0)}\n${grouped(kept[i][bin])} units`;
  return {title: "How gates decided", about: "Each column is one look at the validation rows; the stronger the colour, the more units have that P(open).", height: 240, x: {title: "step", names: picked.map(i => grouped(steps[i]))}, y: {title: "P(open)", names: Array.from({length: 30}, (_, bin) => bin % 6 === 0 || bin === 29 ? percent(bin === 29 ? 1 : bin / 30, 0) : "")},
    series: [{kind: "cells", rows, gap: 0, hover: rows.map((row, bin) => row.map((_, at) => told(bin, picked[at])))}],
    table: {head: ["step", "P(open) below 10 %", "10 to 90 %", "above 90 %"], rows: picked.map(i => [grouped(steps[i]), ...[[0, 3], [3, 27], [27, 30]].map(([from, to]) => grouped(kept[i].slice(from, to).reduce((a, b) => a + b, 0)))])}};
}
const most_groups = 60, ordered_groups = 16, most_bars = 40, most_in_row = 64;
// Groups as the model has them where they are few, else by how many of their units are open.
const sortedGroups = site => site.groups.map((group, number) => ({...group, number})).sort((a, b) => site.groups.length > ordered_groups ? b.open - a.open || b.mean - a.mean : a.number - b.number);
const groupTable = (noun, groups) => ({head: [noun, "open", "mean P(open)"], rows: groups.map(group => [group.name, grouped(group.open) + " of " + grouped(group.units), percent(group.mean)])});
const shownOf = (groups, shown, all) => shown.length < all ? ` The ${shown.length} most open of ${grouped(all)} are shown.` : "";

// The units of a site: groups of several units, and units that stand alone.
function gateUnits(site, noun) {
  const title = site.site === "interface" ? "P(open) of each unit" : "P(open) of each unit: " + site.site, groups = sortedGroups(site);
  if (!site.probability) return [groupShares(site, title, noun, groups)];
  const several = groups.filter(group => group.units > 1), alone = groups.filter(group => group.units === 1);
  const result = [];
  if (several.length) result.push(groupCells(site, title, noun, several));
  if (alone.length) result.push(singleUnits(site, several.length ? "Units that stand alone" : title, noun, alone));
  return result;
}
const unitsOf = (site, number) => site.group_of.flatMap((of, unit) => of === number ? [unit] : []);
const unitHover = (site, unit) => `${site.names[unit]}\nP(open) ${percent(site.probability[unit])}, ${site.open[unit] ? "open" : "closed"}`;

// Too many units to show each.
function groupShares(site, title, noun, all) {
  const groups = all.slice(0, most_groups);
  return {title, about: "Too many units to show each: the share of each group's units that is open." + shownOf(all, groups, site.groups_in_all), height: Math.max(120, 21 * groups.length + 46), x: {percent: true, range: [0, 1.02], title: "open units"}, y: {names: groups.map(group => group.name), down: true}, table: groupTable(noun, all),
    series: [{kind: "bars", across: true, ink: "first", place: groups.map((_, i) => i), size: groups.map(group => group.open / group.units), hover: groups.map(group => `${group.name}\n${grouped(group.open)} of ${grouped(group.units)} open\nmean P(open) ${percent(group.mean)}`)}]};
}
// A row for each group, a cell for each of its units.
function groupCells(site, title, noun, all) {
  const groups = all.slice(0, most_groups), units = groups.map(group => unitsOf(site, group.number)), wide = Math.max(...units.map(row => row.length)), table = groupTable(noun, all);
  if (all.length === 1 && wide > most_in_row) return {title, about: "A cell for each unit, in rows; the bluer, the more probably open.", table, ...cellRows(site, units[0])};
  const filled = value => units.map(row => Array.from({length: wide}, (_, i) => i < row.length ? value(row[i]) : null));
  return {title, about: "A row for each group, a cell for each of its units; the bluer, the more probably open." + shownOf(all, groups, all.length), height: Math.max(110, (groups.length > 30 ? 16 : 21) * groups.length + 46), x: {title: "unit of the group", names: Array.from({length: wide}, (_, i) => String(i + 1))}, y: {names: groups.map(group => group.name), down: true}, table,
    series: [{kind: "cells", rows: filled(unit => site.probability[unit]), hover: filled(unit => unitHover(site, unit))}]};
}
// A bar each where they are few, else cells in rows, the most open first.
function singleUnits(site, title, noun, groups) {
  const units = groups.map(group => unitsOf(site, group.number)[0]), table = groupTable(noun, groups);
  if (groups.length > most_bars) return {title, about: `${grouped(groups.filter(group => group.open).length)} of ${grouped(groups.length)} are open; the most probably open first, row by row. Hover for the name, or see the table.`, table, ...cellRows(site, [...units].sort((a, b) => site.probability[b] - site.probability[a]))};
  return {title, about: "Open ones are blue.", height: Math.max(120, 21 * groups.length + 46), x: {percent: true, range: [0, 1.02], title: "P(open)"}, y: {names: groups.map(group => group.name), down: true}, table,
    series: [{kind: "bars", across: true, ink: "first", inks: groups.map(group => group.open ? "first" : "quiet"), place: units.map((_, i) => i), size: units.map(unit => site.probability[unit]), hover: units.map(unit => unitHover(site, unit))}]};
}
function cellRows(site, units) {
  const starts = Array.from({length: Math.ceil(units.length / most_in_row)}, (_, row) => row * most_in_row), wide = Math.min(most_in_row, units.length);
  const filled = value => starts.map(start => Array.from({length: wide}, (_, i) => start + i < units.length ? value(units[start + i]) : null));
  return {height: Math.max(90, 20 * starts.length + 34), x: {names: Array.from({length: wide}, (_, i) => String(i + 1))}, y: {names: starts.map(start => `${start + 1} – ${Math.min(units.length, start + most_in_row)}`), down: true}, series: [{kind: "cells", rows: filled(unit => site.probability[unit]), hover: filled(unit => unitHover(site, unit))}]};
}

const fewest_in_bin = 5;
function reliability(runs, split, calibratedToo) {
  const series = [{kind: "line", name: "perfect", ink: "quiet", thin: true, dashed: true, x: [0, 1], y: [0, 1], silent: true}], counts = [], table = [];
  runs.forEach(({run, name}, r) => {
    const bins = run.evaluations[split].reliability_shown;
    for (const [which, what, ink] of [["raw", "raw", inkFor(r)], ["calibrated", "calibrated", runs.length > 1 ? inkFor(r) : inkFor(1)]]) {
      if (!bins[which] || (which === "calibrated" && !calibratedToo)) continue;
      const all = bins[which].filter(bin => bin.count > 0), many = all.filter(bin => bin.count >= fewest_in_bin), some = many.length > 1 ? many : all, offset = which === "calibrated" ? .004 : 0;
      const hover = some.map(bin => `${name ? name + "\n" : ""}${what}: ${grouped(bin.count)} rows\nforecast ${percent(bin.confidence)}\nobserved ${percent(bin.accuracy)} (${percent(bin.interval[0])} to ${percent(bin.interval[1])})`);
      series.push({kind: "line", name: nameIn(name, runs.length > 1 && !calibratedToo ? "" : what), ink, dashed: runs.length > 1 && which === "calibrated", dots: true, x: some.map(bin => bin.confidence + offset), y: some.map(bin => bin.accuracy), error: {low: some.map(bin => bin.interval[0]), high: some.map(bin => bin.interval[1])}, hover});
      counts.push({kind: "bars", name: nameIn(name, what), ink, bins: bins[which]});
      for (const bin of all) table.push([`${name ? name + ", " : ""}${what}: ${fixed(bin.low, 3)} to ${fixed(bin.high, 3)}`, grouped(bin.count), percent(bin.confidence), percent(bin.accuracy), percent(bin.interval[0]) + " to " + percent(bin.interval[1])]);
    }
  });
  const nouns = runs[0].run.evaluations[split].nouns.rows, wide = .8 / counts.length, listed = {head: ["bin", nouns, "forecast", "observed", "95 % interval"], rows: table};
  const bars = counts.map((count, i) => ({...count, place: count.bins.map(bin => (bin.low + bin.high) / 2 + (i - (counts.length - 1) / 2) * wide / 15), size: count.bins.map(bin => bin.count), wide: wide / 15, hover: count.bins.map(bin => `${count.name}\n${grouped(bin.count)} ${nouns}`)}));
  const binary = runs[0].run.evaluations[split].classes === 2, about = binary ? `P(“${runs[0].run.evaluations[split].class_names[1]}”) against its share` : "Confidence of the top class against its accuracy";
  return [{title: "Reliability", about: about + ", in 15 bins; bars are 95 % intervals of the share. On the dashed line, 80 % means 80 %. Bins with fewer than 5 are in the table only.", height: width => Math.min(420, Math.max(280, width * .8)), x: {title: "forecast", percent: true, range: [-.01, 1.02]}, y: {title: "observed", percent: true, range: [-.01, 1.03]}, series, table: listed},
    {title: nouns.charAt(0).toUpperCase() + nouns.slice(1) + " in each bin", about: "Where few lie, the point above says little.", height: 170, x: {title: "forecast", percent: true, range: [-.01, 1.02]}, y: {whole: true, zero: true}, series: bars, table: listed}];
}

function confusion(evaluation) {
  const names = evaluation.class_names, counts = evaluation.confusion, sums = counts.map(row => row.reduce((a, b) => a + b, 0));
  const shares = counts.map((row, i) => row.map(count => sums[i] ? count / sums[i] : null)), few = names.length <= 12;
  return {title: "Confusion matrix", about: "Each row is a true class, divided over what was predicted; the diagonal is right.", narrow: names.length <= 6, height: width => Math.max(190, Math.min((few ? 34 : 22) * names.length + 60, 620, width)), x: {title: "predicted", names}, y: {title: "true", names, down: true},
    series: [{kind: "cells", rows: shares, gap: names.length > 30 ? 0 : 2, text: few ? counts.map(row => row.map(grouped)) : undefined, hover: counts.map((row, i) => row.map((count, j) => `true ${names[i]}\npredicted ${names[j]}\n${grouped(count)} of ${grouped(sums[i])} (${percent(shares[i][j])})`))}],
    table: names.length <= 40 ? {head: ["true \\ predicted", ...names], rows: counts.map((row, i) => [names[i], ...row.map(grouped)])} : {head: ["true class", evaluation.nouns.rows, "right", "most often taken for"], words: [3], rows: counts.map((row, i) => { const others = row.map((count, j) => [count, j]).filter(([count, j]) => j !== i && count > 0).sort((a, b) => b[0] - a[0]);
      return [names[i], grouped(sums[i]), percent(shares[i][i]), others.length ? names[others[0][1]] + " (" + grouped(others[0][0]) + ")" : "–"]; })}};
}

function inputWorth(evaluation) {
  // Columns that trees beside the net read are shuffled only: what not all were tried by compares nothing.
  const open = evaluation.open_columns, only_shuffled = open.some(input => isNumber(input.worth_shuffled) && !isNumber(input.worth_closed));
  const key = !only_shuffled && open.some(input => isNumber(input.worth_closed)) ? "worth_closed" : "worth_shuffled";
  const told = open.filter(input => isNumber(input[key])).sort((a, b) => b[key] - a[key]).slice(0, 40), noun = evaluation.nouns.columns;
  const rows = [...open].sort((a, b) => (b[key] ?? -1) - (a[key] ?? -1)).map(input => [input.name, grouped(input.open_dimensions), signed(input.worth_closed), signed(input.worth_shuffled), isNumber(input.share_of_rows) ? percent(input.share_of_rows, 0) : "–"]);
  const table = {head: [noun, "open dimensions", "NLL when closed", "NLL when shuffled", "read for"], rows};
  if (!told.length) return {table, drawn: null};
  return {table, drawn: {title: key === "worth_closed" ? "Rise of the validation NLL when it is closed" : "Rise of the validation NLL when its cells are shuffled", about: told.length < open.length ? `The ${told.length} that are worth most.` : "", height: 22 * told.length + 48, x: {title: "change of NLL", zero: true}, y: {names: told.map(input => input.name), down: true},
    series: [{kind: "bars", across: true, ink: "first", inks: told.map(input => input[key] >= 0 ? "first" : "second"), place: told.map((_, i) => i), size: told.map(input => input[key]), hover: told.map(input => `${input.name}\nclosed ${signed(input.worth_closed)}\nshuffled ${signed(input.worth_shuffled)}`)}], table}};
}

const metric_names = {auc: "AUC", accuracy: "accuracy", nll: "NLL", ece: "ECE", macro_f1: "macro-F1"};
function robustness(runs, split, metric) {
  runs = runs.filter(({run}) => run.evaluations[split] && run.evaluations[split].conditions);
  const names = [...new Set(runs.flatMap(({run}) => Object.keys(run.evaluations[split].conditions)))].sort(byCondition), form = metric === "nll" ? fixed : percent;
  const wide = .8 / runs.length, ends = [];
  const series = runs.map(({run, name}, r) => {
    const conditions = run.evaluations[split].conditions, values = names.map(condition => conditions[condition] ? conditions[condition][metric] : null);
    ends.push(...values.filter(isNumber), run.evaluations[split][metric]);
    return {kind: "bars", name: name || metric_names[metric], ink: inkFor(r), place: names.map((_, i) => i + (r - (runs.length - 1) / 2) * wide), size: values, wide: wide * .95, hover: names.map((condition, i) => `${name ? name + "\n" : ""}${condition}\n${metric_names[metric]} ${form(values[i])}`)};
  });
  const low = metric === "nll" ? 0 : Math.max(0, Math.min(...ends) - .35 * (Math.max(...ends) - Math.min(...ends)) - .01), high = Math.max(...ends) + .06 * (Math.max(...ends) - low);
  for (const bars of series) bars.base = low;
  runs.forEach(({run, name}, r) => series.push({kind: "line", name: nameIn(name, "undamaged"), ink: runs.length > 1 ? inkFor(r) : "second", dashed: true, thin: true, x: [-.5, names.length - .5], y: [run.evaluations[split][metric], run.evaluations[split][metric]]}));
  return {title: metric_names[metric] + " on damaged copies", about: `Dashed: undamaged. The axis starts at ${metric === "nll" ? "0" : percent(low, 0)}.`, legend: true, height: 280, x: {names}, y: {percent: metric !== "nll", range: [low, high]}, series,
    table: {head: ["condition", ...runs.map(({name}) => name || metric_names[metric])], rows: [["undamaged", ...runs.map(({run}) => form(run.evaluations[split][metric]))], ...names.map((condition, i) => [condition, ...runs.map((_, r) => form(series[r].size[i]))])]}};
}
// The kinds one after the other, each from little damage to much: of bits that are left, fewer are more.
const byCondition = (a, b) => {
  const kinds = ["missing", "noise", "quantise", "occlude"], kind = name => kinds.findIndex(start => name.startsWith(start)), number = name => parseFloat((name.match(/[\d.]+/) || ["0"])[0]) * (name.startsWith("quantise") ? -1 : 1);
  return kind(a) - kind(b) || number(a) - number(b);
};
