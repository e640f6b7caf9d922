// Plays a film: pictures, code and text whose parts change step by step. Python lists the changes; this file does not
// know what the pictures mean.
//
//   panels      [{ title, html, wide }]      HTML or SVG; parts that change have a data-id
//   steps       [{ phase, say, text: {id: words}, on: {class: [ids]}, off: …, hot: … }]
//               `on` lasts until `off`; `hot` lasts for this step alone; `scene` shows the parts whose data-scene has that
//               name and hides other scenes; parts with the same data-key in both move from the old place to the new one
//   links       {id: [ids]}                  pressing a part highlights other parts
//   choices     [{ label, options: [label] }]  switches; each combination has its own film in `films`
//
// A screen is a function of (panels, steps 0..n): to step back, it starts from the original panels again.

const words = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`); // text may contain a learner's names
const panelHTML = ({ title, html, wide }, n) => `
  <div class="mg-panel${wide ? " mg-wide" : ""}" role="group"${title ? ` aria-label="${words(title)}"` : ""}>
    ${title ? `<p class="mg-title" aria-hidden="true">${words(title)}</p>` : ""}<div class="mg-view" data-panel="${n}">${html}</div>
  </div>`;
const choiceHTML = ({ label, options }, n) => `
  <label>${label} <select data-choice="${n}" aria-label="${label}">
    ${options.map((option, i) => `<option value="${i}">${words(option)}</option>`).join("")}
  </select></label>`;

function render({ model, el }) {
  const films = model.get("films"), choices = model.get("choices");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let film = films[chosen()], parts = null, now = -1, lit = [], pressed = null, scene = null;

  function chosen() {
    // Films are in the order of the choices; the last choice varies fastest.
    return choices.reduce((n, { options }, i) => n * options.length + (model.get("choice")[i] ?? 0), 0);
  }
  const body = () => `
    ${choices.length ? `<div class="mg-choices" role="toolbar" aria-label="Choices">${choices.map(choiceHTML).join("")}</div>` : ""}
    <div class="mg-panels">${film.panels.map(panelHTML).join("")}</div>`;

  function reset(root) {
    for (const view of root.querySelectorAll("[data-panel]")) {
      view.innerHTML = film.panels[view.dataset.panel].html;
      const widths = settled(view, root).map((svg) => svg.viewBox.baseVal.width);
      view.parentNode.style.setProperty("--widest", `${Math.max(0, ...widths)}px`); // panels with pictures too wide are stacked
    }
    parts = {};
    for (const part of root.querySelectorAll("[data-id]")) (parts[part.dataset.id] ??= []).push(part);
    for (const id of Object.keys(film.links ?? {})) for (const part of parts[id] ?? []) {
      part.tabIndex = 0;
      part.setAttribute("role", "button");
      part.setAttribute("aria-pressed", "false");
      part.closest("svg")?.setAttribute("role", "group"); // an element with buttons must not be an image
    }
    lit = [];
    now = -1;
    scene = null;
  }
  function change(root, next) {
    const before = scene === null ? {} : placesOf(root, scene);
    for (const part of root.querySelectorAll("[data-scene]")) part.hidden = part.dataset.scene !== next;
    scene = next;
    if (calm.matches) return;
    for (const [key, { part, x, y, scale }] of Object.entries(placesOf(root, next))) {
      const from = before[key];
      if (!from) continue;
      const start = `translate(${(from.x - x) / scale}px, ${(from.y - y) / scale}px)`;
      part.animate([{ transform: start }, { transform: "none" }], { duration: 350, easing: "ease-in-out" });
    }
  }
  const all = (ids) => ids.flatMap((id) => parts[id] ?? []);
  const dress = (dresses, put) => {
    for (const [name, ids] of Object.entries(dresses ?? {})) {
      for (const part of all(ids)) part.classList.toggle(`mg-${name}`, put);
    }
  };
  function apply({ text, on, off }) {
    for (const [id, words] of Object.entries(text ?? {})) {
      for (const part of all([id])) (part.querySelector(".mg-value") ?? part).textContent = words;
    }
    dress(on, true);
    dress(off, false);
  }
  function show(n, root) {
    if (!parts || n < now) reset(root);
    for (const [name, part] of lit) part.classList.remove(name);
    while (now < n) apply(film.steps[++now]);
    const step = film.steps[n];
    const next = film.steps.slice(0, n + 1).findLast((each) => each.scene)?.scene;
    if (next && next !== scene) change(root, next);
    lit = Object.entries(step.hot ?? {}).flatMap(([name, ids]) => all(ids).map((part) => [`mg-${name}`, part]));
    for (const [name, part] of lit) part.classList.add(name);
    for (const svg of root.querySelectorAll(".mg-panels svg")) svg.setAttribute("aria-label", step.say);
    if (pressed) press(pressed, true);
    return { phase: step.phase, say: step.say, spot: lit.length ? lit[0][1] : null };
  }
  function press(id, on) {
    for (const part of all([id])) part.setAttribute("aria-pressed", String(on));
    for (const part of all([id, ...film.links[id]])) part.classList.toggle("mg-linked", on);
    pressed = on ? id : null;
  }
  function onPress(event) {
    if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
    const part = event.target.closest?.("[data-id][aria-pressed]");
    if (!part) return;
    if (event.type === "keydown") { event.preventDefault(); event.stopPropagation(); }
    const id = part.dataset.id, again = pressed === id;
    if (pressed) press(pressed, false);
    if (!again) press(id, true);
  }

  const { root, restart, destroy } = stepper({
    model, el, phases: model.get("phases"), last: film.steps.length - 1, body: body(), show, forget: () => { parts = null; },
  });
  root.querySelector(".mg-panels").addEventListener("click", onPress);
  root.querySelector(".mg-panels").addEventListener("keydown", onPress);
  const selects = [...root.querySelectorAll("[data-choice]")];
  const showChoice = () => selects.forEach((select, i) => { select.value = model.get("choice")[i] ?? 0; });
  showChoice();
  for (const select of selects) select.addEventListener("change", () => {
    model.set("choice", selects.map(({ value }) => Number(value)));
    model.save_changes();
  });
  function onChoice() {
    film = films[chosen()];
    showChoice();
    root.querySelector(".mg-panels").innerHTML = film.panels.map(panelHTML).join("");
    parts = pressed = null;
    restart(film.steps.length - 1);
  }
  model.on("change:choice", onChoice);
  return () => { model.off("change:choice", onChoice); destroy(); };
}

// The positions of the parts of a scene that have a data-key.
function placesOf(root, scene) {
  const places = {};
  for (const part of root.querySelectorAll(`[data-scene="${scene}"] [data-key]`)) {
    const { left, top } = part.getBoundingClientRect();
    const svg = part.closest("svg");
    places[part.dataset.key] = { part, x: left, y: top, scale: svg.getBoundingClientRect().width / svg.viewBox.baseVal.width || 1 };
  }
  return places;
}

export default { render };
