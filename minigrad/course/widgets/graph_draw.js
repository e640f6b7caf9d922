// Draws the open part of a graph: boxes, frames and lines. The state `g`: see graph_view.js.

const MOST_BESIDE = 3; // lines

function standIns(g) { // item → its own box, or that of the outermost closed group around it
  const { items } = g, box = new Int32Array(items.length), isOpen = (i) => i === ROOT || (g.open.has(i) && box[i] === i);
  const find = (groups) => items.forEach((item, i) => { if (isGroup(item) === groups) box[i] = isOpen(item.in) ? i : box[item.in]; });
  find(true); // an outer group comes before an inner one
  find(false);
  return { box, isOpen };
}

function linksOf({ arrows, items }, box) { // [tail, head] of boxes, each once
  const links = new Map();
  for (let i = 0; i < arrows.length; i += 2) {
    const tail = box[arrows[i]], head = box[arrows[i + 1]];
    if (tail === head) continue;
    const key = tail * items.length + head;
    if (!links.has(key)) links.set(key, Object.assign([tail, head], { values: new Set() }));
    links.get(key).values.add(arrows[i]);
  }
  return [...links.values()];
}

function tagName({ items, inner }, i) { // as "tanh, 3 of 6"
  const item = items[i], { kind, name } = items[item.in] ?? {}, alike = inner.get(item.in);
  const which = kind === "block" ? name.split(":")[0] : kind === "repeat" && `${alike.indexOf(i) + 1} of ${alike.length}`;
  return short(item.name || !which ? title(item) : `${title(item)}, ${which}`);
}

// Where more than MOST_BESIDE lines run side by side, those of leaves become tags above their readers; if that is not
// enough, all. A line from a leaf to a far reader becomes a tag if the leaf has a near one.
function drawGraph(g) {
  const { items, inner, room } = g, { box, isOpen } = standIns(g), links = linksOf(g, box);
  const children = (i) => (inner.has(i) && isOpen(i) ? inner.get(i) : null), parent = (i) => items[i].in, closed = (i) => shapeIn(g, i);
  const head = (i) => 41 + width(heading(items[i], localName(items, items[i])), "bold 13px");
  for (let n = 0, more = [0]; more.length; n++) {
    g.reads = Map.groupBy(links.filter(({ tag }) => tag), ([, to]) => to);
    const { routes, wires } = g.screen = arranged({ children, parent, closed, heading: head, links, room }), passes = new Map();
    Object.assign(g.screen, { box, isOpen, links });
    wires.forEach(([tail], i) => passes.set(tail, Math.min(passes.get(tail) ?? FAR, routes[i].passes)));
    const crowded = (_, i) => routes[i].beside > MOST_BESIDE;
    const leaves = wires.filter(([tail], i) => items[tail].kind === "leaf" && (crowded(tail, i) || routes[i].passes - passes.get(tail) >= FAR));
    more = n > 2 ? [] : leaves.length ? leaves : wires.filter(crowded);
    for (const link of more) link.tag = true;
  }
  g.tall = Math.min(Math.max(Math.round(Math.max(fitting(g), READABLE) * g.screen.height + MARGINS), LOWEST), TALLEST);
  g.svg.style.setProperty("--tall", `${g.tall}px`);
  putElements(g);
  putWires(g);
  drawMap(g);
  mark(g);
}

function putWires(g) { // lines, where the pointer meets them, their values
  const { wires, routes } = g.screen;
  const back = routes.flatMap((points) => points.filter(([, , corner]) => corner).slice(1, 2)).map(([x, y]) => [x - 40, y]); // the direction of a lane
  const tip = (points, by) => points.map(([x, y]) => `M${r(x)},${r(y)}l${by},-3.5v7z`).join("");
  g.lines.setAttribute("d", routes.map(curve).join(""));
  g.tips.setAttribute("d", tip(routes.map((points) => points.at(-1)), -8) + tip(back, 8));
  g.wiresOf.innerHTML = wires.map(({ values: { size } }, n) => `<path data-wire="${n}" pathLength="1" style="--at:${r(n / wires.length)}" d="${curve(routes[n])}"/>${size > 1 ? countOf(size, routes[n], n) : ""}`).join("");
}
function countOf(size, points, n) { // in the longest piece
  const [long, x, y] = points.slice(1).map(([x, y], i) => [Math.abs(x - points[i][0]), x + points[i][0], y + points[i][1]]).sort(([a], [b]) => b - a)[0];
  return long < 90 ? "" : `<text class="mg-label" x="${r(x / 2 + (points.some(([, , corner]) => corner) && (n % 3) * 60 - 60))}" y="${r(y / 2 + 4)}">${size} values</text>`;
}

function shapeIn(g, i) {
  const { shapes, items, dense } = g, reads = g.reads.get(i) ?? [], key = [dense, ...reads].join();
  if (shapes[i]?.key === key) return shapes[i];
  return (shapes[i] = { ...shape(items[i], i, localName(items, items[i]), dense, reads.map(([tail]) => [tail, tagName(g, tail), items[tail].kind])), key });
}

function putElements(g) {
  const { items, screen: { place, isOpen } } = g, all = [...place.keys()], closed = all.filter((i) => !isOpen(i));
  g.frames.innerHTML = all.filter(isOpen).map((i) => frame(items[i], i, localName(items, items[i]), place.get(i))).join("");
  g.boxes.innerHTML = closed.map((i) => shapeIn(g, i).markup(place.get(i))).join("");
  g.made = new Map([...g.world.querySelectorAll("[data-item]")].map((element) => [+element.dataset.item, element]));
  g.root.dataset.shown = closed.length;
}
// Set the classes of chosen and found boxes.
function mark(g) {
  const { items, matches, match, screen: { box, place, links, isOpen } } = g;
  const chosen = g.model.get("chosen"), found = new Set(matches.map((i) => box[i])), read = new Set(links.map(([tail]) => tail));
  for (const i of place.keys()) {
    const element = g.made.get(i);
    const marks = { chosen: i === chosen, output: !read.has(i) && !isOpen(i) && !/^(lea|con)/.test(items[i].kind), match: found.has(i), current: match >= 0 && box[matches[match]] === i };
    for (const name in marks) element.classList.toggle(`mg-${name}`, marks[name]);
    element.setAttribute("aria-pressed", i === chosen);
  }
  light(g);
}
// Lights the lines and tags at the box that is pointed at or has the focus, or the line that is pointed at, with their ends.
function light(g) {
  const { place, routes, links, wires } = g.screen, at = g.over >= 0 ? g.over : g.now, near = g.wire >= 0 ? [wires[g.wire]] : links.filter((link) => link.includes(at));
  const ends = new Set(near.flat());
  wires.forEach((link, n) => g.wiresOf.querySelector(`[data-wire="${n}"]`).classList.toggle("mg-lit", near.includes(link)));
  g.svg.classList.toggle("mg-lights", near.length > 0);
  for (const i of place.keys()) g.made.get(i).classList.toggle("mg-lit", ends.has(i));
  for (const tag of g.boxes.querySelectorAll(".mg-tag")) tag.classList.toggle("mg-lit", near.some(([tail, head]) => tail === +tag.dataset.tag && head === +tag.parentNode.dataset.item));
}

function localName(items, item) { // the item's name without the prefix that its groups show
  const name = isGroup(item) ? title(item) : item.name ?? "";
  for (let group = item.in; group !== ROOT; group = items[group].in) {
    const prefix = items[group].name ?? "";
    if (prefix && [".", "/"].includes(name[prefix.length]) && name.startsWith(prefix)) return name.slice(prefix.length + 1);
  }
  return name;
}
