// The chain rule: writes numbers into the picture, moves the spotlight, sets the arithmetic of a step below it.
// A screen is a function of (picture, steps 0..n), so going back means starting over: at 60 boxes that takes no time.

const PHASES = ["built", "forward", "backward", "done"];
const UNKNOWN = "·";
const BODY = `<div class="mg-view"></div><div class="mg-equations" aria-hidden="true"></div>`;

function render({ model, el }) {
  const steps = model.get("steps");
  let now = -1, screen = null;

  function show(n, root) {
    screen ??= pictured(root);
    if (n < now) { screen.clear(); now = -1; }
    while (now < n) screen.apply(steps[++now]);
    const step = steps[n];
    screen.light(step);
    screen.svg.setAttribute("aria-label", step.say);
    root.querySelector(".mg-equations").replaceChildren(...(step.equations ?? []).map(equation));
    return { phase: step.phase, say: step.say, spot: screen.spot };
  }
  function pictured(root) {
    const view = root.querySelector(".mg-view");
    view.innerHTML = model.get("picture");
    const screen = screenOf(view.querySelector("svg"));
    screen.clear();
    return screen;
  }
  return stepper({ model, el, phases: PHASES, last: steps.length - 1, body: BODY, show }).destroy;
}

// The picture as something that steps can be written on.
function screenOf(svg) {
  const group = {}, values = {}, grads = {}, labels = {};
  for (const g of svg.querySelectorAll("[data-id]")) {
    const id = g.dataset.id;
    group[id] = g;
    if (!g.matches(".mg-constant")) values[id] = g.querySelector(".mg-value");
    grads[id] = g.querySelector(".mg-grad");
    labels[id] = g.querySelector(".mg-label");
  }
  settled(svg);
  const write = (slots, id, text) => { if (slots[id]) slots[id].textContent = text; };
  const screen = { svg, spot: null, clear, apply, light };

  function clear() {
    for (const id in group) {
      write(values, id, UNKNOWN);
      write(grads, id, UNKNOWN);
      write(labels, id, "");
      group[id].classList.remove("mg-known", "mg-keeps", "mg-passed");
    }
  }
  function apply(step) {
    for (const [id, text] of Object.entries(step.values ?? {})) {
      write(values, id, text);
      group[id].classList.add("mg-known");
    }
    for (const [id, text] of Object.entries(step.grads ?? {})) write(grads, id, text);
    for (const [id, text] of Object.entries(step.labels ?? {})) {
      write(labels, id, text);
      group[id].classList.add("mg-passed");
    }
    for (const id of step.kept ?? []) group[id].classList.add("mg-keeps");
    for (const id of step.freed ?? []) group[id].classList.remove("mg-keeps");
  }
  function light(step) {
    for (const g of Object.values(group)) g.classList.remove("mg-hot", "mg-source", "mg-forward", "mg-backward");
    for (const id of step.sources ?? []) group[id].classList.add("mg-source", `mg-${step.phase}`);
    const spot = [step.box, ...(step.arrows ?? [])].filter(Boolean).map((id) => group[id]);
    for (const g of spot) g.classList.add("mg-hot", `mg-${step.phase}`);
    screen.spot = step.box ? group[step.box] : null;
  }
  return screen;
}

// One row of arithmetic: each number above the words for what it is.
function equation(terms) {
  const row = document.createElement("div");
  for (const [number, what] of terms) {
    const term = document.createElement("span");
    term.className = what ? "mg-term" : "mg-operator";
    term.append(Object.assign(document.createElement("b"), { textContent: number }));
    if (what) term.append(Object.assign(document.createElement("small"), { textContent: what }));
    row.append(term);
  }
  return row;
}

export default { render };
