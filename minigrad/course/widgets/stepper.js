// The player of every stepped widget: one row of buttons, slider, count and phases at the top, and the sentence below it.
//
//   stepper({ model, el, phases, last, body, show, says, limit, stopped, forget, heard })
//     phases    the names at the top, of which the current one is marked; may be empty
//     last      the number of the last step
//     body      HTML below the sentence
//     show      (n, root) → { phase, say, spot, count }: draws step n; spot is the part to scroll into view, count "n of last"
//     says      () → all sentences that are known in advance: the longest reserves its lines, so that no step moves the body
//     limit     () → the last step that may be shown for now
//     stopped   () → called when the reader tries to go beyond the limit
//     forget    () → called before a redraw in the other layout, across or down
//     heard     [event of the model, what to do] pairs

const SYNC_AFTER = 150; // ms until the kernel gets the step, so that a drag does not send every one
const SEEN_AFTER = 100; // ms until the cell below has got its place
const LEAST = 0.75; // least scale of a picture, as in CSS
const PACE = { "0.5": 2000, "1": 1000, "2": 500, "4": 250 }; // speed → ms per step

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
const PLAY = `${ICONS.play} <span>Play</span>`, PAUSE = `${ICONS.pause} <span>Pause</span>`;

const frame = (phases, body) => `
  <div class="mg-player">
    <div class="mg-top">
      <div class="mg-controls" role="toolbar" aria-label="Steps">
        ${button("first", "First step", "Home", ICONS.first)}
        ${button("back", "Step back", "left arrow", ICONS.back)}
        ${button("play", "Play", "space", PLAY)}
        ${button("step", "Step", "right arrow", `<span>Step</span> ${ICONS.step}`)}
        ${button("last", "Last step", "End", ICONS.last)}
        <input type="range" min="0" step="1" aria-label="Step">
        <label><span>speed</span> <select aria-label="Speed">
          ${Object.keys(PACE).map((speed) => `<option value="${speed}"${speed === "1" ? " selected" : ""}>${speed}×</option>`).join("")}
        </select></label>
      </div>
      <span class="mg-count"><span>step </span><span></span></span>
      ${phases.length ? `<ol class="mg-phases" aria-label="Phase">${phases.map((phase) => `<li data-phase="${phase}"><span>${phase}</span></li>`).join("")}</ol>` : ""}
    </div>
    <div class="mg-saying"><p class="mg-say" aria-live="polite" aria-atomic="true"></p></div>
  </div>
  ${body}`;

function stepper({ model, el, phases, last, body, show, says = () => [], limit = () => Infinity, stopped = () => {}, forget, heard = [] }) {
  const root = made("div", { className: "mg-widget", tabIndex: 0 });
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `${model.get("label")}. Arrow keys step, space plays.`);
  // Else JupyterLab handles our keys: it looks for this attribute, but only on the focused element.
  root.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
  root.innerHTML = frame(phases, body);
  el.append(root);
  const parts = [".mg-saying", ".mg-say", ".mg-count", ".mg-controls", ".mg-controls input", ".mg-controls select", ".mg-controls [data-action=play]"];
  const [saying, say, count, controls, range, speed, playButton] = parts.map((selector) => root.querySelector(selector));
  // `now` is the step on the screen; `timer` is set while it plays, `syncing` until the kernel has the step.
  const s = { model, root, phases, last, show, says, limit, stopped, forget, saying, say, count, controls, range, speed, playButton, now: -1, timer: 0, syncing: 0 };
  reserve(s, ...says());
  listenTo(s);
  const onIndex = () => {
    moveTo(s, model.get("index"));
    if (s.now !== model.get("index")) go(s, s.now);
  };
  heard = [["change:index", onIndex], ...heard];
  for (const each of heard) model.on(...each);
  const resized = new ResizeObserver(() => markScrolling(s));
  resized.observe(root);
  onIndex();
  const seen = setTimeout(() => showWhole(root), SEEN_AFTER);
  const destroy = () => {
    play(s, false);
    clearTimeout(s.syncing);
    clearTimeout(seen);
    resized.disconnect();
    for (const each of heard) model.off(...each);
    root.remove();
  };
  const grow = (n) => restart(s, n, n, moveTo); // the kernel made these steps: no sync
  return { root, restart: (...to) => restart(s, ...to), grow, destroy };
}

function moveTo(s, n) {
  const { root, phases, last, range, count } = s, target = Math.min(Math.max(n, 0), last, s.limit());
  if (target < Math.min(n, last)) s.stopped();
  range.max = last;
  range.value = target;
  if (target === s.now) return;
  s.now = target;
  const { phase, say, spot, count: told = `${target} of ${last}` } = s.show(target, root);
  root.dataset.step = target;
  root.dataset.phase = phase;
  for (const item of root.querySelectorAll(".mg-phases [data-phase]")) item.ariaCurrent = item.dataset.phase === phase ? "step" : null;
  s.say.textContent = say;
  reserve(s, say);
  count.lastChild.textContent = told;
  range.ariaValueText = count.textContent + (phases.length ? `, ${phase}` : "");
  markScrolling(s);
  if (spot) follow(spot.closest(".mg-view"), spot);
}

// After a cell has run in JupyterLab, scroll until the whole widget is visible. Slides scroll by themselves.
function showWhole(root) {
  const cell = root.closest(".jp-Cell"), view = root.closest(".jp-WindowedPanel-outer");
  const isRunByHand = cell && [cell, cell.nextElementSibling].some((each) => each?.matches(".jp-mod-active"));
  if (!isRunByHand || !view || document.querySelector(".mg-bar")) return;
  const place = root.getBoundingClientRect(), frame = view.getBoundingClientRect();
  if (place.top < frame.top || place.bottom > frame.bottom) root.scrollIntoView({ block: "nearest" });
}

// Keep as many lines below the buttons as the longest of these sentences takes, whatever the width: an invisible copy of it
// lies behind the sentence (stepper.css).
function reserve({ saying }, ...sentences) {
  for (const each of sentences) if (each.length > (saying.dataset.longest ?? "").length) saying.dataset.longest = each;
}

// Mark views that scroll, and make them focusable; redraw if a picture should change its layout.
function markScrolling(s) {
  const isTurned = (svg) => svg.turns && (roomIn(s.root) < svg.turns) !== svg.matches(".mg-down");
  if (roomIn(s.root) > 0 && !matchMedia("print").matches && [...s.root.querySelectorAll("svg.mg-picture")].some(isTurned)) {
    s.forget();
    return restart(s, s.last, s.now, moveTo);
  }
  for (const view of s.root.querySelectorAll(".mg-view, .mg-code")) {
    if (view.toggleAttribute("data-scrolls", view.scrollWidth > view.clientWidth + 1)) view.tabIndex = 0;
    else view.removeAttribute("tabindex");
  }
}

function go(s, n) {
  moveTo(s, n);
  clearTimeout(s.syncing);
  s.syncing = setTimeout(() => { s.model.set("index", s.now); s.model.save_changes(); }, SYNC_AFTER);
}

function play(s, on) {
  clearInterval(s.timer);
  s.timer = 0;
  if (on) {
    if (s.now === s.last) go(s, 0);
    s.timer = setInterval(() => {
      if (s.now + 1 >= Math.min(s.last, s.limit())) play(s, false);
      go(s, s.now + 1);
    }, PACE[s.speed.value]);
  }
  s.playButton.innerHTML = on ? PAUSE : PLAY;
  s.playButton.ariaLabel = on ? "Pause" : "Play";
  s.playButton.title = `${s.playButton.ariaLabel} (space)`;
  s.say.setAttribute("aria-live", on ? "off" : "polite"); // a screen reader cannot keep up with playing
}

// Show the same step again, or the last one of a shorter run.
function restart(s, last = s.last, n = Math.min(s.now, last), move = go) {
  play(s, false);
  clearTimeout(s.syncing);
  if (s.says().length) s.saying.dataset.longest = "";
  reserve(s, ...s.says());
  s.last = last;
  s.now = -1;
  move(s, n);
}

// For the CSS of pictures: what moves at a step has arrived when the next step comes.
const setPace = ({ root, speed }) => root.style.setProperty("--mg-pace", `${PACE[speed.value]}ms`);

const KEYS = { ArrowRight: "step", ArrowLeft: "back", Home: "first", End: "last", " ": "play" };
const ACTIONS = {
  first: (s) => go(s, 0),
  back: (s) => go(s, s.now - 1),
  play: (s) => play(s, !s.timer),
  step: (s) => go(s, s.now + 1),
  last: (s) => go(s, s.last),
};
function act(s, action) {
  if (action !== "play") play(s, false);
  ACTIONS[action](s);
}

function onKey(s, event) {
  const action = KEYS[event.key], { target } = event, { tagName } = target;
  const native = tagName === "SELECT" || (tagName === "INPUT" && target !== s.range) || ((tagName === "BUTTON" || target.matches("[role=button]")) && event.key === " ");
  if (!action || native || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  act(s, action);
}

function listenTo(s) {
  s.root.addEventListener("keydown", (event) => onKey(s, event));
  s.controls.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-action]");
    if (pressed) act(s, pressed.dataset.action);
  });
  s.range.addEventListener("input", () => { play(s, false); go(s, Number(s.range.value)); });
  s.speed.addEventListener("change", () => {
    setPace(s);
    if (s.timer) play(s, true);
  });
  setPace(s);
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
