// The chain rule: writes numbers into the picture, highlights the boxes of a step, and shows its arithmetic below.
// A screen is a function of (picture, steps 0..n): to step back, it clears the picture and applies the steps again.

const PHASES = ["built", "forward", "backward", "done"];
const UNKNOWN = "·";
const BODY = `
  <div class="mg-choices" role="toolbar" aria-label="View">
    <label><input type="checkbox" data-asks> ask me first</label>
    <label>on the arrows <select data-view aria-label="on the arrows"><option>numbers</option><option>formulas</option></select></label>
    <span class="mg-held"></span>
  </div>
  ${ASK}
  <div class="mg-choices mg-drags" role="group" aria-label="Drag a value" hidden></div>
  <div class="mg-view"></div>
  <div class="mg-equations mg-view"></div>
  <div class="mg-inspected mg-view" role="region" aria-label="Numbers of a box" hidden></div>`;

function render({ model, el }) {
  const steps = model.get("steps");
  const questions = asking(model, steps);
  const program = model.get("program");
  let drawn = -1, screen = null, inspected = null, dragged = false, sliders = [];

  function show(n, root) {
    screen ??= pictured(root);
    if (dragged) { screen.clear(); drawn = -1; }
    dragged = false;
    for (const slider of sliders) tell(slider, slider.defaultValue);
    const step = steps[n], isOpen = questions.isOpen(n), upto = n - isOpen;
    if (upto < drawn) { screen.clear(); drawn = -1; }
    while (drawn < upto) screen.apply(steps[++drawn], model.get("view"));
    const say = isOpen ? step.question.ask : questions.verdict(n) + step.say;
    screen.light(step);
    screen.veil(isOpen ? step.question.veil : "", step.box);
    screen.svg.setAttribute("aria-label", say);
    root.querySelector(".mg-held").textContent = steps[upto].held ?? "";
    root.querySelector(".mg-equations").replaceChildren(...(isOpen ? [] : step.equations ?? []).map(equation));
    questions.ask(n, root);
    inspect(root);
    return { phase: step.phase, say, spot: screen.spot };
  }
  function pictured(root) {
    const view = root.querySelector(".mg-view");
    view.innerHTML = model.get("pictures")[model.get("view")];
    return screenOf(settled(view, root)[0]);
  }

  // Show the last step of the run with the sliders' numbers at the leaves.
  function drag(root) {
    const leaves = sliders.map((slider) => Number(slider.value)), last = steps.length - 1;
    if (!dragged && drawn < last) restart(last, last);
    dragged = true;
    sliders.forEach((slider, i) => tell(slider, leaves[i]));
    const { values, grads, slopes } = ran(program, Object.fromEntries(sliders.map((slider, i) => [slider.dataset.leaf, leaves[i]])));
    const said = (numbers, sign = "") => Object.fromEntries(Object.entries(numbers).map(([id, x]) => [id, sign + number(x)]));
    screen.apply({ values: said(values), grads: said(grads), numbers: said(slopes, "× ") }, model.get("view"));
    root.querySelector(".mg-equations").replaceChildren();
    const y = program.at(-1).id, z = screen.nameOf(y);
    const each = sliders.map(({ dataset: { leaf } }) => `∂${z}/∂${screen.nameOf(leaf)} = ${number(grads[leaf])}`);
    root.querySelector(".mg-say").textContent = `Dragged: ${z} = ${number(values[y])}, and ${each.join(", ")}.`;
  }

  // Show the numbers of the box that the reader has chosen, at this step.
  function inspect(root) {
    const region = root.querySelector(".mg-inspected");
    for (const g of root.querySelectorAll("g[role=button]")) g.ariaExpanded = g.dataset.id === inspected;
    region.hidden = !inspected;
    const known = Object.entries(screen.heats[inspected] ?? {});
    region.replaceChildren(equation(known.map(([of, heat]) => [heat, `${of} of ${screen.nameOf(inspected)}`])));
  }
  function choose(event) {
    const g = event.target.closest("g[role=button]");
    if (!g || !["Enter", " ", undefined].includes(event.key)) return;
    event.preventDefault();
    inspected = inspected === g.dataset.id ? null : g.dataset.id;
    inspect(root);
  }

  const { root, restart, destroy } = stepper({
    model, el, phases: PHASES, last: steps.length - 1, body: BODY, show,
    limit: questions.limit, stopped: () => questions.focus(el), forget,
  });
  questions.listen(root);
  const view = root.querySelector(".mg-view");
  for (const event of ["click", "keydown"]) view.addEventListener(event, choose);
  const drags = root.querySelector(".mg-drags");
  drags.append("drag ", ...program.filter((node) => node.drags).map((node) => sliderOf(node, screen.nameOf(node.id))));
  sliders = [...drags.querySelectorAll("input")];
  drags.addEventListener("input", () => drag(root));
  const asks = root.querySelector("[data-asks]"), views = root.querySelector("[data-view]");
  root.querySelector(".mg-choices").addEventListener("change", () => {
    const chosen = views.value; // read now: the first set() runs follow, which resets it
    model.set("asks", asks.checked);
    model.set("view", chosen);
    model.save_changes();
  });
  function forget() {
    screen = null;
    drawn = -1;
  }
  function follow() {
    asks.checked = model.get("asks");
    drags.hidden = !sliders.length || asks.checked; // dragging would reveal the answers
    views.value = model.get("view");
    forget();
    restart();
  }
  const followed = ["change:asks", "change:answers", "change:view"];
  followed.forEach((event) => model.on(event, follow));
  follow();
  return () => { followed.forEach((event) => model.off(event, follow)); destroy(); };
}

// The picture as an object with methods that apply, clear and highlight steps.
function screenOf(svg) {
  const group = {}, values = {}, grads = {}, labels = {}, maps = {};
  for (const g of svg.querySelectorAll("[data-id]")) {
    const id = g.dataset.id;
    group[id] = g;
    if (!g.matches(".mg-constant")) values[id] = g.querySelector(".mg-value");
    grads[id] = g.querySelector(".mg-grad");
    labels[id] = g.querySelector(".mg-label");
    for (const map of g.querySelectorAll(".mg-heat")) (maps[id] ??= {})[map.dataset.of] = map;
  }
  const nameOf = (id) => group[id].querySelector(".mg-name").textContent;
  const write = (slots, id, text) => { if (slots[id]) slots[id].textContent = text; };
  const screen = { svg, heats: {}, nameOf, clear, apply, light, veil };
  let veiled = null;
  clear();

  function clear() {
    for (const id in group) {
      for (const slots of [values, grads]) write(slots, id, UNKNOWN);
      write(labels, id, "");
      group[id].classList.remove("mg-known", "mg-keeps", "mg-freed");
      for (const map of Object.values(maps[id] ?? {})) fill(map, null);
    }
    screen.heats = {};
  }
  const each = (texts, put) => Object.entries(texts ?? {}).forEach((pair) => put(...pair));
  function apply(step, view) {
    each(step.values, (id, text) => { write(values, id, text); group[id].classList.add("mg-known"); });
    each(step.grads, (id, text) => write(grads, id, text));
    each(step.value_heats, (id, heat) => warm(id, "value", heat));
    each(step.grad_heats, (id, heat) => warm(id, "grad", heat));
    each(step[view], (id, text) => write(labels, id, text));
    for (const id of step.kept ?? []) badge(id, "saved");
    for (const id of step.freed ?? []) badge(id, "freed");
  }
  function warm(id, of, heat) {
    fill(maps[id][of], heat);
    (screen.heats[id] ??= {})[of] = heat;
  }
  function badge(id, word) {
    group[id].classList.remove("mg-keeps", "mg-freed");
    group[id].classList.add(word === "saved" ? "mg-keeps" : "mg-freed");
    group[id].querySelector(".mg-kept text").textContent = word;
  }
  function light(step) {
    for (const g of Object.values(group)) g.classList.remove("mg-hot", "mg-source", "mg-forward", "mg-backward");
    for (const id of step.sources ?? []) group[id].classList.add("mg-source", `mg-${step.phase}`);
    const spot = [step.box, ...(step.arrows ?? [])].filter(Boolean).map((id) => group[id]);
    for (const g of spot) g.classList.add("mg-hot", `mg-${step.phase}`);
    screen.spot = group[step.box];
  }
  // Hides the text that would give an answer away, and restores the text hidden before.
  function veil(words, id) {
    if (veiled) veiled.part.textContent = veiled.words;
    const part = words && [...group[id].querySelectorAll("text")].find(({ textContent }) => textContent === words);
    veiled = part ? { part, words } : null;
    if (part) part.textContent = "?";
  }
  return screen;
}

// One row of arithmetic: each number or heat map above its description.
function equation(terms) {
  const row = made("div");
  for (const [number, what] of terms) {
    const term = made("span", { className: what ? "mg-term" : "mg-operator" });
    term.append(number.cells ? tableOf(number) : made("b", { textContent: number }));
    if (what) term.append(made("small", { textContent: what }));
    row.append(term);
  }
  return row;
}

export default { render };
