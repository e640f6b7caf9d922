// The offset and the scale of a graph on the screen. The state `g` of a view is described in graph_view.js.

const READABLE = 0.75, MOST_ZOOM = 3, LEAST_ZOOM = 0.02;

function look(g, to) {
  g.view = to;
  g.world.setAttribute("transform", `translate(${r(to.x)} ${r(to.y)}) scale(${Math.round(to.k * 1e4) / 1e4})`);
}
const moveBy = (g, dx, dy) => look(g, { ...g.view, x: g.view.x + dx, y: g.view.y + dy });
function zoomBy(g, by, x = g.svg.clientWidth / 2, y = g.svg.clientHeight / 2) {
  const k = Math.min(Math.max(g.view.k * by, LEAST_ZOOM), MOST_ZOOM), s = k / g.view.k;
  look(g, { k, x: x - (x - g.view.x) * s, y: y - (y - g.view.y) * s });
}
const fitting = ({ svg, screen }) => Math.min(1, (svg.clientWidth - 24) / screen.width, (svg.clientHeight - 24) / screen.height);
function fit(g, k = Math.max(fitting(g), LEAST_ZOOM)) {
  look(g, { k, x: (g.svg.clientWidth - g.screen.width * k) / 2, y: (g.svg.clientHeight - g.screen.height * k) / 2 });
}

function keepTo(g, how) { // fits the view now, and after each resize until the reader moves it
  how(g);
  [g.framed, g.framing] = [g.view, how];
}
function overview(g) { // opens as many levels of groups as fit on the screen; if not even one fits, all
  const depth = (i) => (i === ROOT ? 0 : 1 + depth(g.items[i].in));
  const openAbove = (least) => {
    g.open = new Set([...g.first].filter((i) => depth(i) < least));
    drawGraph(g);
    g.svg.style.setProperty("--wanted", `${READABLE * g.screen.height + 26}px`); // with margins and a border
  };
  let least = 1 + Math.max(0, ...[...g.first].map(depth));
  for (openAbove(least); g.open.size && fitting(g) < READABLE; openAbove(least)) least -= 1;
  if (fitting(g) < READABLE || g.root.dataset.shown < 3) openAbove(Infinity); // one box alone is not worth showing
  begin(g);
}
function begin(g) { // shows the whole graph or, if that would not be readable, its first box
  fit(g, Math.max(fitting(g), READABLE));
  if (fitting(g) >= READABLE) return;
  const { screen, svg, view } = g, { y, h } = screen.place.get(screen.box[0]);
  if (screen.width * view.k > svg.clientWidth) view.x = 12;
  if (screen.height * view.k > svg.clientHeight) view.y = Math.min(12, svg.clientHeight / 2 - (y + h / 2) * view.k);
  look(g, view);
}
function centre(g, i) { // at a readable scale
  const { x, y, w, h } = g.screen.place.get(i), k = Math.max(g.view.k, READABLE);
  look(g, { k, x: g.svg.clientWidth / 2 - (x + w / 2) * k, y: g.svg.clientHeight / 2 - (y + h / 2) * k });
}
function bringIntoView(g, i) { // with the smallest move
  const { x, y, w, h } = g.screen.place.get(i), { view, svg } = g, { k } = view;
  const slide = (at, size, room) => (at < 20 ? 20 - at : Math.min(0, Math.max(room - 20 - at - size, 20 - at)));
  moveBy(g, slide(view.x + x * k, w * k, svg.clientWidth), slide(view.y + y * k, Math.min(h, 60) * k, svg.clientHeight));
}
function redrawAround(g, i) { // item i keeps its place on the screen
  const before = g.screen.place.get(i);
  drawGraph(g);
  const after = g.screen.place.get(g.screen.box[i]);
  moveBy(g, (before.x - after.x) * g.view.k, (before.y - after.y) * g.view.k);
}
