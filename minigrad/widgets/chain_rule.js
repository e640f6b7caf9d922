// Plays back the steps that Python prepared: writes numbers into the picture, moves the spotlight, says the sentence.
// A screen is a function of (picture, steps 0..n), so going back means starting over: at 60 boxes that takes no time.

const PHASES = ["built", "forward", "backward", "done"];
const UNKNOWN = "·";
const SYNC_AFTER = 150; // ms: tell the kernel where we are when the reader pauses, not at every step of a drag
const PACE = { "0.5": 3600, "1": 1800, "2": 900, "4": 450 }; // speed → ms per step

const icon = (path) => `<svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d="${path}"/></svg>`;
const ICONS = {
  first: icon("M2 2h2v12H2zM14 2v12L5 8z"),
  back: icon("M12 2v12L3 8z"),
  play: icon("M4 2l10 6-10 6z"),
  pause: icon("M3 2h4v12H3zM9 2h4v12H9z"),
  step: icon("M4 2l9 6-9 6z"),
  last: icon("M12 2h2v12h-2zM2 2l9 6-9 6z"),
};
const button = (action, label, keys, face) =>
  `<button type="button" data-action="${action}" aria-label="${label}" title="${label} (${keys})">${face}</button>`;
const PLAY = `${ICONS.play} Play`, PAUSE = `${ICONS.pause} Pause`;

const FRAME = `
  <div class="mg-top">
    <ol class="mg-phases" aria-label="Phase">${PHASES.map((phase) => `<li data-phase="${phase}"><span>${phase}</span></li>`).join("")}</ol>
    <span class="mg-count"></span>
  </div>
  <p class="mg-say" aria-live="polite" aria-atomic="true"></p>
  <div class="mg-view"></div>
  <div class="mg-equations" aria-hidden="true"></div>
  <div class="mg-controls" role="toolbar" aria-label="Steps">
    ${button("first", "First step", "Home", ICONS.first)}
    ${button("back", "Step back", "left arrow", ICONS.back)}
    ${button("play", "Play", "space", PLAY)}
    ${button("step", "Step", "right arrow", `Step ${ICONS.step}`)}
    ${button("last", "Last step", "End", ICONS.last)}
    <input type="range" min="0" step="1" aria-label="Step">
    <label>speed <select aria-label="Speed">
      ${Object.keys(PACE).map((speed) => `<option value="${speed}"${speed === "1" ? " selected" : ""}>${speed}×</option>`).join("")}
    </select></label>
  </div>`;

function render({ model, el }) {
  const steps = model.get("steps");
  const last = steps.length - 1;
  const root = document.createElement("div");
  root.className = "mg-widget";
  root.tabIndex = 0;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `${model.get("label")}. Arrow keys step, space plays.`);
  root.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes our keys for its own commands
  root.innerHTML = FRAME;
  root.querySelector(".mg-view").innerHTML = model.get("picture");
  el.append(root);

  const find = (selector) => root.querySelector(selector);
  const [say, view, count, equations] = [".mg-say", ".mg-view", ".mg-count", ".mg-equations"].map(find);
  const [range, speed, playButton] = ["input", "select", "[data-action=play]"].map(find);
  const screen = screenOf(view.querySelector("svg"));
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  range.max = last;
  let now = -1, timer = 0, syncing = 0;

  function show(n) {
    const target = Math.min(Math.max(n, 0), last);
    if (target === now) return;
    if (target < now) { screen.clear(); now = -1; }
    while (now < target) screen.apply(steps[++now]);
    const step = steps[now];
    screen.light(step);
    root.dataset.step = now;
    root.dataset.phase = step.phase;
    for (const item of root.querySelectorAll("[data-phase]")) {
      if (item.dataset.phase === step.phase) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    }
    say.textContent = step.say;
    screen.svg.setAttribute("aria-label", step.say);
    equations.replaceChildren(...(step.equations ?? []).map(equation));
    count.textContent = `step ${now} of ${last}`;
    range.value = now;
    range.setAttribute("aria-valuetext", `step ${now} of ${last}, ${step.phase}`);
    follow(view, screen.spot, calm.matches);
  }

  function go(n) {
    show(n);
    clearTimeout(syncing);
    syncing = setTimeout(() => { model.set("index", now); model.save_changes(); }, SYNC_AFTER);
  }

  function play(on) {
    clearInterval(timer);
    timer = 0;
    if (on) {
      if (now === last) go(0);
      timer = setInterval(() => (now < last ? go(now + 1) : play(false)), PACE[speed.value]);
    }
    playButton.innerHTML = on ? PAUSE : PLAY;
    playButton.setAttribute("aria-label", on ? "Pause" : "Play");
    playButton.title = on ? "Pause (space)" : "Play (space)";
    say.setAttribute("aria-live", on ? "off" : "polite"); // a screen reader cannot keep up with playing
  }

  const actions = {
    first: () => go(0),
    back: () => go(now - 1),
    play: () => play(!timer),
    step: () => go(now + 1),
    last: () => go(last),
  };
  const KEYS = { ArrowRight: "step", ArrowLeft: "back", Home: "first", End: "last", " ": "play" };

  function act(action) {
    if (action !== "play") play(false);
    actions[action]();
  }
  function onKey(event) {
    const action = KEYS[event.key];
    const native = event.target === speed || (event.target.tagName === "BUTTON" && event.key === " ");
    if (!action || native || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    act(action);
  }

  root.addEventListener("keydown", onKey);
  root.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-action]");
    if (pressed) act(pressed.dataset.action);
  });
  range.addEventListener("input", () => { play(false); go(Number(range.value)); });
  speed.addEventListener("change", () => { if (timer) play(true); });
  const onIndex = () => show(model.get("index"));
  model.on("change:index", onIndex);
  const resized = new ResizeObserver(() => {
    // What scrolls must be reachable with the keyboard.
    if (view.scrollWidth > view.clientWidth) view.tabIndex = 0;
    else view.removeAttribute("tabindex");
  });
  resized.observe(view);

  screen.clear();
  show(model.get("index"));

  return () => {
    play(false);
    clearTimeout(syncing);
    resized.disconnect();
    model.off("change:index", onIndex);
    root.remove();
  };
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
  svg.querySelectorAll(":scope > title, :scope > desc").forEach((silent) => silent.remove());
  svg.style.setProperty("--natural-width", `${svg.viewBox.baseVal.width}px`);

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

// Scroll the picture so that the spotlight is in view.
function follow(view, spot, calm) {
  if (!spot || view.scrollWidth <= view.clientWidth) return;
  const at = spot.getBoundingClientRect(), frame = view.getBoundingClientRect();
  if (at.left >= frame.left + 40 && at.right <= frame.right - 40) return;
  const left = view.scrollLeft + (at.left + at.right) / 2 - (frame.left + frame.right) / 2;
  view.scrollTo({ left, behavior: calm ? "auto" : "smooth" });
}

export default { render };
