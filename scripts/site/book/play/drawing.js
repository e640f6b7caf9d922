// Draws a recorded graph: boxes, an arrow for each operand, and on the arrow "incoming × local slope = outgoing".
// arranged(), GraphView's layout, places the boxes from left to right, or from top to bottom if a record would be too wide.
// drawn(record, width, records) → { figure, refresh(record, reach) }: refresh writes the numbers of a record of the same shape.
const LINE = 17, HEADER = 24, TRACK = 12, CHARACTER = 7, DECADES = Math.log10(16); // pixels; an arrow grows from 1/16 to 16
function short(x) { // a number in three digits
  if (typeof x === "boolean" || Number.isNaN(x)) return String(x);
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x), isFar = size && (size < 0.001 || size >= 999999.5);
  const text = isFar ? x.toExponential(1).replace("e+", "e") : String(size >= 100 ? Math.round(x) : Number(x.toPrecision(3)));
  return text === "-0" ? "0" : text.replaceAll("-", "−");
}
const shown = (value) => (Array.isArray(value) ? `[${value.map(short).join(", ")}]` : short(value));
const numbers = (value) => (Array.isArray(value) ? value : [value]);
const NARROW = 440, TALL = 600; // pixels: with less room, a label has two lines; in a higher graph, it is shown on demand
const held = (text) => (text.startsWith("−") ? `(${text})` : text); // after a sign
const called = ({ name, kind, value }) => name ?? (kind === "constant" ? held(shown(value)) : "…");
// What a box is: "z = … × x", where … is an operand without a name.
function heading({ kind, sign, name, of }, nodes) {
  if (kind !== "op") return name ?? "";
  const [a, b, c] = of.map((i) => called(nodes[i])), call = c ? sign : b && /^\w/.test(sign) ? `${sign}(${a}, ${b})` : b ? `${a} ${sign} ${b}` : `${sign} ${a}`;
  return name ? `${name} = ${call}` : call;
}
const sizeOf = (value) => Math.max(...numbers(value).map((x) => (Number.isNaN(x) ? Infinity : Math.abs(x))));
const share = (value) => Math.min(1, Math.max(0, (Math.log10(sizeOf(value)) + DECADES) / (2 * DECADES)));
const thickness = (value) => 1.5 + 8 * share(value); // as in ChainRule
function rowsOf({ rows, tail, total: sum }, isNarrow) { // the text on an arrow
  const lines = rows.map((row) => { const [a, b, c] = row.map(short); return `${a} × ${held(b)} = ${c}`; });
  return isNarrow && rows.length === 1 ? lines[0].split(/ (?==)/) : rows.length > 1 && !lengthOf(tail.value) ? [...lines, `sum ${short(sum)}`] : lines;
}
const widest = (lines) => CHARACTER * Math.max(0, ...lines.map((line) => line.length));
const chipSize = (edge, isNarrow, rows = rowsOf(edge, isNarrow)) => [16 * Math.ceil((Math.max(widest(rows), isNarrow ? 38 : 66) + 10) / 16), rows.length * LINE + 4]; // in steps: rarely another
function boxSize(node, nodes) {
  const { kind, value, needs, grad } = node, count = numbers(value).length, isArray = lengthOf(value) > 0;
  if (kind === "constant") return [widest(numbers(value).map(short)) + 14, count * LINE + 6];
  const body = isArray ? 2 * widest(["−0.000e−000"]) : Math.max(widest([short(value), `grad ${shown(grad ?? 0)}`]), kind === "leaf" ? 104 : needs ? 74 : 46);
  const height = HEADER + count * (kind === "leaf" ? LINE + TRACK : LINE) + (isArray ? LINE - 4 : needs ? LINE : 0) + 8;
  return [Math.max(1.05 * widest([heading(node, nodes)]), body) + 16, height];
}
function placed({ nodes, edges }, width, isTurned, isBrief) {
  const boxes = nodes.filter((node) => node.used || node.kind === "leaf"), isLeaf = ({ kind }) => kind === "leaf";
  const sizes = new Map(boxes.map((node) => [node.id, boxSize(node, nodes)]));
  const chip = (i) => (edges[i].rows.length && !isBrief ? [nodes.length + i] : []);
  edges.forEach((edge, i) => chip(i).forEach((id) => sizes.set(id, chipSize(edge, width < NARROW))));
  const links = edges.flatMap(({ tail, head }, i) => [tail.id, ...chip(i), head.id].flatMap((id, n, way) => (n ? [[way[n - 1], id]] : [])));
  const children = (group) => (group < 0 ? [...sizes.keys()].reverse() : null), parent = () => -1, heading = () => 0;
  const arrange = (room, flip = (size) => size) => arranged({ children, parent, closed: (id) => ({ size: flip(sizes.get(id)), top: 0 }), heading, links, room });
  const flat = arrange(Infinity), deep = transposed(arrange(Infinity, ([w, h]) => [h, w])), fits = deep.width < 1.14 * width && (width < 640 || deep.height < 520), isWide = flat.width > width;
  const plan = isTurned ? deep : { ...arrange(width), path: curve }, routes = [...plan.routes]; // from top to bottom, or in rows
  const whole = (way, more, axis) => straighten([...way, ...more], axis, more.length ? way.length - 1 : 0, [...plan.place.values()]);
  const route = (_, i) => whole(routes.shift(), chip(i).flatMap(() => routes.shift()), plan.isDeep ? 0 : 1);
  const order = (a, b) => isLeaf(b) - isLeaf(a) || isLeaf(a) * (plan.place.get(a.id).y - plan.place.get(b.id).y || plan.place.get(a.id).x - plan.place.get(b.id).x);
  return { ...plan, fits, isWide, boxes: boxes.sort(order), routes: edges.map(route) };
}
// Removes needless bends from an arrow: kinks of a few pixels, outward from the label at `fixed`, and way points with no box (`walls`) in between.
function straighten(points, axis, fixed, walls) {
  if (points.some(([, , isCorner]) => isCorner)) return points; // this arrow goes to another row
  const align = (i, to) => { if (Math.abs(points[i][axis] - points[to][axis]) < 12) points[i][axis] = points[to][axis]; }, main = 1 - axis;
  for (let i = fixed - 1; i >= 0; i--) align(i, i + 1);
  for (let i = fixed + 1; i < points.length - 1; i++) align(i, i - 1);
  const start = points[0].map((x, n) => (n === axis ? x : x + 10)), end = points.at(-1); // leaves room for the arrow's tip
  const along = [start, ...points.filter((point) => point[main] > start[main] && point[main] < end[main]), end], label = along.indexOf(points[fixed]);
  const direct = (way) => (isFree(way[0], way.at(-1), axis, walls) ? [way[0], way.at(-1)] : way);
  return [points[0], ...(fixed ? [...direct(along.slice(0, label + 1)), ...direct(along.slice(label + 1))] : direct(along))];
}
const isFree = (a, b, axis, walls) => walls.every(({ x, y, w, h }) => [1, 2, 3, 4, 5, 6, 7, 8, 9].every((tenth) => { // the curve from a to b
  const t = tenth / 10, point = a.map((from, n) => from + (b[n] - from) * (n === axis ? t * t * (3 - 2 * t) : 1.5 * t * (1 - t) + t ** 3));
  return [[x, w], [y, h]].some(([least, size], n) => Math.abs(point[n] - least - size / 2) > size / 2 + (n === axis ? 6 : 0));
}));
function transposed({ place, routes, width, height }) {
  const turn = (points) => points.map(([x, y]) => [y, x]), boxes = [...place].map(([id, { x, y, w, h }]) => [id, { x: y, y: x, w: h, h: w }]);
  const path = (points) => curve(turn(points)).replace(/([-\d.]+),([-\d.]+)/g, "$2,$1");
  return { place: new Map(boxes), routes: routes.map(turn), width: height, height: width, path, isDeep: true };
}
function drawn(record, width, records) {
  const plans = records.map((each) => placed(each, width)), isTurned = plans.every(({ fits }) => fits) && plans.some(({ isWide }) => isWide);
  const { nodes, edges } = record, whole = placed(record, width, isTurned), isNarrow = width < NARROW, isBrief = whole.height > TALL * (isNarrow ? 1.6 : 1);
  const plan = isBrief ? placed(record, width, false, true) : whole, slots = {}, time = ({ depth }) => `style="--depth: ${depth}"`; // when it moves
  const path = (i, look, more) => `<path class="play-${look}" d="${plan.path(plan.routes[i])}" ${more}/>`;
  const tip = ([x, y], look = "tip") => `<path class="play-${look}" d="${look === "tip" ? "M0,0L16,-10V10Z" : "M0,0L-10,-6V6Z"}" transform="translate(${x},${y}) rotate(${plan.isDeep ? 90 : 0})"/>`;
  const figure = document.createElement("figure"), size = [plan.width + 8, plan.height + 8], layers = [[], [], []]; // labels: from the result back
  edges.forEach((edge, i) => { // bands below, pulses and the tips of values above them, labels on top
    layers[1].push(path(i, edge.rows.length ? "line play-under" : "line", ""), path(i, "pulse", `pathLength="1" ${time(edge.tail)}`), tip(plan.routes[i].at(-1), "fore"));
    if (!edge.rows.length) return;
    layers[0].push(`<g class="play-band" data-slot="band ${i}" ${time(edge.head)}>${path(i, "way", "")}${tip(plan.routes[i][0])}</g>`);
    layers[1].push(path(i, "pulse play-back", `pathLength="1" ${time(edge.head)}`));
    const chip = chipOf(edge, i, isBrief ? chipPlace(chipSize(edge, isNarrow), plan.routes[i], plan.width) : plan.place.get(nodes.length + i), isNarrow, `${time(edge.head)} ${isBrief ? 'tabindex="0"' : ""}`);
    layers[2].unshift(isBrief ? `<g class="play-brief">${path(i, "hit", "")}${chip}</g>` : chip);
  });
  const boxes = plan.boxes.map((node) => boxOf(node, plan.place.get(node.id), time)), parts = [layers[0], layers[1], boxes, layers[2]].flat().join("");
  figure.innerHTML = `<figcaption></figcaption>
    <div><svg class="play-svg" role="group" viewBox="-4 -4 ${size.join(" ")}" style="--natural: ${size[0]}px; --last: ${record.result.depth}">${parts}</svg></div>`;
  for (const slot of figure.querySelectorAll("[data-slot]")) slots[slot.dataset.slot] = slot;
  return { figure, refresh: (next, reach) => refresh(next, slots, reach, isNarrow) };
}
// What a visitor has typed is in no template: refresh() writes it, as text.
const textAt = (slot, x, y, look, style = "", text = "") => `<text data-slot="${slot}" x="${x}" y="${y}" class="play-${look}" aria-hidden="true" ${style}>${text}</text>`;
function chipPlace([w, h], way, width) { // in the middle of its arrow
  const m = way.length >> 1, [x, y] = way[m].map((end, n) => (end + way[m - 1][n]) / 2);
  return { x: Math.min(Math.max(x - w / 2, 0), width - w), y: y - h / 2, w, h };
}
function chipOf(edge, i, { x, y, w, h }, isNarrow, style) {
  const rows = rowsOf(edge, isNarrow).map((_, n) => textAt(`row ${i} ${n}`, x + w / 2, y + 2 + (n + 0.76) * LINE, "grad"));
  const rect = `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="6"/>`;
  return `<g class="play-chip" data-slot="chip ${i}" role="img" ${style}>${rect}${rows.join("")}</g>`;
}
function boxOf(node, { x, y, w, h }, time) {
  const { kind, id, leaf, used, value, needs } = node, isTable = lengthOf(value) > 0 && kind !== "constant", middle = x + w / 2;
  const [left, right] = isTable ? [x + w * 0.27, x + w * 0.73] : [middle, middle], step = kind === "leaf" ? LINE + TRACK : LINE;
  let top = y + (kind === "constant" ? 3 : HEADER), inside = kind === "constant" ? "" : textAt(`head ${id}`, middle, y + 17, "head");
  if (isTable) { inside += textAt("", left, top + 9, "small", "", "value") + textAt("", right, top + 9, "small", "", "grad"); top += LINE - 4; }
  numbers(value).forEach((_, n) => {
    const number = textAt(`value ${id} ${n}`, left, top + 13, "number", time(node));
    inside += kind === "leaf" ? sliderAt(number, [left, top, left - x - 8], `${leaf}:${n}`) : number;
    if (needs && isTable) inside += textAt(`grad ${id} ${n}`, right, top + 13, "grad", time(node));
    top += step;
  });
  if (needs && !isTable) inside += textAt(`grad ${id} 0`, middle, top + 13, "grad", time(node));
  const rect = `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="${kind === "op" ? 10 : 3}"/>`;
  const role = kind === "leaf" ? "group" : "img"; // a leaf has sliders
  return `<g class="play-box play-${kind}${used ? "" : " play-ghost"}" data-slot="box ${id}" role="${role}">${rect}${inside}</g>`;
}
function sliderAt(number, [middle, top, half], key) {
  const rect = `<rect class="play-grip" x="${middle - half - 4}" y="${top - 1}" width="${2 * half + 8}" height="${LINE + TRACK}" rx="4"/>`;
  return `<g class="play-slider" data-slot="${key}" data-key="${key}" role="slider" tabindex="0" aria-orientation="horizontal">
    ${rect}${number}<path class="play-track" d="M${middle - half},${top + 22}h${2 * half}"/><circle class="play-knob" cx="${middle}" cy="${top + 22}" r="4.5"/></g>`;
}
function refresh({ nodes, edges, result }, slots, reach, isNarrow) {
  const write = (slot, text) => { if (slots[slot]) slots[slot].textContent = text; };
  for (const node of nodes) {
    const { id, leaf, name, value, grad } = node, isArray = lengthOf(value) > 0;
    write(`head ${id}`, heading(node, nodes));
    slots[`box ${id}`]?.setAttribute("aria-label", [heading(node, nodes), shown(value), ...(grad === null ? [] : [`gradient ${shown(grad)}`])].join("; "));
    numbers(value).forEach((x, n) => {
      const slider = slots[`${leaf}:${n}`], gradient = grad === null ? "·" : short(at(grad, n));
      write(`value ${id} ${n}`, short(x));
      write(`grad ${id} ${n}`, isArray ? gradient : `grad ${gradient}`);
      if (slider) slide(slider, x, reach(`${leaf}:${n}`, x), isArray ? `${name}, number ${n + 1}` : name, result);
    });
  }
  edges.forEach((edge, i) => {
    rowsOf(edge, isNarrow).forEach((text, n) => write(`row ${i} ${n}`, text));
    const chip = slots[`chip ${i}`], [width] = chipSize(edge, isNarrow);
    if (chip) Object.entries({ x: chip.lastChild.getAttribute("x") - width / 2, width }).forEach((pair) => chip.firstChild.setAttribute(...pair)); // also in a drag
    chip?.setAttribute("aria-label", `${heading(edge.head, nodes)}, to ${heading(edge.tail, nodes)}: ${rowsOf(edge).join(", ")}`);
    for (const part of [slots[`band ${i}`], chip]) if (part) weigh(part, edge.total);
  });
}
function weigh(part, gradient) {
  const width = thickness(gradient);
  part.style.setProperty("--width", width);
  part.style.setProperty("--share", `${Math.round(100 * share(gradient))}%`);
  part.classList.toggle("play-none", sizeOf(gradient) === 0);
  part.classList.toggle("play-odd", numbers(gradient).some((x) => !Number.isFinite(x)));
}
function slide(slider, x, reach, name, result) {
  const [left, width] = ["x", "width"].map((name) => Number(slider.querySelector(".play-grip").getAttribute(name)));
  slider.querySelector(".play-knob").setAttribute("cx", left + width / 2 + (width / 2 - 4) * Math.min(1, Math.max(-1, x / reach)));
  const valuetext = `${short(x)}; ${result.name ?? "the result"} is ${shown(result.value)}`, says = { label: name, valuemin: -reach, valuemax: reach, valuenow: x, valuetext };
  for (const [key, text] of Object.entries(says)) slider.setAttribute(`aria-${key}`, text);
}
