// The offset and the scale of a graph on the screen. The state `g`: see graph_view.js.

const READABLE = 11 / 12, LOWEST = 110, TALLEST = 420, MARGINS = 36, MOST_ZOOM = 3, LEAST_ZOOM = 0.02, MOST_FITTED = 60;

function look(g, to) {
  g.view = to;
  g.world.setAttribute("transform", `translate(${r(to.x)} ${r(to.y)}) scale(${Math.round(to.k * 1e4) / 1e4})`);
  showMap(g);
}
const moveBy = (g, dx, dy) => look(g, { ...g.view, x: g.view.x + dx, y: g.view.y + dy });
function zoomBy(g, by, x = g.svg.clientWidth / 2, y = g.svg.clientHeight / 2) {
  const k = Math.min(Math.max(g.view.k * by, LEAST_ZOOM), MOST_ZOOM), s = k / g.view.k;
  look(g, { k, x: x - (x - g.view.x) * s, y: y - (y - g.view.y) * s });
}
const fitting = ({ wide, screen }) => Math.min(1, (wide - 24) / screen.width, (TALLEST - MARGINS) / screen.height);
function fit(g, k = Math.max(fitting(g), LEAST_ZOOM)) {
  look(g, { k, x: (g.svg.clientWidth - g.screen.width * k) / 2, y: Math.max(12, (g.svg.clientHeight - 20 - g.screen.height * k) / 2) });
}
function fitAll(g) { // rows that fill the frame
  for (let n = 0; n < 3 && fitting(g) < READABLE; n++) {
    g.room = Math.max(g.room, Math.sqrt((g.screen.width * g.screen.height * g.wide) / TALLEST));
    drawGraph(g);
  }
  fit(g);
}

function keepTo(g, how) { // fits the view now, and after each resize until the reader moves it
  how(g);
  [g.framed, g.framing] = [g.view, how];
}
function overview(g) { // opens as many groups as fit on the screen, level by level; if not even one fits, all
  const depth = (i) => (i === ROOT ? 0 : 1 + depth(g.items[i].in)), first = [...g.first], depths = first.map(depth);
  const openAbove = (least) => wrap(g, first.filter((_, n) => depths[n] < least));
  let least = 1 + Math.max(0, ...depths);
  for (; !openAbove(least) && least > 1; least -= 1);
  if (fitting(g) < READABLE || g.root.dataset.shown < 3) openAbove(Infinity); // one box alone is not worth showing
  begin(g);
}
// Opens these groups: in one row if the text stays readable, else in rows as wide as the frame; boxes may be dense.
function wrap(g, groups) {
  g.open = new Set(groups);
  g.wide = g.svg.clientWidth;
  if (!g.wide) return drawGraph(g);
  for (const [dense, rows] of new Set(standIns(g).box).size > MOST_FITTED ? [] : [[false, false], [false, true], [true, true]]) {
    for (const k of [1, 0.95, READABLE]) {
      g.room = (g.wide - 24) / k;
      g.dense = dense;
      drawGraph(g);
      if (fitting(g) >= k - 0.01 && (rows || !g.screen.routes.flat().some(([, , corner]) => corner))) return true;
    }
  }
  g.room = (g.wide - 24) / READABLE;
  g.dense = true;
  drawGraph(g);
  return false;
}
function begin(g) { // shows the whole graph or, if that would not be readable, its first boxes
  fit(g, Math.max(fitting(g), READABLE));
  if (g.screen.width * g.view.k > g.svg.clientWidth) look(g, { ...g.view, x: 12 });
}
function centre(g, i) { // at a readable scale
  look(g, { ...g.view, k: Math.max(g.view.k, READABLE) });
  bringIntoView(g, i);
}
function bringIntoView(g, i) { // with the smallest move
  const { x, y, w, h } = g.screen.place.get(i), { view, svg } = g, { k } = view;
  const slide = (at, size, room) => (at < 20 ? 20 - at : Math.min(0, Math.max(room - 20 - at - size, 20 - at)));
  moveBy(g, slide(view.x + x * k, w * k, svg.clientWidth), slide(view.y + y * k, Math.min(h, 60) * k, svg.clientHeight));
}
function redrawAround(g, i) { // fits the graph, unless the reader has moved it, with item i in view
  const moved = g.view !== g.framed, fits = wrap(g, g.open);
  if (!moved) keepTo(g, begin);
  if (moved || !fits) bringIntoView(g, g.screen.box[i]);
  if (!moved) g.framed = g.view;
}
