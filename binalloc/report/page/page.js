// Draws the page's charts and lets the curves answer. What each chart is stands beside it, as JSON.
"use strict";

// A curve's value at `x`: that of the last step that begins there or before.
function valueAt(steps, across, up, x) {
  let found = null;
  for (const step of steps) {
    if (step[across] <= x) found = step[up];
  }
  return found;
}

// Says in words, for readers who do not see the curve, what the slider asks for.
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

// On paper nothing can be unfolded.
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
