// The layout of a graph. Each open group has its own layered drawing, and is one box of the drawing around it.
//
//   arranged({ children, parent, size, heading, links, room }) → { place, routes, width, height }
//     children   group → its shown items; parent  item → the group around it, ROOT for the outermost
//     size       item → [width, height] of a closed box;  heading  group → width of its heading
//     links      [tail, head] between shown boxes;  room  the width at which rows end
//     place      item → { x, y, w, h };  routes  for each link, the points of its line; [x, y, true] is a round corner
//
// Layers are longest paths; averages reduce crossings; heights are least squares that keep the order. Layers that are
// wider than the room together are cut into rows, as the words of a text are (graph_rows.js).

const ROOT = -1, PAD = 8, HEAD = 36, GAP = 10, COLUMN = 22, BORDER = 12;
const MOST_BENDS = 2000; // in one drawing; a line that would need more than its share of bends is straight

function arranged(graph, room = graph.room) {
  const { children, parent, size, heading, links } = graph;
  const levels = new Map(), drawn = new Map(), place = new Map();
  const level = (group) => levels.get(group) ?? levels.set(group, new Map()).get(group);
  const routes = links.map(([tail, head]) => routeOf(tail, head, parent, level));

  function draw(group, wide) {
    const boxes = new Map();
    for (const item of children(group)) {
      const inner = children(item) && draw(item, Math.max(wide - 2 * (PAD + SIDE), NARROW));
      const [w, h] = inner ? [inner.width + 2 * PAD, inner.height + HEAD + PAD] : size(item);
      boxes.set(item, { id: item, w, h, inner });
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
      place.set(item, { x: x + box.x, y: y + box.y - box.h / 2, w: box.w, h: box.h });
      if (box.inner) settle(item, x + box.x + PAD, y + box.y - box.h / 2 + HEAD);
    }
  }
  const { width, height } = draw(ROOT, room), over = width - room;
  if (room === graph.room && over > 0 && over < room / 4) return arranged(graph, room - over); // for lanes at an open group
  settle(ROOT, 0, 0);

  const points = (route) => route.flatMap(({ group, link }, i) => {
    const { x, y } = drawn.get(group);
    return link.points.slice(drawn.has(link.from) && i ? 1 : 0, drawn.has(link.to) ? -1 : undefined).map(([px, py, corner]) => [x + px, y + py, corner]);
  });
  return { place, routes: routes.map(points), width, height };
}

// The links of a line in the drawings that it crosses. It has a gate at each border between two groups.
function routeOf(tail, head, parent, level) {
  const inside = new Set();
  for (let group = parent(tail); ; group = parent(group)) {
    inside.add(group);
    if (group === ROOT) break;
  }
  const ins = [], outs = [];
  const link = (group, from, to) => {
    const key = `${from} ${to} ${tail}`, all = level(group);
    if (!all.has(key)) all.set(key, { from, to, tail });
    return { group, link: all.get(key) };
  };
  let down = head, up = tail;
  for (; !inside.has(parent(down)); down = parent(down)) ins.unshift(link(parent(down), `in ${tail}`, down));
  for (; parent(up) !== parent(down); up = parent(up)) outs.push(link(parent(up), up, `out ${tail}`));
  return [...outs, link(parent(down), up, down), ...ins];
}

// One drawing; y of a box is its middle. Sets `points` of every link.
function layered(boxes, links, least, room) {
  for (const { from, to } of links) {
    for (const end of [from, to]) if (!boxes.has(end)) boxes.set(end, { id: end, w: 0, h: 4, gate: String(end).split(" ")[0] });
  }
  const nodes = [...boxes.values()];
  for (const node of nodes) Object.assign(node, { ups: [], downs: [], layer: 0, rank: -1 });
  rank(nodes, boxes, links);
  const forward = links.filter((link) => boxes.get(link.from).rank < boxes.get(link.to).rank);
  setLayers(nodes, boxes, forward);
  const layers = [], put = (node) => (layers[node.layer] ??= []).push(node);
  nodes.forEach(put);
  const rows = rowsOf(layers, forward, boxes, room), turns = new Map();
  addBends(boxes, forward, put, rows, turns);
  order(layers);
  surround(layers);
  for (const layer of layers) for (const node of layer) for (const side of ["ups", "downs"]) node[side] = node[side].filter(({ far }) => !far);
  heights(layers);
  const sides = [...turns.values()], { columns, right, height } = stack(rows, layers, sides);
  const width = Math.max(right + margin(sides), least);
  for (const node of nodes) if (node.gate) node.x = node.gate === "in" ? -PAD : width + PAD;
  for (const link of links) link.points = pointsOf(link, boxes, columns);
  return { boxes, width, height };
}

function setLayers(nodes, boxes, links) {
  const operands = new Map(nodes.map((node) => [node, []])), users = new Map(nodes.map((node) => [node, []]));
  for (const link of links) {
    operands.get(boxes.get(link.to)).push(boxes.get(link.from));
    users.get(boxes.get(link.from)).push(boxes.get(link.to));
  }
  for (const node of [...nodes].sort((a, b) => a.rank - b.rank)) {
    node.layer = Math.max(0, ...operands.get(node).map((operand) => operand.layer + 1));
  }
  for (const node of nodes) { // a node without operands goes in the layer before its first user
    const alone = !operands.get(node).length && !node.gate && users.get(node).length;
    if (alone) node.layer = Math.max(0, Math.min(...users.get(node).map((user) => user.layer)) - 1);
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
// The distance from the middle of an open group at which a line crosses its border.
const offset = (node, gate) => (node.inner ? HEAD + node.inner.boxes.get(gate).y - node.h / 2 : 0);

// A topological order; a cycle is broken at its first node.
function rank(nodes, boxes, links) {
  const waits = new Map(nodes.map((node) => [node, 0])), users = new Map(nodes.map((node) => [node, []]));
  for (const { from, to } of links) {
    users.get(boxes.get(from)).push(boxes.get(to));
    waits.set(boxes.get(to), waits.get(boxes.get(to)) + 1);
  }
  const ready = nodes.filter((node) => !waits.get(node));
  let n = 0, scan = 0;
  while (n < nodes.length) {
    while (!ready.length) if (nodes[scan++].rank < 0) ready.push(nodes[scan - 1]);
    const node = ready.shift();
    if (node.rank >= 0) continue;
    node.rank = n++;
    for (const user of users.get(node)) {
      waits.set(user, waits.get(user) - 1);
      if (!waits.get(user)) ready.push(user);
    }
  }
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
function surround(layers) {
  for (const layer of layers) {
    const leaves = new Map();
    for (const node of layer) {
      if (node.ups.length || node.bend || node.gate || node.downs.length !== 1) continue;
      const user = node.downs[0].node, op = layer.find((other) => other.ups.length && !other.bend && other.downs.some((down) => down.node === user));
      if (op) leaves.set(op, [...(leaves.get(op) ?? []), node]);
    }
    const moved = new Set([...leaves.values()].flat());
    const order = layer.filter((node) => !moved.has(node)).flatMap((node) => {
      const own = leaves.get(node) ?? [], half = own.length >> 1;
      return [...own.slice(0, half), node, ...own.slice(half)];
    });
    if (moved.size) layer.splice(0, layer.length, ...order);
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
