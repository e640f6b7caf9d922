// The frame, keys, buttons, slider and sentence of every stepped widget.
//
//   stepper({ model, el, phases, last, body, show, limit, stopped })
//     phases    the names at the top, of which the current one is marked; may be empty
//     last      the number of the last step
//     body      HTML between the sentence and the controls
//     show      (n, root) → { phase, say, spot }: draws step n; spot is the part to scroll into view
//     limit     () → the last step that may be shown for now
//     stopped   () → called when the reader tries to go beyond the limit
//     forget    () → called before a full redraw, when a picture changes between the across and the down layout
//
// The kernel gets the step when the reader pauses.

const SYNC_AFTER = 150; // ms, so that a drag does not send every step
const LEAST = 0.75; // least scale of a picture, as in stepper.css
const PACE = { "0.5": 3600, "1": 1800, "2": 900, "4": 450 }; // speed → ms per step

const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
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

const frame = (phases, body) => `
  <div class="mg-top">
    ${phases.length ? `<ol class="mg-phases" aria-label="Phase">${phases.map((phase) => `<li data-phase="${phase}"><span>${phase}</span></li>`).join("")}</ol>` : ""}
    <span class="mg-count"></span>
  </div>
  <p class="mg-say" aria-live="polite" aria-atomic="true"></p>
  ${body}
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

function stepper({ model, el, phases, last, body, show, limit = () => Infinity, stopped = () => {}, forget }) {
  const root = document.createElement("div");
  root.className = "mg-widget";
  root.tabIndex = 0;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `${model.get("label")}. Arrow keys step, space plays.`);
  // Else JupyterLab takes our keys for its commands; it checks only the focused element for this attribute.
  root.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
  root.innerHTML = frame(phases, body);
  el.append(root);

  const controls = root.querySelector(".mg-controls");
  const [say, count] = [".mg-say", ".mg-count"].map((selector) => root.querySelector(selector));
  const [range, speed, playButton] = ["input", "select", "[data-action=play]"].map((selector) => controls.querySelector(selector));
  let now = -1, timer = 0, syncing = 0;

  function at(n) {
    const target = Math.min(Math.max(n, 0), last, limit());
    if (target < Math.min(n, last)) stopped();
    range.max = last;
    range.value = target;
    if (target === now) return;
    now = target;
    const { phase, say: sentence, spot } = show(now, root);
    root.dataset.step = now;
    root.dataset.phase = phase;
    for (const item of root.querySelectorAll(".mg-phases [data-phase]")) {
      item.ariaCurrent = item.dataset.phase === phase ? "step" : null;
    }
    say.textContent = sentence;
    count.textContent = `step ${now} of ${last}`;
    range.ariaValueText = count.textContent + (phases.length ? `, ${phase}` : "");
    mark();
    if (spot) follow(spot.closest(".mg-view"), spot);
  }

  // Mark views that scroll, and make them focusable; redraw if a picture should change its layout.
  function mark() {
    const isTurned = (svg) => svg.turns && (roomIn(root) < svg.turns) !== svg.matches(".mg-down");
    if (roomIn(root) > 0 && [...root.querySelectorAll("svg.mg-picture")].some(isTurned)) {
      forget();
      restart(last, now, at);
      return;
    }
    for (const view of root.querySelectorAll(".mg-view, .mg-code")) {
      if (view.toggleAttribute("data-scrolls", view.scrollWidth > view.clientWidth + 1)) view.tabIndex = 0;
      else view.removeAttribute("tabindex");
    }
  }

  function go(n) {
    at(n);
    clearTimeout(syncing);
    syncing = setTimeout(() => { model.set("index", now); model.save_changes(); }, SYNC_AFTER);
  }

  function play(on) {
    clearInterval(timer);
    timer = 0;
    if (on) {
      if (now === last) go(0);
      timer = setInterval(() => {
        if (now + 1 >= Math.min(last, limit())) play(false);
        go(now + 1);
      }, PACE[speed.value]);
    }
    playButton.innerHTML = on ? PAUSE : PLAY;
    playButton.ariaLabel = on ? "Pause" : "Play";
    playButton.title = `${playButton.ariaLabel} (space)`;
    say.setAttribute("aria-live", on ? "off" : "polite"); // a screen reader cannot keep up with playing
  }

  // Show the same step again, or the last one of a shorter run.
  function restart(newLast = last, n = Math.min(now, newLast), move = go) {
    play(false);
    clearTimeout(syncing);
    last = newLast;
    now = -1;
    move(n);
  }
  const grow = (newLast) => restart(newLast, newLast, at); // the kernel made these steps: `at` does not sync

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
    const { tagName } = event.target;
    const native = tagName === "SELECT" || (tagName === "INPUT" && event.target !== range) || ((tagName === "BUTTON" || event.target.matches("[role=button]")) && event.key === " ");
    if (!action || native || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    act(action);
  }

  root.addEventListener("keydown", onKey);
  controls.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-action]");
    if (pressed) act(pressed.dataset.action);
  });
  range.addEventListener("input", () => { play(false); go(Number(range.value)); });
  speed.addEventListener("change", () => { if (timer) play(true); });
  const onIndex = () => {
    at(model.get("index"));
    if (now !== model.get("index")) go(now);
  };
  model.on("change:index", onIndex);
  const resized = new ResizeObserver(mark);
  resized.observe(root);

  onIndex();

  const destroy = () => {
    play(false);
    clearTimeout(syncing);
    resized.disconnect();
    model.off("change:index", onIndex);
    root.remove();
  };
  return { root, restart, grow, destroy };
}

// Scroll a picture until the spot is in view.
function follow(view, spot) {
  if (!view?.hasAttribute("data-scrolls")) return;
  const at = spot.getBoundingClientRect(), frame = view.getBoundingClientRect();
  if (at.left >= frame.left + 40 && at.right <= frame.right - 40) return;
  const left = view.scrollLeft + (at.left + at.right) / 2 - (frame.left + frame.right) / 2;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  view.scrollTo({ left, behavior: isCalm ? "auto" : "smooth" });
}

const roomIn = (root) => root.clientWidth - 24; // without the padding on both sides

// Prepare the SVGs of a view: remove titles and descriptions, and set the natural width. Where a picture has an across
// and a down layout, keep the one that fits.
function settled(view, root) {
  for (const down of view.querySelectorAll("svg.mg-down")) {
    const across = down.previousElementSibling, room = roomIn(root);
    across.turns = down.turns = LEAST * across.viewBox.baseVal.width;
    (room > 0 && room < across.turns ? across : down).remove();
  }
  const svgs = [...view.querySelectorAll("svg")];
  for (const svg of svgs) {
    svg.querySelectorAll(":scope > title, :scope > desc").forEach((silent) => silent.remove());
    svg.style.setProperty("--natural-width", `${svg.viewBox.baseVal.width}px`);
  }
  return svgs;
}
