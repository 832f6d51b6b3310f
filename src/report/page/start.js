function finishPage(data) {
  document.title = document.getElementById("title").textContent + " – report";
  document.getElementById("contents").replaceChildren(...[...document.querySelectorAll("main > section")].map(part => make("a", {href: "#" + part.id, textContent: part.querySelector("h2").textContent})));
  document.getElementById("footer").textContent = [`Made by ${data.made_by}.`, "Nothing on this page asks another machine for anything.", data.plots].filter(Boolean).join(" ");
  forgetGone();
  requestAnimationFrame(drawAll);
}
const data = JSON.parse(document.getElementById("data").textContent);
if (data.kind === "run") runPage(data, ["test", "valid"].find(split => data.runs[0].evaluations[split])); else runsPage(data);
loadPlotly().catch(() => {});  // the plain drawings stay
