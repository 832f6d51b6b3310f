// The same figure by Plotly: hovering, zooming, a picture to save. Plotly reads a little markup in texts, so names are escaped for it.
const escaped = text => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const forPlotly = text => escaped(text).replace(/\n/g, "<br>");
const colourOf = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const hovers = list => (list || []).map(text => forPlotly(text || ""));
const shown = series => series.hover ? {hovertemplate: "%{text}<extra></extra>", text: hovers(series.hover)} : {hoverinfo: "skip"};
const errorsOf = series => series.error ? {error_y: {type: "data", symmetric: false, array: series.y.map((y, i) => isNumber(y) ? series.error.high[i] - y : 0),
  arrayminus: series.y.map((y, i) => isNumber(y) ? y - series.error.low[i] : 0), color: colourOf(series.ink), thickness: 1.4, width: 0}} : {};

const traces = {
  line: series => ({type: "scatter", mode: series.dots || series.x.length === 1 ? "lines+markers" : "lines", x: series.x, y: series.y, connectgaps: false,
    line: {color: colourOf(series.ink), width: series.thin ? 1.3 : 2.2, dash: series.dashed ? "dash" : "solid", shape: series.steps ? "hv" : "linear"}, marker: {size: 7, color: colourOf(series.ink)}, ...errorsOf(series), ...shown(series)}),
  points: series => {
    const colour = series.value ? series.value.map(value => isNumber(value) ? value : .5) : colourOf(series.ink);
    const scale = [[0, colourOf("first")], [.5, mixed(colourOf("first"), colourOf("second"), .5)], [1, colourOf("second")]];
    return {type: "scatter", mode: "markers", x: series.x, y: series.y, ...errorsOf(series), ...shown(series),
      marker: {size: 13, color: colour, cmin: 0, cmax: 1, colorscale: scale, symbol: series.x.map((_, i) => series.hollow && series.hollow[i] ? "circle-open" : "circle"), line: {width: series.hollow ? 2 : 1, color: series.value ? colour : colourOf("card"), cmin: 0, cmax: 1, colorscale: scale}}};
  },
  bars: series => ({type: "bar", orientation: series.across ? "h" : "v", [series.across ? "y" : "x"]: series.place, [series.across ? "x" : "y"]: series.size.map(size => isNumber(size) ? size - (series.base ?? 0) : null), base: series.base ?? 0,
    width: series.wide ?? .8, marker: {color: series.inks ? series.inks.map(colourOf) : colourOf(series.ink), line: {width: 0}, cornerradius: 3}, ...shown(series), ...(series.hover ? {textposition: "none"} : {})}),
  cells: series => ({type: "heatmap", z: series.rows, zmin: 0, zmax: 1, showscale: false, xgap: series.gap ?? 1, ygap: series.gap ?? 1, colorscale: [[0, colourOf("rest")], [1, colourOf("first")]],
    hoverongaps: false, hovertemplate: "%{customdata}<extra></extra>", customdata: series.hover.map(hovers)}),
};
// Texts in cells, in a colour that stands out from the cell's.
const cellTexts = figure => figure.series.filter(series => series.text).flatMap(series => series.text.flatMap((row, r) => row.map((text, c) => ({x: c, y: r, text: escaped(text), showarrow: false, font: {size: 12, color: colourOf(series.rows[r][c] > .55 ? "card" : "ink")}}))));
function mixed(a, b, share) {
  const parts = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16)), [one, two] = [parts(a), parts(b)];
  return "#" + one.map((part, i) => Math.round(part + share * (two[i] - part)).toString(16).padStart(2, "0")).join("");
}
function plotlyAxis(axis, range, room) {
  const axisOf = {title: axis.title ? {text: escaped(axis.title), font: {size: 12}, standoff: 6} : undefined, range: axis.down ? [range[1], range[0]] : range, zeroline: false, gridcolor: colourOf("line"), linecolor: colourOf("line"), tickcolor: colourOf("line"), automargin: true, fixedrange: Boolean(axis.names)};
  if (axis.names) {
    const every = Math.max(1, Math.ceil(axis.names.length * axis.each / room));  // as many as there is room for
    const kept = axis.names.map((_, i) => i).filter(i => i % every === 0);
    return {...axisOf, tickmode: "array", tickvals: kept, ticktext: kept.map(i => escaped(cut(axis.names[i], axis.letters))), showgrid: false, ticks: ""};
  }
  return {...axisOf, nticks: Math.max(4, Math.floor(room / 50)), tickformat: axis.percent ? (range[1] - range[0] < .05 ? ".1%" : ".0%") : axis.whole ? ",d" : "", exponentformat: "e"};
}
function drawLive(one) {
  const figure = one.figure, width = Math.max(260, one.drawing.clientWidth), height = typeof figure.height === "function" ? figure.height(width) : figure.height || 260;
  const data = figure.series.map(series => traces[series.kind](series));
  const xRoom = width - 90, yRoom = height - 60, [letters, each] = figure.x.names ? namesAlong(figure.x.names, xRoom) : [0, 0];
  const xAxis = plotlyAxis({...figure.x, each, letters}, rangeOf(figure.x, valuesOf(figure, "x")), xRoom);
  const yAxis = plotlyAxis({...figure.y, each: 13, letters: Math.max(6, Math.floor(width * .36 / 6.4))}, rangeOf(figure.y, valuesOf(figure, "y")), yRoom);
  xAxis.tickangle = 0;
  if (!figure.y.names) xAxis.showgrid = false;
  const layout = {width, height, margin: {l: 44, r: 14, t: figure.bands ? 22 : 10, b: figure.x.title ? 44 : 26}, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, barmode: "overlay", dragmode: false,
    font: {family: getComputedStyle(document.body).fontFamily, size: 12, color: colourOf("quiet")}, modebar: {bgcolor: "rgba(0,0,0,0)", color: colourOf("quiet"), activecolor: colourOf("accent")}, hoverlabel: {bgcolor: colourOf("card"), bordercolor: colourOf("quiet"), font: {color: colourOf("ink"), size: 13}, align: "left"}, xaxis: xAxis, yaxis: yAxis, hovermode: figure.hovermode || "closest",
    shapes: (figure.bands || []).filter(band => band.shaded).map(band => ({type: "rect", xref: "x", yref: "paper", x0: band.from, x1: band.to, y0: 0, y1: 1, layer: "below", line: {width: 0}, fillcolor: colourOf("band")})),
    annotations: cellTexts(figure).concat((figure.bands || []).map(band => ({x: (band.from + band.to) / 2, y: 1, yref: "paper", yanchor: "bottom", showarrow: false, text: escaped(band.name), font: {size: 12, color: colourOf("quiet")}})))};
  if (!one.live) { one.live = make("div", {className: "interactive"}); one.drawing.append(one.live); }
  Plotly.react(one.live, data, layout, {displaylogo: false, displayModeBar: true, modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]], toImageButtonOptions: {filename: "figure", scale: 2}, responsive: false});
  one.drawing.classList.add("live");
}

// Plotly travels compressed inside the page. Without it, or in a browser that cannot unpack it, the plain drawings stay.
async function loadPlotly() {
  const packed = document.getElementById("plotly").textContent.trim();
  if (!packed || typeof DecompressionStream === "undefined") return;
  const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(make("script", {textContent: text}));
  for (const one of figures) if (one.seen && one.drawing.isConnected) drawLive(one);
}
