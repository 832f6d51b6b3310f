// A figure is described once and drawn twice: at once as plain SVG, which is also what is printed, and by Plotly where the page has it.
//   {title, about, height, x: axis, y: axis, series: [...], bands: [{from, to, name}], table: {head, rows}}
//   axis    {title, range: [low, high], percent, names: [...], whole}; with names, places count from 0
//   series  {kind: "line" | "points" | "bars" | "cells", name, ink: "first" | "second" | "third" | "quiet", dashed, hover: [text]}
//           line, points: x, y; error: {low, high}; points also value: [0 … 1] for their colour, hollow: [bool]
//           bars: place, size; across: they lie; base; inks: [ink] of each
//           cells: rows: [[0 … 1 or null]], text: [[…]]; hover: [[text]]
const figures = [];
const inkOf = ink => "var(--" + ink + ")";

function legendOf(figure) {
  const named = figure.series.filter(series => series.name && !series.silent);
  const items = named.length > 1 || figure.legend ? named.map(series => {
    const key = make("span", {className: "key" + (series.kind === "line" ? series.dashed ? " dashed" : "" : series.kind === "points" ? " spot" : " block")});
    if (series.kind === "line" || series.kind === "points") key.style.borderColor = inkOf(series.ink); else key.style.background = inkOf(series.ink);
    return make("li", {}, key, series.name);
  }) : [];
  for (const [text, low, high] of figure.ramp ? [figure.ramp] : []) items.push(make("li", {}, text + ": " + low, make("span", {className: "ramp"}), high));
  return items.length ? make("ul", {className: "legend"}, ...items) : null;
}

function figureElement(figure) {
  const drawing = make("div", {className: "drawing"});
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", figure.title + ". " + (figure.about || ""));
  const table = make("details", {}, make("summary", {textContent: "The same as a table"}), tableOf(figure.table.head, figure.table.rows, figure.table.words));
  table.querySelector(".scroll").classList.add("tall");
  const element = make("figure", {className: figure.narrow ? "narrow" : ""}, make("figcaption", {}, make("h3", {textContent: figure.title}), figure.about ? make("p", {className: "quiet", textContent: figure.about}) : null), legendOf(figure), drawing, table);
  figures.push({figure, drawing, live: null, seen: false});
  return element;
}

function drawAll() {
  for (const one of figures) {
    if (!one.drawing.isConnected) continue;
    const width = Math.max(260, Math.floor(one.drawing.clientWidth)), old = one.drawing.querySelector(".plain"), fresh = drawPlain(one.figure, width);
    if (old) old.replaceWith(fresh); else one.drawing.prepend(fresh);
    watched.observe(one.drawing);
    if (one.live) drawLive(one);
  }
}
// Figures of sections that were made anew are forgotten.
function forgetGone() { for (let i = figures.length - 1; i >= 0; --i) if (!figures[i].drawing.isConnected) figures.splice(i, 1); }

// Plotly draws what is looked at, and draws it once.
const watched = new IntersectionObserver(entries => {
  for (const entry of entries) {
    const one = figures.find(candidate => candidate.drawing === entry.target);
    if (one && entry.isIntersecting) { one.seen = true; if (typeof Plotly !== "undefined") drawLive(one); }
  }
}, {rootMargin: "200px"});
let resized = 0;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(drawAll, 150); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
