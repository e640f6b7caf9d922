// A small map, shown while a part of the graph is outside the frame; and the whole graph for paper. The state `g`: see graph_view.js.

const MAP = [150, 66], PAPER = 700; // pixels: the largest map; the width of a printed page

function drawMap({ map, screen: { place, isOpen, width, height } }) {
  const k = Math.min(MAP[0] / width, MAP[1] / height), boxes = [...place].filter(([i]) => !isOpen(i)).map(([, box]) => box);
  map.setAttribute("viewBox", `0 0 ${r(width)} ${r(height)}`);
  map.style.width = `${r(Math.max(width * k, 24))}px`;
  map.style.height = `${r(Math.max(height * k, 12))}px`;
  map.firstChild.setAttribute("d", boxes.map(({ x, y, w, h }) => `M${r(x)},${r(y)}h${r(w)}v${r(h)}h${r(-w)}z`).join(""));
}
function showMap({ map, wide: w, tall: h, screen, view: { x, y, k } }) {
  const right = x + screen.width * k, bottom = y + screen.height * k;
  map.style.display = w && (x < -1 || y < -1 || right > w + 1 || bottom > h + 1) ? "" : "none";
  const left = Math.max(0, -x / k), top = Math.max(0, -y / k), seen = map.lastChild;
  const sides = { x: left, y: top, width: Math.max(0, Math.min(screen.width, (w - x) / k) - left), height: Math.max(0, Math.min(screen.height, (h - y) / k) - top) };
  for (const [name, value] of Object.entries(sides)) seen.setAttribute(name, r(value));
}
function goByMap(g, { clientX, clientY }) { // to the pressed place
  const { left, top, width, height } = g.map.getBoundingClientRect(), { screen, svg, view: { k } } = g;
  const x = ((clientX - left) / width) * screen.width, y = ((clientY - top) / height) * screen.height;
  look(g, { k, x: svg.clientWidth / 2 - x * k, y: svg.clientHeight / 2 - y * k });
}

function onPrint(g, { matches }) { // on paper the whole graph is seen, with the groups that were open at first
  g.wide = Math.min(g.svg.clientWidth, PAPER);
  if (!g.wide) return;
  if (!matches) return g.view === g.framed ? keepTo(g, g.framing) : undefined;
  if (g.view === g.framed) {
    g.open = new Set(g.first);
    g.room = g.wide - 24;
    g.dense = false;
    drawGraph(g);
  }
  const k = Math.min(1, (g.wide - 24) / g.screen.width);
  g.svg.style.setProperty("--whole", `${Math.ceil(g.screen.height * k + 24)}px`);
  look(g, { k, x: 12, y: 12 });
  g.framed = g.view;
  tell(g, whole(g).replace(/ Drag.*rest\./, ""));
}
