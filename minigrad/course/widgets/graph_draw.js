// Draws the open part of a graph: boxes, frames and lines. The state `g`: see graph_view.js.

const SVG = "http://www.w3.org/2000/svg";

function standIns(g) { // item → the box shown for it: its own, or that of the outermost closed group around it
  const { items } = g, box = new Int32Array(items.length), isOpen = (i) => i === ROOT || (g.open.has(i) && box[i] === i);
  const find = (groups) => items.forEach((item, i) => { if (isGroup(item) === groups) box[i] = isOpen(item.in) ? i : box[item.in]; });
  find(true); // an outer group comes before an inner one
  find(false);
  return { box, isOpen };
}

function linksOf({ arrows, items }, box) { // [tail, head] between the boxes shown, each once
  const links = new Map();
  for (let i = 0; i < arrows.length; i += 2) {
    const tail = box[arrows[i]], head = box[arrows[i + 1]];
    if (tail !== head) links.set(tail * items.length + head, [tail, head]);
  }
  return [...links.values()];
}

function drawGraph(g) {
  const { items, inner } = g, { box, isOpen } = standIns(g), links = linksOf(g, box);
  const screen = arranged({
    children: (i) => (inner.has(i) && isOpen(i) ? inner.get(i) : null),
    parent: (i) => items[i].in,
    size: (i) => shapeIn(g, i).size,
    heading: (i) => 41 + width(heading(items[i], localName(items, items[i])), "bold 13px"),
    links,
    room: g.room,
  });
  g.screen = Object.assign(screen, { box, isOpen, links });
  g.tall = Math.min(Math.max(Math.round(Math.max(fitting(g), READABLE) * screen.height + MARGINS), LOWEST), TALLEST);
  g.svg.style.setProperty("--tall", `${g.tall}px`);
  putElements(g);
  connect(screen.routes, g.lines, g.tips);
  drawMap(g);
  mark(g);
}

function setDense(g, dense) {
  if (g.dense === dense) return;
  g.dense = dense;
  g.shapes = [];
  g.made.clear();
}
const shapeIn = ({ shapes, items, dense }, i) => (shapes[i] ??= shape(items[i], i, localName(items, items[i]), dense));

function putElements(g) {
  const { place, isOpen } = g.screen, put = { frames: [], boxes: [] }, host = makeElements(g);
  for (const [i, { x, y, w, h }] of place) {
    const element = elementOf(g, i), at = `translate(${r(x)} ${r(y)})`;
    if (element.getAttribute("transform") !== at) element.setAttribute("transform", at);
    if (isOpen(i)) { element.firstChild.setAttribute("width", r(w)); element.firstChild.setAttribute("height", r(h)); }
    put[isOpen(i) ? "frames" : "boxes"].push(element);
  }
  g.frames.replaceChildren(...put.frames);
  const stay = new Set(put.boxes);
  for (const element of [...g.boxes.children]) if (!stay.has(element)) element.remove();
  g.boxes.append(...put.boxes.filter(({ parentNode }) => !parentNode || parentNode === host));
  g.root.dataset.shown = put.boxes.length;
}

function makeElements(g) { // for items shown for the first time
  const { items, made, screen: { place, isOpen } } = g;
  const key = (i) => (isOpen(i) ? `open ${i}` : i), missing = [...place.keys()].filter((i) => !made.has(key(i)));
  const host = document.createElementNS(SVG, "g");
  host.innerHTML = missing.map((i) => (isOpen(i) ? frame(items[i], i, localName(items, items[i])) : shapeIn(g, i).markup())).join("");
  [...host.children].forEach((element, n) => made.set(key(missing[n]), element));
  return host;
}
const elementOf = ({ made, screen }, i) => made.get(screen.isOpen(i) ? `open ${i}` : i);

function connect(routes, line, tip) {
  line.setAttribute("d", routes.map(curve).join(""));
  const back = routes.flatMap((points) => points.filter(([, , corner]) => corner).slice(1, 2)).map(([x, y]) => [x - 40, y]); // a lane goes back: its direction is shown near its beginning
  tip.setAttribute("d", routes.map((points) => points.at(-1)).map(([x, y]) => `M${r(x)},${r(y)}l-8,-3.5v7z`).join("") +
    back.map(([x, y]) => `M${r(x)},${r(y)}l8,-3.5v7z`).join(""));
}

// Set the classes of chosen and found boxes, and draw the lines at the focused box.
function mark(g) {
  const { items, matches, match, screen: { box, place, routes, links, isOpen } } = g;
  const chosen = g.model.get("chosen"), found = new Set(matches.map((i) => box[i])), read = new Set(links.map(([tail]) => tail));
  for (const i of place.keys()) {
    const element = elementOf(g, i);
    element.classList.toggle("mg-chosen", i === chosen);
    element.classList.toggle("mg-output", !read.has(i) && !isOpen(i) && !/^(lea|con)/.test(items[i].kind));
    element.setAttribute("aria-pressed", i === chosen);
    element.classList.toggle("mg-match", found.has(i));
    element.classList.toggle("mg-current", match >= 0 && box[matches[match]] === i);
  }
  connect(routes.filter((_, n) => links[n].includes(g.now)), g.nearLines, g.nearTips);
}

function localName(items, item) { // the item's name without the prefix that its groups show
  const name = isGroup(item) ? title(item) : item.name ?? "";
  for (let group = item.in; group !== ROOT; group = items[group].in) {
    const prefix = items[group].name ?? "";
    if (prefix && [".", "/"].includes(name[prefix.length]) && name.startsWith(prefix)) return name.slice(prefix.length + 1);
  }
  return name;
}
