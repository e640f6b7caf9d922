// A drawing in rows. Its layers are cut where it becomes lowest; a value that is read in a later row goes back above that
// row in a lane of its own.

const SIDE = 14, LANE = 6, ROUND = 6, NARROW = 160, BETWEEN = 12; // pixels; BETWEEN rows, and LANE more for each lane

const margin = (turns) => (turns.length ? SIDE + LANE * Math.max(...turns.map(({ right }) => right)) : 0);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// The rows, no wider than the room where that is possible: starts  the first layer of each; of  layer → its row
function rowsOf(layers, room) {
  const wide = layers.map((layer) => Math.max(0, ...layer.map(({ w }) => w))), starts = [];
  if (!(sum(wide) + COLUMN * (layers.length - 1) > room)) return { starts: [0], of: layers.map(() => 0) };
  const tall = layers.map((layer) => sum(layer.map(({ h }) => h + GAP)));
  const best = [{ cost: 0 }], side = (cut) => (cut > 0 && cut < layers.length ? SIDE + 2 * LANE : 0);
  for (let end = 1; end <= layers.length; end++) {
    best[end] = { cost: Infinity };
    for (let from = end - 1, width = 0, height = 0; from >= 0; from--) {
      width += wide[from] + (from < end - 1 ? COLUMN : 0);
      height = Math.max(height, tall[from]);
      if (from < end - 1 && width + side(from) + side(end) > room) break;
      const cost = best[from].cost + height + (from ? BETWEEN + 2 * LANE : 0);
      if (cost < best[end].cost) best[end] = { cost, from };
    }
  }
  for (let end = layers.length; end > 0; end = best[end].from) starts.unshift(best[end].from);
  let row = -1;
  return { starts, of: layers.map((_, i) => (starts[row + 1] === i ? ++row : row)) };
}

// The turn of a link from row a to row b; links of one value to one row share it.
function turnOf(turns, { from, tail }, { a, b, out, into }) {
  const key = `${from} ${tail} ${b}`;
  if (!turns.has(key)) turns.set(key, { a, b, out, into, lane: 0, right: 0 });
  return turns.get(key);
}

// Puts rows below each other, with lanes above them.
function stack(rows, layers, turns) {
  const parts = rows.starts.map((start, i) => layers.slice(start, rows.starts[i + 1]));
  const into = parts.map(() => []), ends = []; // ends: of each line down the right side, the row where it ends
  for (const turn of turns) into[turn.b].push(turn);
  const left = Math.max(0, ...into.map(({ length }) => (length ? SIDE + LANE * length : 0))), columns = [];
  for (const lanes of into) {
    lanes.sort((s, t) => t.into.y - s.into.y || s.out.y - t.out.y);
    lanes.forEach((turn, lane) => Object.assign(turn, { lane, left: left - SIDE / 2 - LANE * (lanes.length - lane) }));
  }
  for (const turn of [...turns].sort((s, t) => s.a - t.a || s.b - t.b || s.lane - t.lane)) {
    const free = ends.findIndex((end) => end <= turn.a);
    turn.right = (free < 0 ? ends.length : free) + 1;
    ends[turn.right - 1] = turn.b;
  }
  let y = 0, right = 0;
  parts.forEach((part, row) => {
    const nodes = part.flat(), top = Math.min(...nodes.map((node) => node.y - node.h / 2)), lanes = into[row];
    y += row ? BETWEEN : 0;
    for (const turn of lanes) Object.assign(turn, { y: y + turn.lane * LANE - 7, lanes: lanes.length });
    y += LANE * lanes.length;
    for (const node of nodes) node.y += y - top;
    y = Math.max(y, ...nodes.map((node) => node.y + node.h / 2));
    columns.push(...setColumns(part, left));
    right = Math.max(right, columns.at(-1)[1]);
  });
  for (const turn of turns) turn.x = right + SIDE / 2 + LANE * (turn.right - 1);
  return { columns, right, height: y };
}

// The four corners of a turn, which begins at one height and ends at another.
const cornersOf = ({ x, y, left }, start, end) => [[x, start, true], [x, y, true], [left, y, true], [left, end, true]];
