// A graph to explore. The screen is a function of which groups are open; the layout is computed here, for the open part.
// All functions of graph_draw.js, graph_zoom.js and graph_walk.js share the state of a view, `g`:
//
//   items, arrows, first      as Python sends them: nodes and groups, their links, and the groups open at the start
//   inner, shapes, made       group → its items; item → its closed box; item → its element
//   open, screen              the open groups; their layout, with box (item → its stand-in), isOpen and links
//   view, framed, framing     offset and scale now, and after the last automatic fit; the function of that fit
//   room, wide, tall          the width at which rows end; the size of the frame
//   map, dense                the small map; whether boxes are narrow, so that more of them fit
//   now, over, wire           the focused item; the item and the line that are pointed at; −1 for none
//   matches, match, reads     the items found, and the index of the current one; item → the tags above its box
//   dragged, wasDragged       where a drag began, null for none; whether the last press became a drag

const STEP = 60;
const KEY_HELP = "Drag or arrow keys move the picture, plus, minus and 0 zoom. Enter goes to the boxes: there left and right follow the arrows, " +
  "up and down go to the next boxes, Shift and arrows move the picture, Enter selects, Space opens or closes a group, Backspace " +
  "closes the group around, Escape leaves. Slash searches.";
const BUTTONS = [
  ["out", "Zoom out (−)", "−"], ["in", "Zoom in (+)", "+"], ["fit", "Fit to the frame (0)", "Fit"],
  ["open", "Open all groups", "Open all"], ["close", "Close all groups", "Close all"],
  ["svg", "Save what is open as SVG", "SVG"], ["png", "Save what is open as PNG", "PNG"],
];
const KEYS = ["leaf", "constant", "op", "group", "saved for backward", "result"]; // graph_view.css hides a key without a box on the screen
const FRAME = `
  <p class="mg-say" aria-live="polite" aria-atomic="true"></p>
  <div class="mg-controls" role="toolbar" aria-label="View">
    <input type="search" ${QUIET} aria-label="Search the graph" placeholder="search">
    ${BUTTONS.map(([action, label, face]) => `<button type="button" ${QUIET} data-action="${action}" aria-label="${label}" title="${label}">${face}</button>`).join("")}
    <span class="mg-key" aria-hidden="true">${KEYS.map((key) => `<span><i></i>${key}</span>`).join("")}</span>
  </div>
  <div class="mg-stage"><svg class="mg-picture mg-canvas" role="application" tabindex="0" ${QUIET}>
    <g class="mg-world"><g class="mg-frames"></g><g class="mg-arrow"><path/><path class="mg-tip"/></g><g class="mg-wires"></g><g class="mg-boxes"></g></g>
  </svg><svg class="mg-map" aria-hidden="true"><path/><rect/></svg><p class="mg-hint" aria-hidden="true">Point at a box or a line, or tap it, to read what it is. Drag to move. Ctrl and wheel zoom.<span> A tag stands for a line from the box that it names.</span></p></div>
  <ul class="mg-details"></ul>`;

function stateOf(model, el) {
  const items = model.get("items"), inner = new Map([[ROOT, []]]), first = new Set(model.get("opened"));
  items.forEach((item, i) => { if (isGroup(item)) inner.set(i, []); });
  items.forEach((item, i) => inner.get(item.in).push(i));
  const root = document.createElement("div");
  root.className = "mg-widget mg-begins"; // until values have run along the lines, once
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", model.get("label"));
  root.innerHTML = FRAME;
  el.append(root);
  const [svg, say, search, details, map, world, frames, boxes, wiresOf] = ["svg", ".mg-say", "input", ".mg-details", ".mg-map", ".mg-world", ".mg-frames", ".mg-boxes", ".mg-wires"].map((part) => root.querySelector(part));
  const [lines, tips] = svg.querySelectorAll(".mg-arrow path");
  svg.setAttribute("aria-label", `${model.get("label")}. ${KEY_HELP}`);
  if (!items.some(isGroup)) for (const action of ["open", "close"]) root.querySelector(`[data-action=${action}]`).disabled = true;
  const view = { x: 0, y: 0, k: 1 };
  return {
    model, items, inner, first, root, svg, say, search, details, map, world, frames, boxes, wiresOf, lines, tips,
    arrows: model.get("arrows"), shapes: [],
    open: new Set(first), screen: null, room: Infinity, wide: 0, tall: 0, dense: null, view, framed: view, framing: overview,
    now: -1, over: -1, wire: -1, matches: [], match: -1, dragged: null, wasDragged: false, seen: false,
  };
}

const files = (g) => ({ ...g.screen, world: g.world, tell: (sentence) => tell(g, sentence), label: g.model.get("label") });
const ACTIONS = {
  in: (g) => zoomBy(g, 1.25), out: (g) => zoomBy(g, 0.8), fit: (g) => keepTo(g, fitAll),
  open: openAll, close: (g) => setOpen(g, [], "closed"),
  svg: (g) => saveSvg(files(g)), png: (g) => savePng(files(g)),
};
const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const SEARCH_KEYS = {
  Enter: (g, { shiftKey }) => nextMatch(g, shiftKey ? -1 : 1),
  Escape: (g) => { g.search.value = ""; find(g); },
};
const BOX_KEYS = {
  Enter: (g) => choose(g, g.now),
  " ": (g) => toggle(g, g.now),
  Backspace: (g) => { if (g.items[g.now].in !== ROOT) { g.now = g.items[g.now].in; toggle(g, g.now); } },
  Escape: (g) => g.svg.focus({ preventScroll: true }),
};
const VIEW_KEYS = { "/": (g) => g.search.focus(), "+": ACTIONS.in, "=": ACTIONS.in, "-": ACTIONS.out, "0": ACTIONS.fit };

function actionOf(g, { key, target, shiftKey }) {
  const inGraph = g.svg.contains(target), atBox = inGraph && target !== g.svg;
  if (target === g.search) return SEARCH_KEYS[key];
  if (inGraph && key in ARROWS) return atBox && !shiftKey ? () => goToNeighbour(g, key) : () => moveBy(g, ...ARROWS[key].map((d) => d * STEP));
  if (atBox && key in BOX_KEYS) return BOX_KEYS[key];
  if (inGraph && key === "Enter") return () => goTo(g, g.screen.box[Math.max(g.now, 0)]);
  return VIEW_KEYS[key];
}

function itemAt({ target }) { // a tag stands for the box that it names
  const { tag, item = -1 } = target.closest?.("[data-tag], [data-item]")?.dataset ?? {};
  return Number(tag ?? item);
}
const isToggle = ({ target }) => target.closest(".mg-toggle");
const LISTENERS = {
  keydown: (g, event) => {
    const act = event.altKey || event.ctrlKey || event.metaKey ? null : actionOf(g, event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act(g, event);
  },
  input: (g, { target }) => { if (target === g.search) find(g); },
  click: (g, event) => {
    const action = event.target.closest("[data-action]"), i = itemAt(event);
    if (action) ACTIONS[action.dataset.action](g);
    else if (i >= 0 && !g.wasDragged) (isToggle(event) ? toggle : choose)(g, i);
  },
  dblclick: (g, event) => { if (itemAt(event) >= 0 && !isToggle(event)) toggle(g, itemAt(event)); },
  focusin: (g, event) => {
    const i = itemAt(event);
    if (i >= 0) g.now = i;
    mark(g);
    explain(g);
  },
  pointerover: (g, event) => {
    [g.over, g.wire] = [itemAt(event), Number(event.target.dataset?.wire ?? -1)];
    light(g);
    explain(g, g.over >= 0 ? g.over : undefined);
  },
  pointerleave: (g) => LISTENERS.pointerover(g, { target: g.root }),
  pointerdown: (g, event) => {
    const { button, target, clientX: x, clientY: y, pointerId: id } = event;
    g.wasDragged = false;
    if (g.map.contains(target)) goByMap(g, event);
    if (button === 0 && g.svg.contains(target)) g.dragged = { x, y, view: g.view, id };
  },
  pointermove: (g, event) => {
    const { clientX, clientY } = event;
    if (event.buttons && g.map.contains(event.target)) goByMap(g, event);
    if (!g.dragged) return;
    const { x, y, view, id } = g.dragged, dx = clientX - x, dy = clientY - y;
    if (!g.wasDragged && Math.hypot(dx, dy) < 5) return;
    if (!g.wasDragged) g.svg.setPointerCapture(id);
    g.wasDragged = true;
    look(g, { ...view, x: view.x + dx, y: view.y + dy });
  },
  pointerup: (g) => { g.dragged = null; },
  pointercancel: (g) => { g.dragged = null; },
};
function onWheel(g, event) {
  if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
  event.preventDefault();
  const { left, top } = g.svg.getBoundingClientRect();
  zoomBy(g, Math.exp(-event.deltaY / 400), event.clientX - left, event.clientY - top);
}
function onResize(g) { // also called when a widget that was made off the page is put on it
  if (!g.svg.clientWidth || g.svg.clientWidth === g.wide) return; // its height is ours
  g.wide = g.svg.clientWidth;
  if (g.view !== g.framed) return showMap(g);
  if (matchMedia("print").matches) return onPrint(g, { matches: true });
  keepTo(g, g.framing);
  if (!g.seen && g.model.get("chosen") >= 0) { reveal(g, g.model.get("chosen")); explain(g); }
  if (!g.seen) setTimeout(() => g.root.classList.remove("mg-begins"), 2200);
  g.seen = true;
  tell(g, whole(g));
}

function render({ model, el }) {
  const g = stateOf(model, el), follow = () => onChosen(g), resized = new ResizeObserver(() => onResize(g));
  const paper = matchMedia("print"), print = (change) => onPrint(g, change);
  paper.addEventListener("change", print);
  for (const [event, heard] of Object.entries(LISTENERS)) g.root.addEventListener(event, (happened) => heard(g, happened));
  g.svg.addEventListener("wheel", (event) => onWheel(g, event), { passive: false });
  model.on("change:chosen", follow);
  resized.observe(g.svg);

  g.dense = false;
  drawGraph(g);
  explain(g);
  tell(g, whole(g));
  return () => {
    resized.disconnect();
    paper.removeEventListener("change", print);
    model.off("change:chosen", follow);
    g.root.remove();
  };
}

export default { render };
