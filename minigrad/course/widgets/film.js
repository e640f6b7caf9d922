// Plays a film: pictures, code and text whose parts change step by step. Python lists the changes.
//
//   panels      [{ title, html, wide }]      HTML or SVG; parts that change have a data-id
//   steps       [{ phase, say, text: {id: words}, on: {class: [ids]}, off: …, hot: … }]
//               `on` lasts until `off`; `hot` lasts for this step alone; `scene` shows the parts whose data-scene has that
//               name and hides other scenes; parts with the same data-key in both move from the old place to the new one
//   links       {id: [ids]}                  pressing a part highlights other parts
//   choices     [{ label, options: [label] }]  switches; each combination has its own film in `films`
//
// A widget's own file may define decorate(f, n, root), which is called after step n is drawn.
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
  const films = model.get("films"), choices = model.get("choices"), choice = (i) => model.get("choice")[i] ?? 0;
  // Films are in the order of the choices; the last choice varies fastest.
  const chosen = () => films[choices.reduce((n, { options }, i) => n * options.length + choice(i), 0)];
  // The state: `parts` by id, null before the panels are drawn; `now`, the step drawn; `lit`, its hot parts.
  const f = { model, film: chosen(), parts: null, now: -1, lit: [], pressed: null, scene: null, calm: matchMedia("(prefers-reduced-motion: reduce)") };
  const panels = () => f.film.panels.map(panelHTML).join("");
  const body = `
    ${choices.length ? `<div class="mg-choices" role="toolbar" aria-label="Choices">${choices.map(choiceHTML).join("")}</div>` : ""}
    <div class="mg-panels">${panels()}</div>`;
  const { root, restart, destroy } = stepper({
    model, el, phases: model.get("phases"), last: f.film.steps.length - 1, body, show: (n, root) => show(f, n, root), forget: () => { f.parts = null; },
    says: () => f.film.steps.map(({ say }) => say), heard: [["change:choice", onChoice]],
  });
  for (const event of ["click", "keydown"]) root.querySelector(".mg-panels").addEventListener(event, (happened) => onPress(f, happened));
  const selects = [...root.querySelectorAll("[data-choice]")];
  const showChoice = () => selects.forEach((select, i) => { select.value = choice(i); });
  showChoice();
  for (const select of selects) select.addEventListener("change", () => {
    model.set("choice", selects.map(({ value }) => Number(value)));
    model.save_changes();
  });
  function onChoice() {
    f.film = chosen();
    showChoice();
    root.querySelector(".mg-panels").innerHTML = panels();
    f.parts = f.pressed = null;
    restart(f.film.steps.length - 1);
  }
  return destroy;
}

function reset(f, root) {
  for (const view of root.querySelectorAll("[data-panel]")) {
    view.innerHTML = f.film.panels[view.dataset.panel].html;
    const widths = settled(view, root).map((svg) => svg.viewBox.baseVal.width);
    view.parentNode.style.setProperty("--widest", `${Math.max(0, ...widths)}px`); // panels with pictures too wide are stacked
  }
  f.parts = {};
  for (const part of root.querySelectorAll("[data-id]")) (f.parts[part.dataset.id] ??= []).push(part);
  for (const id of Object.keys(f.film.links ?? {})) for (const part of f.parts[id] ?? []) {
    part.tabIndex = 0;
    part.setAttribute("role", "button");
    part.setAttribute("aria-pressed", "false");
    part.closest("svg")?.setAttribute("role", "group"); // an element with buttons must not be an image
  }
  Object.assign(f, { lit: [], now: -1, scene: null });
}
function change(f, root, next) {
  const before = f.scene === null ? {} : placesOf(root, f.scene);
  for (const part of root.querySelectorAll("[data-scene]")) part.hidden = part.dataset.scene !== next;
  f.scene = next;
  if (f.calm.matches) return;
  for (const [key, { part, x, y, scale }] of Object.entries(placesOf(root, next))) {
    const from = before[key];
    if (!from) continue;
    const start = `translate(${(from.x - x) / scale}px, ${(from.y - y) / scale}px)`;
    part.animate([{ transform: start }, { transform: "none" }], { duration: 350, easing: "ease-in-out" });
  }
}
const partsOf = ({ parts }, ids) => ids.flatMap((id) => parts[id] ?? []);
function dress(f, dresses, put) {
  for (const [name, ids] of Object.entries(dresses ?? {})) {
    for (const part of partsOf(f, ids)) part.classList.toggle(`mg-${name}`, put);
  }
}
function apply(f, { text, on, off }) {
  for (const [id, words] of Object.entries(text ?? {})) {
    for (const part of partsOf(f, [id])) (part.querySelector(".mg-value") ?? part).textContent = words;
  }
  dress(f, on, true);
  dress(f, off, false);
}
function show(f, n, root) {
  const { steps } = f.film, { hot, phase, say } = steps[n];
  if (!f.parts || n < f.now) reset(f, root);
  for (const [name, part] of f.lit) part.classList.remove(name);
  while (f.now < n) apply(f, steps[++f.now]);
  const next = steps.slice(0, n + 1).findLast((each) => each.scene)?.scene;
  if (next && next !== f.scene) change(f, root, next);
  f.lit = Object.entries(hot ?? {}).flatMap(([name, ids]) => partsOf(f, ids).map((part) => [`mg-${name}`, part]));
  for (const [name, part] of f.lit) part.classList.add(name);
  for (const svg of root.querySelectorAll(".mg-panels svg")) svg.setAttribute("aria-label", say);
  if (f.pressed) press(f, f.pressed, true);
  if (typeof decorate === "function") decorate(f, n, root);
  return { phase, say, spot: f.lit.length ? f.lit[0][1] : null };
}
function press(f, id, on) {
  for (const part of partsOf(f, [id])) part.setAttribute("aria-pressed", String(on));
  for (const part of partsOf(f, [id, ...f.film.links[id]])) part.classList.toggle("mg-linked", on);
  f.pressed = on ? id : null;
}
function onPress(f, event) {
  if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
  const part = event.target.closest?.("[data-id][aria-pressed]");
  if (!part) return;
  if (event.type === "keydown") { event.preventDefault(); event.stopPropagation(); }
  const id = part.dataset.id, again = f.pressed === id;
  if (f.pressed) press(f, f.pressed, false);
  if (!again) press(f, id, true);
  if (typeof decorate === "function") decorate(f, f.now, part.closest(".mg-widget"));
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
