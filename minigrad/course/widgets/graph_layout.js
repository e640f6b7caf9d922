// The layout of a graph. Each open group has its own layered drawing, and is one box of the drawing around it.
//
//   arranged({ children, parent, closed, heading, links, room }) → { place, wires, routes, width, height }
//     children   group → its shown items; parent  item → the group around it, ROOT for the outermost
//     closed     item → the size of its closed box, and top, the height of the tags in it;  heading  group → its width
//     links      [tail, head] between shown boxes;  a tag has no line;  room  the width at which rows end
//     place      item → { x, y, w, h };  wires  the links with a line
//     routes     the points of each line; [x, y, true] is a round corner; passes and beside: how many layers, and lines
//
// Layers are longest paths; averages reduce crossings; heights are least squares that keep the order. Layers wider than
// the room are cut into rows (graph_rows.js).

const ROOT = -1, PAD = 8, HEAD = 36, GAP = 10, COLUMN = 22, BORDER = 12;
const MOST_BENDS = 2000; // in one drawing; a line that would need more than its share of bends is straight
const FAR = 3; // layers passed

function arranged(graph, room = graph.room) {
  const { children, parent, closed, heading, links } = graph;
  const levels = new Map(), drawn = new Map(), place = new Map();
  const level = (group) => levels.get(group) ?? levels.set(group, new Map()).get(group);
  const routes = links.map((link) => routeOf(link, parent, level)), wires = links.filter(({ tag }) => !tag);

  function draw(group, wide) {
    const boxes = new Map();
    for (const item of children(group)) {
      const inner = children(item) && draw(item, Math.max(wide - 2 * (PAD + SIDE), NARROW));
      const { size: [w, h], top } = inner ? { size: [inner.width + 2 * PAD, inner.height + HEAD + PAD], top: 0 } : closed(item);
      boxes.set(item, { id: item, w, h, inner, top });
    }
    const result = layered(boxes, [...level(group).values()], group === ROOT ? 0 : heading(group) - 2 * PAD, wide);
    drawn.set(group, result);
    return result;
  }
  function settle(group, x, y) {
    const own = drawn.get(group);
    own.x = x;
    own.y = y;
    for (const item of children(group)) {
      const box = own.boxes.get(item);
      place.set(item, { x: x + box.x, y: y + box.y - box.h / 2 + box.top, w: box.w, h: box.h - box.top });
      if (box.inner) settle(item, x + box.x + PAD, y + box.y - box.h / 2 + HEAD);
    }
  }
  const { width, height } = draw(ROOT, room), over = width - room;
  if (room === graph.room && over > 0 && over < room / 4) return arranged(graph, room - over); // for lanes at an open group
  settle(ROOT, 0, 0);

  const points = (route) => Object.assign(route.flatMap(({ group, link }, i) => {
    const { x, y } = drawn.get(group);
    return link.points.slice(drawn.has(link.from) && i ? 1 : 0, drawn.has(link.to) ? -1 : undefined).map(([px, py, corner]) => [x + px, y + py, corner]);
  }), { beside: Math.max(...route.map(({ link }) => link.beside)), passes: sum(route.map(({ link }) => link.via.length + (link.turn ? FAR : 0))) });
  return { place, wires, routes: routes.filter((_, n) => !links[n].tag).map(points), width, height };
}

// The links of a line in the drawings that it crosses. It has a gate at each border between two groups.
function routeOf({ 0: tail, 1: head, tag }, parent, level) {
  const inside = new Set();
  for (let group = parent(tail); ; group = parent(group)) {
    inside.add(group);
    if (group === ROOT) break;
  }
  const ins = [], outs = [];
  const link = (group, from, to) => {
    const key = `${from} ${to} ${tail}`, all = level(group);
    if (!all.has(key)) all.set(key, { from, to, tail, tag });
    all.get(key).tag &&= tag;
    return { group, link: all.get(key) };
  };
  let down = head, up = tail;
  for (; !inside.has(parent(down)); down = parent(down)) ins.unshift(link(parent(down), `in ${tail}`, down));
  for (; parent(up) !== parent(down); up = parent(up)) outs.push(link(parent(up), up, `out ${tail}`));
  return [...outs, link(parent(down), up, down), ...ins];
}

// One drawing; y of a box is its middle. Sets `points` of every link.
function layered(boxes, all, least, room) { // tags matter for layers only
  const links = all.filter(({ from, to, tag }) => !tag || (boxes.has(from) && boxes.has(to)));
  for (const { from, to } of links) {
    for (const end of [from, to]) if (!boxes.has(end)) boxes.set(end, { id: end, w: 0, h: 4, gate: String(end).split(" ")[0] });
  }
  const nodes = [...boxes.values()];
  for (const node of nodes) Object.assign(node, { ups: [], downs: [], operands: [], users: [], layer: 0, rank: -1 });
  rank(nodes, boxes, links);
  setLayers(nodes);
  const lines = links.filter(({ from, to, tag }) => !tag && boxes.get(from).rank < boxes.get(to).rank);
  const layers = [], put = (node) => (layers[node.layer] ??= []).push(node);
  nodes.forEach(put);
  const rows = rowsOf(layers, room), turns = new Map();
  addBends(boxes, lines, put, rows, turns);
  order(layers);
  layers.forEach(surround);
  for (const layer of layers) for (const node of layer) for (const side of ["ups", "downs"]) node[side] = node[side].filter(({ far }) => !far);
  heights(layers);
  const sides = [...turns.values()], { columns, right, height } = stack(rows, layers, sides);
  const width = Math.max(right + margin(sides), least);
  for (const node of nodes) if (node.gate) node.x = node.gate === "in" ? -PAD : width + PAD;
  const bends = layers.map((layer) => layer.filter(({ bend }) => bend).length);
  for (const link of links) {
    const { via = [], turn, tag } = link;
    if (!tag) Object.assign(link, { via, beside: Math.max(turn?.lanes ?? 0, ...via.map(({ layer }) => bends[layer])), points: pointsOf(link, boxes, columns) });
  }
  return { boxes, width, height };
}

function setLayers(nodes) {
  for (const node of [...nodes].sort((a, b) => a.rank - b.rank)) {
    node.layer = Math.max(0, ...node.operands.filter((operand) => operand.rank < node.rank).map((operand) => operand.layer + 1));
  }
  for (const node of nodes) { // a node without operands goes in the layer before its first user
    if (!node.operands.length && !node.gate && node.users.length) node.layer = Math.max(0, Math.min(...node.users.map((user) => user.layer)) - 1);
  }
  const last = Math.max(0, ...nodes.map((node) => node.layer));
  const gates = nodes.filter((node) => node.gate === "out");
  for (const gate of gates) gate.layer = last + (nodes.some((node) => node.layer === last && !node.gate) ? 1 : 0);
}

// Bends, where a link crosses the layers between its ends in their rows. Links of one tail share them.
function addBends(boxes, links, put, rows, turns) {
  const bends = new Map(), farthest = Math.max(8, MOST_BENDS / (links.length + 1));
  for (const link of links) {
    const tail = boxes.get(link.from), head = boxes.get(link.to), a = rows.of[tail.layer], b = rows.of[head.layer], via = [];
    const start = offset(tail, `out ${link.tail}`), end = offset(head, `in ${link.tail}`);
    let at = tail;
    const go = (from, to) => {
      for (let layer = from; layer < to && to - from < farthest; layer++) {
        const key = `${link.from} ${link.tail} ${layer}`;
        if (!bends.has(key)) {
          const bend = { w: 0, h: 4, bend: true, layer, ups: [], downs: [] };
          bends.set(key, bend);
          put(bend);
          join(at, bend, at.bend ? 0 : start, 0, at.layer !== layer - 1 || rows.of[at.layer] !== b);
        }
        at = bends.get(key);
        via.push(at);
      }
    };
    go(tail.layer + 1, a === b ? head.layer : rows.starts[a + 1]);
    Object.assign(link, { via, start, end, before: via.length });
    if (a !== b) go(rows.starts[b], head.layer);
    const apart = rows.of[at.layer] !== b;
    if (head.layer - at.layer === 1 || apart) join(at, head, at.bend ? 0 : start, end, apart);
    if (a !== b) link.turn = turnOf(turns, link, { a, b, out: via[link.before - 1] ?? tail, into: via[link.before] ?? head });
  }
}

function setColumns(layers, left) { // gives nodes their x, and returns the left and right sides of each layer
  const isBorder = (layer) => layer.every((node) => node.gate || node.bend);
  let x = left;
  return layers.map((layer, i) => {
    if (i) x += isBorder(layer) || isBorder(layers[i - 1]) ? BORDER : COLUMN;
    const start = x, w = Math.max(0, ...layer.map((node) => node.w));
    for (const node of layer) node.x = start + (w - node.w) / 2;
    x += w;
    return [start, x];
  });
}

function pointsOf({ from: tail, to: head, start = 0, end = 0, via = [], before = via.length, turn }, boxes, columns) {
  const from = boxes.get(tail), to = boxes.get(head), a = from.y + start, b = to.y + end;
  const across = (bends) => bends.flatMap((bend) => columns[bend.layer].map((side) => [side, bend.y]));
  const points = [[from.x + from.w, a], [columns[from.layer][1], a], ...across(via.slice(0, before))];
  const rest = [...across(via.slice(before)), [columns[to.layer][0], b], [to.x, b]];
  return [...points, ...(turn ? cornersOf(turn, points.at(-1)[1], rest[0][1]) : []), ...rest];
}

const join = (up, down, start, end, far = false) => { // far: in another row, so it does not matter for heights
  up.downs.push({ node: down, by: start - end, far });
  down.ups.push({ node: up, by: end - start, far });
};
// The distance from the middle of an open group, or of a box with its tags, at which a line crosses its border.
const offset = (node, gate) => (node.inner ? HEAD + node.inner.boxes.get(gate).y - node.h / 2 : (node.top ?? 0) / 2);

// A topological order; a cycle is broken where it is met.
function rank(nodes, boxes, links) {
  for (const { from, to } of links) {
    boxes.get(to).operands.push(boxes.get(from));
    boxes.get(from).users.push(boxes.get(to));
  }
  let n = 0;
  const visit = (node) => {
    if (node.rank !== -1) return;
    node.rank = -2;
    node.operands.forEach(visit);
    node.rank = n++;
  };
  nodes.forEach(visit);
}

function order(layers) {
  const number = () => layers.forEach((layer) => layer.forEach((node, i) => { node.at = i; }));
  number();
  for (let sweep = 0; sweep < 4; sweep++) {
    const side = sweep % 2 ? "downs" : "ups";
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      for (const node of layer) {
        const near = node[side].map(({ node: other }) => other.at);
        node.key = near.length ? sum(near) / near.length : node.at;
      }
      if (layer.length > 1) layer.sort((a, b) => a.key - b.key).forEach((node, i) => { node.at = i; });
    }
  }
}

// Puts half of the leaves that only one node reads above the operand beside them, so that chains stay level.
function surround(layer) {
  for (const op of layer.filter(({ ups, bend }) => ups.length && !bend)) {
    const readers = op.downs.map(({ node }) => node), own = layer.filter(({ ups, downs, bend, gate }) => !ups.length && !bend && !gate && downs.length === 1 && readers.includes(downs[0].node));
    const rest = layer.filter((node) => !own.includes(node)), half = own.length >> 1;
    rest.splice(rest.indexOf(op), 1, ...own.slice(0, half), op, ...own.slice(half));
    if (own.length) layer.splice(0, layer.length, ...rest);
  }
}

function heights(layers) {
  for (const layer of layers) {
    let y = 0;
    for (const node of layer) {
      node.y = y + node.h / 2;
      y += node.h + GAP;
    }
  }
  for (let sweep = 0; sweep < 6; sweep++) {
    const back = sweep % 2;
    for (const layer of back ? [...layers].reverse() : layers) {
      for (const node of layer) {
        const near = [...(back && sweep < 5 ? [] : node.ups), ...(back ? node.downs : [])];
        node.wish = near.length ? sum(near.map(({ node: other, by }) => other.y - by)) / near.length : node.y;
      }
      pack(layer);
    }
  }
}

// The heights nearest to the wanted ones, in least squares, that keep order and gaps: neighbours that would overlap
// are pooled.
function pack(layer) {
  const pools = []; // each pool ends before the first node of the next one
  let offset = 0;
  layer.forEach((node, i) => {
    if (i) offset += (layer[i - 1].h + node.h) / 2 + (node.bend && layer[i - 1].bend ? GAP / 2 : GAP);
    node.offset = offset;
    const pool = { first: i, weight: node.bend ? 2 : 1, y: node.wish - offset };
    while (pools.length && pools.at(-1).y > pool.y) {
      const { first, weight, y } = pools.pop();
      pool.y = (y * weight + pool.y * pool.weight) / (weight + pool.weight);
      pool.weight += weight;
      pool.first = first;
    }
    pools.push(pool);
  });
  pools.forEach(({ first, y }, n) => {
    for (let i = first; i < (pools[n + 1]?.first ?? layer.length); i++) layer[i].y = y + layer[i].offset;
  });
}

// A smooth path through points, horizontal at each point but at corners.
const curve = (points) => points.reduce((d, [x, y, corner], i) => {
  if (!i) return `M${r(x)},${r(y)}`;
  const [px, py, turned] = points[i - 1], middle = r((px + x) / 2);
  if (corner) return `${d}L${nearer(points[i], points[i - 1])}Q${r(x)},${r(y)} ${nearer(points[i], points[i + 1])}`;
  return d + (turned || Math.abs(py - y) < 0.5 ? `L${r(x)},${r(y)}` : `C${middle},${r(py)} ${middle},${r(y)} ${r(x)},${r(y)}`);
}, "");
function nearer([x, y], [px, py]) { // the point where a round corner begins or ends
  const far = Math.hypot(px - x, py - y) || 1, by = Math.min(ROUND, far / 2) / far;
  return `${r(x + (px - x) * by)},${r(y + (py - y) * by)}`;
}
const r = (n) => Math.round(n * 10) / 10;
