// This script draws the page's charts, and answers the sliders of curves. The JSON of each chart stands beside it.
"use strict";

// Return a curve's value at `x`: the value of the last step that begins at `x` or before.
function valueAt(steps, across, up, x) {
  let found = null;
  for (const step of steps) {
    if (step[across] <= x) found = step[up];
  }
  return found;
}

// Write the curve's value at the slider in words, for readers who do not see the curve.
function answer(figure, spec, view) {
  const out = figure.querySelector(".answer");
  if (!out) return;
  const { across, up } = out.dataset;
  const say = (x) => {
    out.textContent = `${across} ${Number(x).toLocaleString("en")}: ${up} ${valueAt(spec.data.values, across, up, x)}`;
  };
  say(view.signal("asked"));
  view.addSignalListener("asked", (_, x) => say(x));
}

async function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
  const options = { renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } };
  const drawn = await vegaEmbed(figure.querySelector(".chart"), spec, options);
  answer(figure, spec, drawn.view);
}

// Unfold everything for printing, as nobody can do so on paper.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("main details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
});

Promise.all([...document.querySelectorAll("figure[data-chart]")].map(draw)).then(
  () => { document.documentElement.dataset.drawn = "yes"; },
  (error) => { document.documentElement.dataset.drawn = "no"; console.error(error); },
);
