// A graph to explore. The screen is a function of which groups are open; the layout is computed here, for the open part.

const SVG = "http://www.w3.org/2000/svg";
const MOST_OPEN = 2000; // boxes at once
const READABLE = 0.75, MOST_ZOOM = 3, LEAST_ZOOM = 0.02, STEP = 60;
const KEYS = "Drag or arrow keys move the picture, plus, minus and 0 zoom. Enter goes to the boxes: there left and right arrow follow " +
  "the graph's arrows, up and down go to the boxes above and below, Shift and an arrow move the picture, Enter selects, Space opens " +
  "or closes a group, Backspace closes the group around, Escape leaves the boxes. Slash searches.";
const BUTTONS = [
  ["out", "Zoom out (−)", "−"], ["in", "Zoom in (+)", "+"], ["fit", "Fit to the frame (0)", "Fit"],
  ["open", "Open all groups", "Open all"], ["close", "Close all groups", "Close all"],
  ["svg", "Save what is open as SVG", "SVG"], ["png", "Save what is open as PNG", "PNG"],
];
const FRAME = `
  <p class="mg-say" aria-live="polite" aria-atomic="true"></p>
  <div class="mg-controls" role="toolbar" aria-label="View">
    <input type="search" ${QUIET} aria-label="Search the graph" placeholder="search">
    ${BUTTONS.map(([action, label, face]) => `<button type="button" ${QUIET} data-action="${action}" aria-label="${label}" title="${label}">${face}</button>`).join("")}
  </div>
  <svg class="mg-picture mg-canvas" role="application" tabindex="0" ${QUIET}>
    <g class="mg-world"><g class="mg-frames"></g><g class="mg-arrow"><path/><path class="mg-tip"/></g><g class="mg-arrow mg-near"><path/><path/></g><g class="mg-boxes"></g></g>
  </svg>
  <ul class="mg-details"></ul>`;

function render({ model, el }) {
  const items = model.get("items"), arrows = model.get("arrows"), first = new Set(model.get("opened"));
  const inner = new Map([[ROOT, []]]);
  items.forEach((item, i) => { if (isGroup(item)) inner.set(i, []); });
  items.forEach((item, i) => inner.get(item.in).push(i));
  const root = document.createElement("div");
  root.className = "mg-widget";
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", model.get("label"));
  root.innerHTML = FRAME;
  el.append(root);
  const [svg, say, search, details] = ["svg", ".mg-say", "input", ".mg-details"].map((selector) => root.querySelector(selector));
  const [world, frames, boxes] = [".mg-world", ".mg-frames", ".mg-boxes"].map((selector) => svg.querySelector(selector));
  const [lines, tips, nearLines, nearTips] = svg.querySelectorAll(".mg-arrow path");
  svg.setAttribute("aria-label", `${model.get("label")}. ${KEYS}`);
  if (!items.some(isGroup)) for (const action of ["open", "close"]) root.querySelector(`[data-action=${action}]`).disabled = true;

  let open = new Set(first), screen = null, now = -1, dragged = null, wasDragged = false, seen = false;
  let view = { x: 0, y: 0, k: 1 }, framed = view, framing = overview, matches = [], match = -1;
  const shapes = items.map((item, i) => shape(item, i, local(item)));
  const made = new Map(); // item, open or closed → its element

  // -- what is shown ----------------------------------------------------------------------------------

  function standsFor() { // item → the box that stands for it: itself, or the outermost closed group around it
    const box = new Int32Array(items.length), isOpen = (i) => i === ROOT || (open.has(i) && box[i] === i);
    const find = (i) => { box[i] = isOpen(items[i].in) ? i : box[items[i].in]; };
    items.forEach((item, i) => { if (isGroup(item)) find(i); }); // an outer group comes before an inner one
    items.forEach((item, i) => { if (!isGroup(item)) find(i); });
    return { box, isOpen };
  }
  function draw() {
    const { box, isOpen } = standsFor(), links = new Map();
    for (let i = 0; i < arrows.length; i += 2) {
      const tail = box[arrows[i]], head = box[arrows[i + 1]];
      if (tail !== head) links.set(tail * items.length + head, [tail, head]);
    }
    screen = arranged({
      children: (i) => (inner.has(i) && isOpen(i) ? inner.get(i) : null),
      parent: (i) => items[i].in,
      size: (i) => shapes[i].size,
      heading: (i) => 41 + width(heading(items[i], local(items[i])), "bold 13px"),
      links: [...links.values()],
    });
    Object.assign(screen, { box, isOpen, links: [...links.values()] });
    const shown = [...screen.place.keys()], key = (i) => (isOpen(i) ? `open ${i}` : i);
    const missing = shown.filter((i) => !made.has(key(i)));
    const host = document.createElementNS(SVG, "g");
    host.innerHTML = missing.map((i) => (isOpen(i) ? frame(items[i], i, local(items[i])) : shapes[i].markup())).join("");
    [...host.children].forEach((g, n) => made.set(key(missing[n]), g));
    const put = { frames: [], boxes: [] };
    for (const i of shown) {
      const g = made.get(key(i)), { x, y, w, h } = screen.place.get(i), at = `translate(${r(x)} ${r(y)})`;
      if (g.getAttribute("transform") !== at) g.setAttribute("transform", at);
      if (isOpen(i)) { g.firstChild.setAttribute("width", r(w)); g.firstChild.setAttribute("height", r(h)); }
      put[isOpen(i) ? "frames" : "boxes"].push(g);
    }
    frames.replaceChildren(...put.frames);
    const stay = new Set(put.boxes);
    for (const g of [...boxes.children]) if (!stay.has(g)) g.remove();
    boxes.append(...put.boxes.filter((g) => !g.parentNode || g.parentNode === host));
    connect(screen.routes, lines, tips);
    root.dataset.shown = put.boxes.length;
    mark();
  }
  function connect(routes, line, tip) {
    line.setAttribute("d", routes.map(curve).join(""));
    tip.setAttribute("d", routes.map((points) => points.at(-1)).map(([x, y]) => `M${r(x)},${r(y)}l-8,-3.5v7z`).join(""));
  }
  const element = (i) => made.get(screen.isOpen(i) && inner.has(i) ? `open ${i}` : i);

  // Classes of what is chosen, found, near; and the lines at the box that has the focus.
  function mark() {
    const chosen = model.get("chosen"), found = new Set(matches.map((i) => screen.box[i]));
    for (const [i] of screen.place) {
      const g = element(i);
      g.classList.toggle("mg-chosen", i === chosen);
      g.setAttribute("aria-pressed", i === chosen);
      g.classList.toggle("mg-match", found.has(i));
      g.classList.toggle("mg-current", match >= 0 && screen.box[matches[match]] === i);
    }
    const near = screen.routes.filter((_, n) => screen.links[n].includes(now));
    connect(near, nearLines, nearTips);
  }

  // -- where one looks --------------------------------------------------------------------------------

  function look(to) {
    view = to;
    world.setAttribute("transform", `translate(${r(view.x)} ${r(view.y)}) scale(${Math.round(view.k * 1e4) / 1e4})`);
  }
  const move = (dx, dy) => look({ ...view, x: view.x + dx, y: view.y + dy });
  function zoom(by, x = svg.clientWidth / 2, y = svg.clientHeight / 2) {
    const k = Math.min(Math.max(view.k * by, LEAST_ZOOM), MOST_ZOOM), s = k / view.k;
    look({ k, x: x - (x - view.x) * s, y: y - (y - view.y) * s });
  }
  const fitting = () => Math.min(1, (svg.clientWidth - 24) / screen.width, (svg.clientHeight - 24) / screen.height);
  function fit(k = Math.max(fitting(), LEAST_ZOOM)) {
    look({ k, x: (svg.clientWidth - screen.width * k) / 2, y: (svg.clientHeight - screen.height * k) / 2 });
  }
  function keepTo(how) { // and so again when there is more room or less, until the reader looks elsewhere
    how();
    [framed, framing] = [view, how];
  }
  function overview() { // with as many levels of groups open as can be seen at once; if none can, with all
    const depth = (i) => (i === ROOT ? 0 : 1 + depth(items[i].in));
    const opened = (least) => {
      open = new Set([...first].filter((i) => depth(i) < least));
      draw();
      svg.style.setProperty("--wanted", `${READABLE * screen.height + 26}px`); // with margins and a border
    };
    let least = 1 + Math.max(0, ...[...first].map(depth));
    for (opened(least); open.size && fitting() < READABLE; opened(least)) least -= 1;
    if (fitting() < READABLE || root.dataset.shown < 3) opened(Infinity); // one box says nothing
    begin();
  }
  function begin() { // all of it; of what is too large to be read like that, where it begins
    fit(Math.max(fitting(), READABLE));
    if (fitting() >= READABLE) return;
    const { y, h } = screen.place.get(screen.box[0]);
    if (screen.width * view.k > svg.clientWidth) view.x = 12;
    if (screen.height * view.k > svg.clientHeight) view.y = Math.min(12, svg.clientHeight / 2 - (y + h / 2) * view.k);
    look(view);
  }
  function centre(i) { // at a size that can be read
    const { x, y, w, h } = screen.place.get(i), k = Math.max(view.k, READABLE);
    look({ k, x: svg.clientWidth / 2 - (x + w / 2) * k, y: svg.clientHeight / 2 - (y + h / 2) * k });
  }
  function show(i) { // move as little as is needed
    const { x, y, w, h } = screen.place.get(i), { k } = view;
    const slide = (at, size, room) => (at < 20 ? 20 - at : Math.min(0, Math.max(room - 20 - at - size, 20 - at)));
    move(slide(view.x + x * k, w * k, svg.clientWidth), slide(view.y + y * k, Math.min(h, 60) * k, svg.clientHeight));
  }
  function keeping(i, change) { // what changes, with item i where it was on the screen
    const before = screen.place.get(i);
    change();
    const after = screen.place.get(screen.box[i]);
    move((before.x - after.x) * view.k, (before.y - after.y) * view.k);
  }

  // -- opening, choosing, finding ---------------------------------------------------------------------

  function toggle(i) {
    if (!inner.has(i)) return;
    keeping(i, () => {
      if (!open.delete(i)) open.add(i);
      draw();
    });
    if (now >= 0) go(i);
    tell(`${title(items[i])} is ${open.has(i) ? "open" : "closed"}: ${showing()}`);
  }
  function reveal(i) {
    for (let group = items[i].in; group !== ROOT; group = items[group].in) open.add(group);
    draw();
    centre(i);
  }
  function all(opening) {
    if (opening && items.length - inner.size > MOST_OPEN) {
      return tell(`${counted(items.length - inner.size + 1, "box", "boxes")} at once are too many to be read or drawn: open groups one by one, or search.`);
    }
    open = new Set(opening ? [...inner.keys()].filter((i) => i !== ROOT) : []);
    now = -1;
    draw();
    keepTo(begin);
    tell(`All groups are ${opening ? "open" : "closed"}: ${showing()}`);
  }
  function choose(i) {
    model.set("chosen", i);
    model.save_changes();
  }
  function onChosen() {
    const i = model.get("chosen");
    if (i >= 0 && screen.box[i] !== i) reveal(i);
    mark();
    tell(i < 0 ? "Nothing is selected." : `Selected: ${described(items[i])}.`);
    explain();
  }
  function find() {
    const words = search.value.trim().toLowerCase();
    matches = words ? items.flatMap((item, i) => ([item.sign, item.name, item.spec, item.trouble, item.line].join("\n").toLowerCase().includes(words) ? [i] : [])) : [];
    match = -1;
    mark();
    const hidden = matches.filter((i) => screen.box[i] !== i).length, inside = hidden ? `, ${hidden.toLocaleString("en")} of them in closed groups` : "";
    tell(!words ? whole() : `${counted(matches.length, "match", "matches")} for “${search.value.trim()}”${inside}. ${matches.length ? "Enter goes to the next." : ""}`);
  }
  function next(by) {
    if (!matches.length) return find();
    match = match < 0 && by < 0 ? matches.length - 1 : (match + by + matches.length) % matches.length;
    now = matches[match];
    reveal(now);
    explain();
    tell(`Match ${match + 1} of ${matches.length.toLocaleString("en")}: ${described(items[now])}.`);
  }

  // -- saying -----------------------------------------------------------------------------------------

  const tell = (sentence) => { say.textContent = sentence; };
  const rest = () => (svg.clientWidth && fitting() < READABLE ? " Drag, or press the arrow keys, for the rest." : "");
  const showing = () => `${counted(+root.dataset.shown, "box is", "boxes are")} shown.${rest()}`;
  function whole() {
    const nodes = counted(items.length - inner.size + 1, "node", "nodes"), groups = counted(inner.size - 1, "group", "groups");
    return [`${model.get("label")}: ${nodes}, ${groups}; ${showing()}`, ...model.get("notes")].join(" ");
  }
  function explain(i = now >= 0 ? now : model.get("chosen")) {
    const rows = i < 0 ? [["", "Point at a box, or go to it with the keyboard, to read what it is."]] : facts(items[i], around(i));
    details.replaceChildren(...rows.map(([term, text]) => {
      const row = document.createElement("li"), name = document.createElement("span");
      name.textContent = term && `${term} `;
      row.append(name, text);
      return row;
    }));
  }
  function local(item) { // its name, without what the groups around it say already
    const name = isGroup(item) ? title(item) : item.name ?? "";
    for (let group = item.in; group !== ROOT; group = items[group].in) {
      const prefix = items[group].name ?? "";
      if (prefix && [".", "/"].includes(name[prefix.length]) && name.startsWith(prefix)) return name.slice(prefix.length + 1);
    }
    return name;
  }
  const around = (i) => (items[i].in === ROOT ? "" : `${title(items[items[i].in])}: ${items[items[i].in].spec}`);

  // -- going from box to box --------------------------------------------------------------------------

  function go(i) {
    now = i;
    element(i).focus({ preventScroll: true });
    show(i);
  }
  function neighbour(key) {
    const middle = (i) => { const { x, y, w, h } = screen.place.get(i); return [x + w / 2, y + h / 2]; };
    const [x, y] = middle(now), sideways = key === "ArrowLeft" || key === "ArrowRight";
    const far = sideways ? (i) => Math.abs(middle(i)[1] - y) : (i) => Math.abs(middle(i)[1] - y) + 3 * Math.abs(middle(i)[0] - x);
    const candidates = key === "ArrowRight" ? screen.links.filter(([tail]) => tail === now).map(([, head]) => head)
      : key === "ArrowLeft" ? screen.links.filter(([, head]) => head === now).map(([tail]) => tail)
      : [...screen.place.keys()].filter((i) => !(inner.has(i) && screen.isOpen(i)) && (key === "ArrowUp" ? middle(i)[1] < y - 1 : middle(i)[1] > y + 1));
    return candidates.length ? candidates.reduce((a, b) => (far(b) < far(a) ? b : a)) : -1;
  }
  const files = () => ({ world, tell, width: screen.width, height: screen.height, label: model.get("label") });
  const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const actions = {
    in: () => zoom(1.25), out: () => zoom(0.8), fit: () => keepTo(() => fit()),
    open: () => all(true), close: () => all(false),
    svg: () => saveSvg(files()), png: () => savePng(files()),
  };
  function onKey(event) {
    const { key, target } = event, inGraph = svg.contains(target), atBox = inGraph && target !== svg;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    let act = null;
    if (target === search) act = key === "Enter" ? () => next(event.shiftKey ? -1 : 1) : key === "Escape" ? () => { search.value = ""; find(); } : null;
    else if (key in ARROWS && inGraph && (event.shiftKey || !atBox)) act = () => move(...ARROWS[key].map((d) => d * STEP));
    else if (key in ARROWS && atBox) act = () => { const i = neighbour(key); if (i >= 0) go(i); };
    else if (atBox && key === "Enter") act = () => choose(now);
    else if (atBox && key === " ") act = () => toggle(now);
    else if (atBox && key === "Backspace") act = () => { if (items[now].in !== ROOT) { now = items[now].in; toggle(now); } };
    else if (atBox && key === "Escape") act = () => svg.focus({ preventScroll: true });
    else if (inGraph && key === "Enter") act = () => go(screen.box[Math.max(now, 0)]);
    else if (key === "/") act = () => search.focus();
    else act = { "+": actions.in, "=": actions.in, "-": actions.out, "0": actions.fit }[key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  // -- the reader's hands -----------------------------------------------------------------------------

  const itemAt = (event) => { const g = event.target.closest?.("[data-item]"); return g ? +g.dataset.item : -1; };
  const on = {
    keydown: onKey,
    input: (event) => { if (event.target === search) find(); },
    click: (event) => {
      const action = event.target.closest("[data-action]"), i = itemAt(event);
      if (action) actions[action.dataset.action]();
      else if (i >= 0 && !wasDragged) {
        if (event.target.closest(".mg-toggle")) toggle(i);
        else choose(i);
      }
    },
    dblclick: (event) => { const i = itemAt(event); if (i >= 0 && !event.target.closest(".mg-toggle")) toggle(i); },
    focusin: (event) => {
      const i = itemAt(event);
      if (i >= 0) now = i;
      mark();
      explain();
    },
    pointerover: (event) => { const i = itemAt(event); if (i >= 0) explain(i); else explain(); },
    pointerdown: (event) => {
      wasDragged = false;
      if (event.button === 0 && svg.contains(event.target)) dragged = { x: event.clientX, y: event.clientY, view, id: event.pointerId };
    },
    pointermove: (event) => {
      if (!dragged) return;
      const dx = event.clientX - dragged.x, dy = event.clientY - dragged.y;
      if (!wasDragged && Math.hypot(dx, dy) < 5) return;
      if (!wasDragged) svg.setPointerCapture(dragged.id);
      wasDragged = true;
      look({ ...dragged.view, x: dragged.view.x + dx, y: dragged.view.y + dy });
    },
    pointerup: () => { dragged = null; },
    pointercancel: () => { dragged = null; },
  };
  for (const [event, heard] of Object.entries(on)) root.addEventListener(event, heard);
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
    event.preventDefault();
    const { left, top } = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - left, event.clientY - top);
  }, { passive: false });
  model.on("change:chosen", onChosen);
  const resized = new ResizeObserver(() => { // it may be made before it is on the page
    if (!svg.clientWidth || view !== framed) return;
    keepTo(framing);
    if (!seen && model.get("chosen") >= 0) { reveal(model.get("chosen")); explain(); }
    seen = true;
    tell(whole());
  });
  resized.observe(svg);

  draw();
  explain();
  tell(whole());
  return () => {
    resized.disconnect();
    model.off("change:chosen", onChosen);
    root.remove();
  };
}

export default { render };
