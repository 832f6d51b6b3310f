// A figure as SVG, in the page's own colours.
const niceTicks = (low, high, wanted) => {
  const raw = (high - low) / Math.max(1, wanted), power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 2.5, 5, 10].map(factor => factor * power).find(candidate => candidate >= raw * .999) || raw;
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-6; tick += step) ticks.push(Math.abs(tick) < step * 1e-6 ? 0 : tick);
  return ticks;
};
// Names along an axis: how many letters each may have, and the room that it then needs.
const namesAlong = (names, room) => {
  const longest = Math.max(1, ...names.map(name => [...String(name)].length)), fits = Math.floor(room / names.length / 6.6) - 1;
  const letters = Math.min(longest, Math.max(fits, 8));
  return [letters, 6.6 * letters + 8];
};
const tickText = (axis, tick, step) => axis.percent ? (100 * tick).toFixed(step < .0095 ? 1 : 0) + " %" : axis.whole && Math.abs(tick) >= 1000 ? Math.round(tick).toLocaleString("en") : short(tick);

// The range of an axis, with a little air where it is not given.
function rangeOf(axis, values) {
  if (axis.range) return axis.range;
  if (axis.names) return [-.5, axis.names.length - .5];
  const found = values.filter(isNumber);
  let low = Math.min(...found), high = Math.max(...found);
  if (!found.length) return [0, 1];
  if (axis.zero) low = Math.min(0, low), high = Math.max(0, high);
  const air = (high - low || Math.abs(high) || 1) * .06;
  return [axis.zero && low === 0 ? 0 : low - air, axis.zero && high === 0 ? 0 : high + air];
}
function valuesOf(figure, which) {
  return figure.series.flatMap(series => series.kind === "bars"
    ? ((which === "x") === Boolean(series.across) ? [...series.size, series.base ?? 0] : series.place.flatMap(place => [place - .5 * (series.wide ?? 1), place + .5 * (series.wide ?? 1)]))
    : series.kind === "cells" ? [] : [...series[which], ...(which === "y" && series.error ? [...series.error.low, ...series.error.high] : [])]);
}

function drawPlain(figure, width) {
  const height = typeof figure.height === "function" ? figure.height(width) : figure.height || 260;
  const picture = svg("svg", {class: "plain", viewBox: `0 0 ${width} ${height}`, width: "100%", height, "aria-hidden": "true"});
  const x = rangeOf(figure.x, valuesOf(figure, "x")), y = rangeOf(figure.y, valuesOf(figure, "y"));
  const yTicks = figure.y.names ? figure.y.names.map((_, i) => i) : niceTicks(y[0], y[1], Math.max(2, height / 60));
  const letters = Math.max(6, Math.floor(width * .36 / 6.4)), step = yTicks.length > 1 ? yTicks[1] - yTicks[0] : 1;
  const yTexts = yTicks.map(tick => figure.y.names ? cut(figure.y.names[tick], letters) : tickText(figure.y, tick, step));
  const left = Math.max(34, 12 + 6.6 * Math.max(0, ...yTexts.map(text => [...text].length))) + (figure.y.title ? 18 : 0), right = 14, top = figure.bands ? 22 : 10, bottom = (figure.x.names || !figure.x.hidden ? 24 : 6) + (figure.x.title ? 20 : 0);
  const atX = value => left + (value - x[0]) / (x[1] - x[0]) * (width - left - right), atY = value => figure.y.down
    ? top + (value - y[0]) / (y[1] - y[0]) * (height - top - bottom) : height - bottom - (value - y[0]) / (y[1] - y[0]) * (height - top - bottom);
  const frame = {x, y, atX, atY, left, right, top, bottom, width, height, picture};
  for (const band of figure.bands || []) {
    const from = Math.max(left, atX(band.from)), to = Math.min(width - right, atX(band.to));
    if (band.shaded) picture.append(svg("rect", {class: "band", x: from, y: top, width: Math.max(0, to - from), height: height - top - bottom}));
    if (to - from > 6.4 * band.name.length) picture.append(svg("text", {x: (from + to) / 2, y: top - 7, "text-anchor": "middle"}, band.name));
  }
  yTicks.forEach((tick, i) => {
    if (!figure.y.names) picture.append(svg("line", {class: "grid-line", x1: left, x2: width - right, y1: atY(tick), y2: atY(tick)}));
    const room = figure.y.names ? Math.abs(atY(1) - atY(0)) : 20, every = Math.ceil(13 / Math.max(1, room));
    if (figure.y.names && i % every) return;
    const label = svg("text", {x: left - 7, y: atY(tick) + 4, "text-anchor": "end"}, yTexts[i]);
    if (figure.y.names) label.append(svg("title", {}, String(figure.y.names[tick])));
    picture.append(label);
  });
  xTicksOf(figure, frame);
  for (const series of figure.series) ({line: plainLine, points: plainPoints, bars: plainBars, cells: plainCells})[series.kind](series, frame);
  if (figure.x.title) picture.append(svg("text", {x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle"}, figure.x.title));
  if (figure.y.title) picture.append(svg("text", {transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle"}, figure.y.title));
  return picture;
}

function xTicksOf(figure, frame) {
  const {x, atX, left, right, top, bottom, width, height, picture} = frame;
  picture.append(svg("line", {class: "axis-line", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom}));
  const room = width - left - right, ticks = figure.x.names ? figure.x.names.map((_, i) => i) : niceTicks(x[0], x[1], Math.max(2, room / 80));
  const [letters, each] = figure.x.names ? namesAlong(figure.x.names, room) : [0, 0], every = Math.max(1, Math.ceil(ticks.length * each / room));
  const texts = ticks.map(tick => figure.x.names ? cut(figure.x.names[tick], letters) : tickText(figure.x, tick, ticks.length > 1 ? ticks[1] - ticks[0] : 1));
  ticks.forEach((tick, i) => {
    if (!figure.x.names && figure.y.names) picture.append(svg("line", {class: "grid-line", x1: atX(tick), x2: atX(tick), y1: top, y2: height - bottom}));
    if (i % every) return;
    const label = svg("text", {x: atX(tick), y: height - bottom + 16, "text-anchor": "middle"}, texts[i]);
    if (figure.x.names) label.append(svg("title", {}, String(figure.x.names[tick])));
    picture.append(label);
  });
}

const withTitle = (element, text) => { if (text) element.append(svg("title", {}, text)); return element; };
function plainLine(series, {atX, atY, picture}) {
  const points = series.x.map((value, i) => [value, series.y[i]]).filter(point => isNumber(point[0]) && isNumber(point[1]));
  const path = points.map((point, i) => i && series.steps ? `H${atX(point[0]).toFixed(1)}V${atY(point[1]).toFixed(1)}` : `${i ? "L" : "M"}${atX(point[0]).toFixed(1)} ${atY(point[1]).toFixed(1)}`).join("");
  picture.append(svg("path", {d: path, fill: "none", "stroke-width": series.thin ? 1.3 : 2.2, "stroke-linejoin": "round", "stroke-dasharray": series.dashed ? "6 4" : "none", style: "stroke:" + inkOf(series.ink)}));
  if (series.error) plainErrors(series, atX, atY, picture);
  if (series.dots || points.length === 1) series.x.forEach((value, i) => {
    if (isNumber(series.y[i])) picture.append(withTitle(svg("circle", {cx: atX(value), cy: atY(series.y[i]), r: 3.5, style: `fill:${inkOf(series.ink)};stroke:var(--card);stroke-width:1.2`}), series.hover && series.hover[i]));
  });
}
function plainErrors(series, atX, atY, picture) {
  series.x.forEach((value, i) => {
    if (isNumber(series.y[i]) && isNumber(series.error.low[i])) picture.append(svg("line", {x1: atX(value), x2: atX(value), y1: atY(series.error.low[i]), y2: atY(series.error.high[i]), "stroke-width": 1.4, style: "stroke:" + inkOf(series.ink), opacity: .75}));
  });
}
const rampColour = share => `color-mix(in srgb, var(--second) ${Math.round(100 * Math.min(1, Math.max(0, share)))}%, var(--first))`;
function plainPoints(series, {atX, atY, picture}) {
  if (series.error) plainErrors(series, atX, atY, picture);
  series.x.forEach((value, i) => {
    if (!isNumber(value) || !isNumber(series.y[i])) return;
    const colour = series.value && isNumber(series.value[i]) ? rampColour(series.value[i]) : inkOf(series.ink), hollow = series.hollow && series.hollow[i];
    picture.append(withTitle(svg("circle", {cx: atX(value), cy: atY(series.y[i]), r: hollow ? 6 : 6.5, style: `fill:${hollow ? "var(--card)" : colour};stroke:${hollow ? colour : "var(--card)"};stroke-width:${hollow ? 2.5 : 1}`}), series.hover && series.hover[i]));
  });
}
function plainBars(series, {atX, atY, picture}) {
  const wide = (series.wide ?? .8), base = series.base ?? 0;
  series.place.forEach((place, i) => {
    if (!isNumber(series.size[i])) return;
    const ink = inkOf(series.inks ? series.inks[i] : series.ink), a = series.across ? atX(base) : atY(base), b = series.across ? atX(series.size[i]) : atY(series.size[i]);
    const c = series.across ? atY(place - wide / 2) : atX(place - wide / 2), d = series.across ? atY(place + wide / 2) : atX(place + wide / 2);
    const low = Math.min(a, b), length = Math.max(Math.abs(a - b), series.size[i] === base ? 0 : 1), from = Math.min(c, d), thick = Math.max(1, Math.abs(c - d));
    picture.append(withTitle(svg("rect", series.across ? {x: low, y: from, width: length, height: thick, rx: Math.min(3, thick / 4), style: "fill:" + ink} : {x: from, y: low, width: thick, height: length, rx: Math.min(3, thick / 4), style: "fill:" + ink}), series.hover && series.hover[i]));
  });
}
function plainCells(series, {atX, atY, picture}) {
  const gap = series.gap ?? 1;
  series.rows.forEach((row, r) => row.forEach((value, c) => {
    if (!isNumber(value)) return;
    const from = atX(c - .5), to = atX(c + .5), low = Math.min(atY(r - .5), atY(r + .5)), high = Math.max(atY(r - .5), atY(r + .5));
    const cell = svg("rect", {x: from + gap / 2, y: low + gap / 2, width: Math.max(.5, to - from - gap), height: Math.max(.5, high - low - gap), rx: to - from > 12 ? 2 : 0, style: `fill:color-mix(in srgb, var(--first) ${Math.round(100 * value)}%, var(--rest))`});
    picture.append(withTitle(cell, series.hover && series.hover[r][c]));
    if (series.text && to - from > 7 * series.text[r][c].length + 4 && high - low > 14) picture.append(svg("text", {x: (from + to) / 2, y: (low + high) / 2 + 4, "text-anchor": "middle", class: "strong", style: value > .55 ? "fill:var(--card)" : ""}, series.text[r][c]));
  }));
}
