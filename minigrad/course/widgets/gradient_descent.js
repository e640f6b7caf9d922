// Gradient descent: a ball on a curve or a surface. With a program, the browser computes the steps, and they follow the
// sliders; without one it shows the steps that Python computed.

const FIELD = `
  <div class="mg-descent">
    <div class="mg-view mg-field"></div>
    <div class="mg-beside-field">
      <p class="mg-outcome" role="status"></p>
      <div class="mg-drags" role="group" aria-label="What the steps depend on" hidden></div>
      <div class="mg-steps" role="region" aria-label="The numbers of each step" tabindex="0"><table class="mg-table"></table></div>
    </div>
  </div>`;
const HINT = '<g class="mg-hint"><text class="mg-number" x="412" y="48">click to start elsewhere</text></g>';
const FAR = 10;
const told = (xs) => (xs.length === 1 ? number(xs[0]) : `(${xs.map((x) => number(x)).join(", ")})`);
const row = (tag, cells) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;

function render({ model, el }) {
  const [names, words, axes, program] = ["names", "words", "axes", "program"].map((key) => model.get(key));
  const leaves = ["rate", "momentum", ...names.map((_, i) => `at${i}`)];
  // way: the path on the screen; svg: the picture once it is drawn
  const d = { model, names, words, axes, program, leaves, way: null, svg: null };
  d.way = walked(d, given(d));
  const showFirst = (n, root) => { if (!d.svg) { begin(d, root); list(d, root); } return show(d, n, root); };
  const says = () => d.way.points.map((_, n) => said(d, n));
  const { root, restart, destroy } = stepper({ model, el, phases: [], last: d.way.points.length - 1, body: FIELD, show: showFirst, says });
  const follow = () => { list(d, root); restart(d.way.points.length - 1); };
  const followed = ["rate", "momentum", "start", "longest", ...(program.lines ? [] : ["steps"])].map((key) => `change:${key}`);
  followed.forEach((event) => model.on(event, follow));
  return () => { followed.forEach((event) => model.off(event, follow)); destroy(); };
}

const given = ({ model }) => [model.get("rate"), model.get("momentum"), ...model.get("start")];
const shares = ({ axes }, at) => at.map((x, i) => (x - axes[i][0]) / (axes[i][1] - axes[i][0]));
const distance = (d, at) => Math.max(...shares(d, at).map((share) => Math.abs(share - 0.5)));
const pixels = (d, at) => shares(d, at).map((share, i) => d.axes[i][2] + share * (d.axes[i][3] - d.axes[i][2]));

// As in Python: the points, and the key in `words` of how they end.
function walked(d, [rate, momentum, ...start]) {
  const { model, names, program } = d, n = names.length, points = [];
  if (!program.lines) return { points: model.get("steps"), end: "end" };
  for (let state = [...start, ...names.map(() => 0)]; points.length <= model.get("longest");) {
    const known = Object.fromEntries([["rate", rate], ["momentum", momentum], ...state.map((x, i) => [(i < n ? "at" : "velocity") + i % n, x])]);
    for (const [name, tree] of program.lines) known[name] = calculated(tree, known);
    const [value, ...rest] = program.outputs.map((name) => known[name]), at = state.slice(0, n), slopes = rest.slice(0, n);
    if (points.length && !(distance(d, at) < FAR)) return { points, end: "away" };
    if (![value, ...slopes].every(Number.isFinite)) return { points, end: "nowhere" };
    state = rest.slice(n);
    points.push({ at, value, slopes, move: at.map((x, i) => state[i] - x) });
  }
  return { points, end: "end" };
}
function said(d, n, key = "step") {
  const { at, value, slopes = [], move = [] } = d.way.points[n], [rate, momentum] = given(d).map((x) => number(x));
  const gaps = { n, rate, momentum, at: told(at), value: number(value), slopes: told(slopes), move: told(move), where: distance(d, at) > 0.5 ? d.words.outside : "" };
  return d.words[n && +momentum && key === "step" ? "pushed" : key].replaceAll(/\{(\w+)\}/g, (_, gap) => gaps[gap]);
}
function show(d, n, root) {
  const { axes, svg, way: { points } } = d, places = points.map(({ at, value }) => pixels(d, [...at, value].slice(0, 2)));
  const inside = (x, i) => Math.max(axes[i][2 + i], Math.min(axes[i][3 - i], x));
  const dots = places.slice(0, n + 1).filter((place) => place.every((x, i) => x === inside(x, i)));
  const line = (look, some) => `<polyline class="mg-${look}" points="${some.join(" ")}"/>`;
  svg.querySelector("[data-trail]").innerHTML = line("ahead", places.slice(n)) + line("trail", places.slice(0, n + 1)) + line("slope", tangent(d, points[n]))
    + dots.map(([x, y]) => `<circle class="mg-trail-dot" cx="${x}" cy="${y}" r="3"/>`).join("") + startMark(places[0]);
  // A ball outside the frame is drawn at the nearest point of its edge.
  const [x, y] = places[n].map(inside), say = said(d, n);
  svg.querySelector(".mg-ball").style.transform = `translate(${x}px, ${y}px)`;
  svg.setAttribute("aria-label", say);
  for (const row of root.querySelectorAll("tbody tr")) row.ariaCurrent = row.dataset.from <= n && n <= row.dataset.to ? "step" : null;
  const box = root.querySelector(".mg-steps"); // the table is scrolled, not the page
  box.scrollTop = root.querySelector("tbody [aria-current]").offsetTop - box.clientHeight / 2;
  return { phase: "", say };
}
const startMark = ([x, y]) => `<circle class="mg-start" cx="${x}" cy="${y}" r="7"/><text class="mg-halo" x="${x + (x > 330 ? -38 : 11)}" y="${y < 50 ? y + 18 : y - 6}">start</text>`;
function tangent(d, { at, value, slopes }) {
  const half = (d.axes[0][1] - d.axes[0][0]) / 8;
  return d.names.length > 1 || !slopes ? [] : [-half, half].map((dx) => pixels(d, [at[0] + dx, value + slopes[0] * dx]));
}
// Fill in what is the same at every step.
function list(d, root) {
  const { names } = d, { points, end } = d.way = walked(d, given(d));
  const slopes = points[0].slopes ? names.map((name) => (names.length > 1 ? `slope in ${name}` : "slope")) : [];
  const groups = []; // steps whose numbers look the same share a row
  points.forEach(({ at, slopes = [], value }, i) => {
    const cells = [...at, ...slopes, value].map((x) => number(x)), last = groups.at(-1);
    if (last?.cells.join() === cells.join()) last.to = i;
    else groups.push({ from: i, to: i, cells });
  });
  const rows = groups.map(({ from, to, cells }) => row("td", [from === to ? from : `${from}–${to}`, ...cells]).replace("<tr", `<tr data-from="${from}" data-to="${to}"`));
  root.querySelector("table").innerHTML = `<thead>${row("th", ["step", ...names, ...slopes, d.words.value])}</thead><tbody>${rows.join("")}</tbody>`;
  root.querySelector(".mg-outcome").textContent = said(d, points.length - 1, end);
  for (const input of root.querySelectorAll(".mg-drags input")) tell(input, given(d)[d.leaves.indexOf(input.dataset.leaf)]);
}
function begin(d, root) {
  const { names, axes, leaves } = d, most = 12 * d.model.get("rate");
  const ranges = [[0, most, most / 120, "learning rate"], [0, 0.98, 0.02, "momentum"], ...names.map((name, i) => [...axes[i].slice(0, 2), (axes[i][1] - axes[i][0]) / 160, `start ${name}`])];
  const drags = root.querySelector(".mg-drags"), field = root.querySelector(".mg-field");
  field.innerHTML = d.model.get("picture");
  const [svg] = settled(field, root);
  d.svg = svg;
  svg.insertAdjacentHTML("beforeend", '<circle class="mg-ball" r="7"/>');
  if (!d.program.lines) return;
  drags.hidden = false;
  drags.append(...ranges.map(([min, max, step, name], i) => slider(leaves[i], name, name, { min, max, step })));
  drags.addEventListener("input", ({ target }) => drag(d, leaves.indexOf(target.dataset.leaf), Number(target.value)));
  field.dataset.drags = "";
  svg.insertAdjacentHTML("beforeend", HINT);
  for (const event of ["pointerdown", "pointermove"]) field.addEventListener(event, ({ buttons, clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (!(buttons & 1)) return;
    svg.querySelector(".mg-hint").classList.add("mg-used");
    drag(d, 2, ...names.map((_, i) => {
      const [low, high, start, end] = axes[i], share = ([x, y][i] - start) / (end - start);
      return low + (high - low) * Math.round(160 * Math.min(Math.max(share, 0), 1)) / 160;
    }));
  });
}
// Set leaf i and the following ones to these numbers, unless the function is not finite there.
function drag(d, i, ...xs) {
  const wanted = given(d);
  wanted.splice(i, xs.length, ...xs);
  if (walked(d, wanted).points.length) [["rate", wanted[0]], ["momentum", wanted[1]], ["start", wanted.slice(2)]].forEach(([key, to]) => d.model.set(key, to));
  d.model.save_changes();
}

export default { render };
