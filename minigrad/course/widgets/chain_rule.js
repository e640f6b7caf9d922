// The chain rule: writes numbers into the boxes and onto the arrows of the picture, and highlights those of a step.

const PHASES = ["built", "forward", "backward", "done"];
const UNKNOWN = "·", ON_ARROW = ["came", "slope", "passed"];
const BODY = `
  <div class="mg-options-row">
    <div class="mg-choices" role="toolbar" aria-label="View">
      <label><input type="checkbox" data-asks> ask me first</label>
      <label>on the arrows <select data-view aria-label="on the arrows"><option>numbers</option><option>formulas</option></select></label>
    </div>
    <div class="mg-choices mg-drags" role="group" aria-label="Drag a value" hidden></div>
    <span class="mg-held"></span>
  </div>
  ${ASK}
  <div class="mg-view"></div>
  <div class="mg-inspected mg-view" role="region" aria-label="Numbers of a box" hidden></div>`;

function render({ model, el }) {
  const steps = model.get("steps"), questions = asking(model, steps), program = model.get("program");
  // The state: `drawn` is the step on the screen, `inspected` the id of the box whose numbers are shown.
  const c = { model, steps, questions, program, screen: null, drawn: -1, inspected: null, dragged: false, sliders: [] };
  const forget = () => { c.screen = null; c.drawn = -1; };
  const { root, restart, destroy } = stepper({
    model, el, phases: PHASES, last: steps.length - 1, body: BODY, show: (n, root) => show(c, n, root),
    limit: questions.limit, stopped: () => questions.focus(el), forget, says: () => steps.map(({ say }) => say),
    heard: ["asks", "answers", "view"].map((key) => [`change:${key}`, follow]),
  });
  Object.assign(c, { root, restart });
  questions.listen(root);
  for (const event of ["pointerover", "pointerleave", "focusin"]) root.addEventListener(event, ({ target }) => {
    const say = root.querySelector(".mg-say"), text = (c.screen && explain(c, target.closest?.(CELLS))) ?? c.say;
    if (say.textContent !== text) say.textContent = text;
  });
  for (const event of ["click", "keydown"]) root.querySelector(".mg-view").addEventListener(event, (happened) => choose(c, happened));
  const drags = root.querySelector(".mg-drags");
  drags.append("drag ", ...program.filter((node) => node.drags).map((node) => sliderOf(node, c.screen.nameOf(node.id))));
  c.sliders = [...drags.querySelectorAll("input")];
  drags.addEventListener("input", () => drag(c));
  const asks = root.querySelector("[data-asks]"), views = root.querySelector("[data-view]");
  root.querySelector(".mg-choices").addEventListener("change", () => {
    const chosen = views.value; // read now: the first set() runs follow, which resets it
    model.set("asks", asks.checked);
    model.set("view", chosen);
    model.save_changes();
  });
  function follow() {
    asks.checked = model.get("asks");
    drags.hidden = !c.sliders.length || asks.checked; // dragging would reveal the answers
    views.value = model.get("view");
    forget();
    restart();
  }
  follow();
  return destroy;
}

function show(c, n, root) {
  const { model, steps, questions } = c, step = steps[n], isOpen = questions.isOpen(n), upto = n - isOpen;
  const screen = c.screen ??= pictured(model, root);
  if (c.dragged || upto < c.drawn) { screen.clear(); c.drawn = -1; }
  c.dragged = false;
  for (const slider of c.sliders) tell(slider, slider.defaultValue);
  while (c.drawn < upto) screen.apply(steps[++c.drawn], model.get("view"));
  const say = c.say = isOpen ? step.question.ask : questions.verdict(n) + step.say;
  screen.light(step);
  screen.veil(isOpen ? step.question.veil : "", step.box);
  screen.svg.setAttribute("aria-label", say);
  root.querySelector(".mg-held").textContent = steps[upto].held ?? "";
  questions.ask(n, root);
  inspect(c, root);
  return { phase: step.phase, say, spot: screen.spot };
}
function pictured(model, root) {
  const view = root.querySelector(".mg-view");
  view.innerHTML = model.get("pictures")[model.get("view")];
  return new Screen(settled(view, root)[0]);
}

// Show the last step of the run with the sliders' numbers at the leaves.
function drag(c) {
  const { root, sliders, program } = c, leaves = sliders.map((slider) => Number(slider.value)), last = c.steps.length - 1;
  if (!c.dragged && c.drawn < last) c.restart(last, last);
  c.dragged = true;
  sliders.forEach((slider, i) => tell(slider, leaves[i]));
  const { values, grads, shares } = runProgram(program, Object.fromEntries(sliders.map((slider, i) => [slider.dataset.leaf, leaves[i]])));
  const said = (each, say = number) => Object.fromEntries(Object.entries(each).map(([id, x]) => [id, say(x)]));
  const numbers = said(shares, ([incoming, slope, outgoing]) => `${number(incoming)}\n× ${number(slope)}\n= ${number(outgoing)}`);
  const parts = said(shares, ([, , outgoing]) => number(outgoing)), flows = said(shares, ([, , outgoing]) => band(Math.abs(outgoing)));
  c.screen.apply({ values: said(values), grads: said(grads), numbers, parts, flows }, c.model.get("view"));
  const y = program.at(-1).id, z = c.screen.nameOf(y);
  const each = sliders.map(({ dataset: { leaf } }) => `∂${z}/∂${c.screen.nameOf(leaf)} = ${number(grads[leaf])}`);
  root.querySelector(".mg-say").textContent = c.say = `Dragged: ${z} = ${number(values[y])}, and ${each.join(", ")}.`;
}

// Show the numbers of the box that the reader has chosen, at this step.
function inspect({ screen, inspected }, root) {
  const region = root.querySelector(".mg-inspected");
  for (const g of root.querySelectorAll("g[role=button]")) g.ariaExpanded = g.dataset.id === inspected;
  region.hidden = !inspected;
  const known = Object.entries(screen.heats[inspected] ?? {});
  region.replaceChildren(...known.map(([of, heat]) => {
    const term = made("span", { className: "mg-term" });
    const table = tableOf(heat);
    table.dataset.of = of;
    if (of === "grad") for (const entry of table.querySelectorAll("td")) entry.tabIndex = 0;
    term.append(table, made("small", { textContent: `${of} of ${screen.nameOf(inspected)}` }));
    return term;
  }));
}
function choose(c, event) {
  const g = event.target.closest("g[role=button]");
  if (!g || !["Enter", " ", undefined].includes(event.key)) return;
  event.preventDefault();
  c.inspected = c.inspected === g.dataset.id ? null : g.dataset.id;
  inspect(c, c.root);
}

// The picture: applies, clears and highlights steps. Each slot is id → the element that holds its text.
class Screen {
  constructor(svg) {
    Object.assign(this, { svg, group: {}, values: {}, grads: {}, parts: {}, labels: {}, maps: {}, veiled: null });
    for (const g of svg.querySelectorAll("[data-id]")) {
      const id = g.dataset.id;
      this.group[id] = g;
      if (!g.matches(".mg-constant")) this.values[id] = g.querySelector(".mg-value");
      this.grads[id] = g.querySelector(".mg-grad");
      this.labels[id] = g.querySelector(".mg-label");
      for (const part of g.querySelectorAll(".mg-part")) this.parts[part.dataset.part] = part;
      for (const map of g.querySelectorAll(".mg-heat")) (this.maps[id] ??= {})[map.dataset.of] = map; // of a box, or of an arrow
      if (g.matches(".mg-box:has(.mg-heat)")) this.makeButton(g);
    }
    this.clear();
  }
  makeButton(g) { // an element that contains buttons must not have the role "img"
    this.svg.setAttribute("role", "group");
    Object.assign(g, { tabIndex: 0, role: "button", ariaLabel: `numbers of ${this.nameOf(g.dataset.id)}` });
  }
  nameOf(id) {
    return this.group[id].querySelector(".mg-name").textContent;
  }
  write(slot, id, text) {
    const part = this[slot][id], label = part?.previousElementSibling;
    if (part) part.textContent = text;
    part?.removeAttribute("textLength");
    part?.setAttribute("lengthAdjust", "spacingAndGlyphs");
    if (!label || part.getAttribute("y") !== label.getAttribute("y")) return;
    const room = part.getAttribute("x") - label.getAttribute("x") - label.getComputedTextLength() - 5;
    if (part.getComputedTextLength() > room) part.setAttribute("textLength", room);
  }
  // A tspan for each line, as draw/svg.py writes them.
  label(id, text) {
    const label = this.labels[id];
    label?.replaceChildren(...(text ? text.split("\n") : []).map((line, i) => {
      const span = document.createElementNS(label.namespaceURI, "tspan");
      span.setAttribute("x", label.getAttribute("x"));
      span.setAttribute("dy", i && 14);
      span.textContent = `${line} `;
      return span;
    }));
  }
  // The band of a gradient; none without `width`.
  flow(id, width) {
    const { classList, style } = this.group[id];
    classList.toggle("mg-flows", width !== undefined);
    classList.toggle("mg-none", width === 0);
    style.setProperty("--mg-carries", width ?? 0);
  }
  clear() {
    for (const id in this.group) {
      for (const slot of ["values", "grads"]) this.write(slot, id, UNKNOWN);
      this.label(id, "");
      this.flow(id);
      this.group[id].classList.remove("mg-known", "mg-keeps", "mg-freed");
      for (const map of Object.values(this.maps[id] ?? {})) fill(map, null);
    }
    for (const id in this.parts) this.write("parts", id, UNKNOWN);
    this.heats = {};
  }
  apply(step, view) {
    const each = (texts, put) => Object.entries(texts ?? {}).forEach((pair) => put(...pair));
    each(step.values, (id, text) => { this.write("values", id, text); this.group[id].classList.add("mg-known"); });
    each(step.grads, (id, text) => this.write("grads", id, text));
    each(step.value_heats, (id, heat) => this.warm(id, "value", heat));
    each(step.grad_heats, (id, heat) => this.warm(id, "grad", heat));
    each(step.maps, (id, heats) => heats.forEach((heat, i) => { if (heat && this.maps[id]) this.warm(id, ON_ARROW[i], heat); }));
    each(step.parts, (id, text) => this.write("parts", id, text));
    each(step[view], (id, text) => this.label(id, text));
    each(step.flows, (id, width) => this.flow(id, width));
    for (const id of step.kept ?? []) this.badge(id, "saved");
    for (const id of step.freed ?? []) this.badge(id, "freed");
  }
  warm(id, of, heat) {
    fill(this.maps[id][of], heat);
    (this.heats[id] ??= {})[of] = heat;
  }
  badge(id, word) {
    this.group[id].classList.remove("mg-keeps", "mg-freed");
    this.group[id].classList.add(word === "saved" ? "mg-keeps" : "mg-freed");
    this.group[id].querySelector(".mg-kept text").textContent = word;
  }
  light(step) {
    const { group } = this;
    for (const g of Object.values(group)) g.classList.remove("mg-hot", "mg-slope", "mg-source", "mg-forward", "mg-backward");
    for (const id of step.sources ?? []) group[id].classList.add("mg-source", `mg-${step.phase}`);
    const spot = [step.box, ...(step.arrows ?? [])].filter(Boolean).map((id) => group[id]);
    for (const g of spot) g.classList.add("mg-hot", `mg-${step.phase}`);
    group[step.slope]?.classList.add("mg-slope");
    this.spot = group[step.box];
  }
  // Hides the text that would give an answer away.
  veil(words, id) {
    if (this.veiled) this.veiled.part.textContent = this.veiled.words;
    const part = words && [...this.group[id].querySelectorAll("text")].find(({ textContent }) => textContent === words);
    this.veiled = part ? { part, words } : null;
    if (part) part.textContent = "?";
  }
}

export default { render };
