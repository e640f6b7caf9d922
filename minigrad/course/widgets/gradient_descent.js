// Gradient descent: with a program, the browser computes the steps; without one it shows Python's.

const FIELD = `<div class="mg-descent"><div class="mg-view mg-field"></div><div class="mg-beside-field">
<p class="mg-outcome" role="status"></p>
<div class="mg-drags" role="group" aria-label="What the steps depend on" hidden></div>
<div class="mg-closer" aria-hidden="true"><svg class="mg-picture mg-lens" viewBox="0 0 270 120"></svg><svg class="mg-picture" viewBox="0 0 160 120"></svg></div>
<div class="mg-steps" role="region" aria-label="The numbers of each step" tabindex="0"><table class="mg-table"></table></div></div></div>`;
const FAR = 10;
const told = (xs) => (xs.length === 1 ? number(xs[0]) : `(${xs.map((x) => number(x)).join(", ")})`);
const row = (tag, cells) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;

function render({ model, el }) {
  const [names, words, axes, program] = ["names", "words", "axes", "program"].map((key) => model.get(key));
  const leaves = ["rate", "momentum", ...names.map((_, i) => `at${i}`)];
  const d = { model, names, words, axes, program, leaves, svg: null }; // later also way, view
  d.way = walked(d, given(d));
  const says = () => d.way.points.map((_, n) => said(d, n));
  const follow = () => { list(d, root); restart(d.way.points.length - 1); };
  const heard = ["rate", "momentum", "start", "longest", ...(program.lines ? [] : ["steps"])].map((key) => [`change:${key}`, follow]);
  const { root, restart, destroy } = stepper({ model, el, phases: [], last: d.way.points.length - 1, body: FIELD, show: (n, root) => show(d, n, root), says, heard });
  return destroy;
}

const given = ({ model }) => [model.get("rate"), model.get("momentum"), ...model.get("start")];
const pixels = (axes, at) => at.map((x, i) => axes[i][2] + (x - axes[i][0]) / (axes[i][1] - axes[i][0]) * (axes[i][3] - axes[i][2]));
const line = (look, some) => `<polyline class="mg-${look}" points="${some.join(" ")}"/>`;
const placeOf = ({ at, value }) => [...at, value].slice(0, 2);

// As in Python: the points, and the key in `words` of their end.
function walked(d, [rate, momentum, ...start]) {
  const { model, names, axes, program } = d, n = names.length, points = [];
  if (!program.lines) return { points: model.get("steps"), end: "end" };
  for (let state = [...start, ...names.map(() => 0)]; points.length <= model.get("longest");) {
    const known = { rate, momentum, ...Object.fromEntries(state.map((x, i) => [(i < n ? "at" : "velocity") + i % n, x])) };
    for (const [name, tree] of program.lines) known[name] = calculated(tree, known);
    const [value, ...rest] = program.outputs.map((name) => known[name]), at = state.slice(0, n), slopes = rest.slice(0, n);
    if (points.length && !at.every((x, i) => Math.abs((x - axes[i][0]) / (axes[i][1] - axes[i][0]) - 0.5) < FAR)) return { points, end: "away" };
    if (![value, ...slopes].every(Number.isFinite)) return { points, end: "nowhere" };
    state = rest.slice(n);
    points.push({ at, value, slopes, move: at.map((x, i) => state[i] - x) });
  }
  return { points, end: "end" };
}
function said(d, n, key = d.way.points[n + 1] ? "step" : "last") {
  const { at, value, slopes = [], move = [] } = d.way.points[n], [rate, momentum] = given(d).map((x) => number(x));
  const gaps = { n, rate, momentum, at: told(at), value: number(value), slopes: told(slopes), move: told(move) };
  return (d.words[n && +momentum ? `pushed ${key}` : key] ?? d.words[key]).replaceAll(/\{(\w+)\}/g, (_, gap) => gaps[gap]);
}
function show(d, n, root) {
  if (!d.svg) begin(d, root);
  const { svg, axes, way: { points } } = d, { at, value, slopes } = points[n], places = points.map(placeOf), say = said(d, n);
  const view = d.view = viewOf(d, n), half = (view[0][1] - view[0][0]) / 8, part = (name) => svg.querySelector(`[data-${name}]`);
  const drawn = places.map((place) => pixels(axes, place)), seen = drawn.slice(0, n + 1);
  const tangent = slopes?.length === 1 ? [-half, half].map((dx) => pixels(axes, [at[0] + dx, value + slopes[0] * dx])) : [];
  const dots = `<path class="mg-trail-dot" d="M${seen.join("h0M")}h0"/>`;
  part("trail").innerHTML = line("ahead", drawn.slice(n)) + line("trail", seen) + line("slope", tangent) + dots;
  part("ticks").innerHTML = view.map(ticks).join("");
  part("step").innerHTML = arrow(d, n);
  part("at=start").classList.toggle("mg-left", points[0].slopes?.[0] > 0 === at.length < 2);
  for (const each of svg.querySelectorAll("[data-at]")) each.style.transform = `translate(${pixels(view, { start: places[0], ball: places[n] }[each.dataset.at] ?? each.dataset.at.split(",")).join("px, ")}px)`;
  const [left, foot] = pixels(view, axes.map(([low]) => low)), [right, top] = pixels(view, axes.map(([, high]) => high));
  part("scene").style.transform = `translate(${left}px, ${foot}px) scale(${(right - left) / 356}, ${(foot - top) / 224}) translate(-62px, -254px)`;
  svg.setAttribute("aria-label", say);
  for (const row of root.querySelectorAll("tbody tr")) row.ariaCurrent = row.dataset.from <= n && n <= row.dataset.to ? "step" : null;
  [lens, profile].forEach((draw, i) => { root.querySelectorAll(".mg-closer svg")[i].innerHTML = draw(d, n); });
  const box = root.querySelector(".mg-steps"), row = box.querySelector("tbody [aria-current]"), high = row.offsetHeight;
  box.style.setProperty("--mg-row", `${high}px`);
  box.scrollTop = row.offsetTop - 2 * high;
  return { phase: "", say };
}
// The axes at step n: they hold the points so far and the next.
const viewOf = ({ names, axes, way: { points } }, n) => axes.map(([low, high, ...ends], i) => {
  const xs = points.slice(0, n + 2).map((point) => placeOf(point)[i]), up = Math.max(high, ...xs) - high;
  return [low - 1.1 * Math.max(low - Math.min(low, ...xs), i < names.length ? 0 : up / 8), high + 1.1 * up, ...ends];
});
const ticks = (axis, i) => ticksOf(...axis).map((x) => {
  const [at] = pixels([axis], [x]), text = i ? `M62 ${at}H418"/><text class="mg-number mg-dim" x="56" y="${at + 4}` : `M${at} 254v4"/><text class="mg-sign mg-dim" x="${at}" y="272`;
  return `<path class="mg-faint" d="${text}">${number(x)}</text>`;
}).join("");
const between = ([x, y], [toX, toY], look = "sum") => {
  const length = Math.hypot(toX - x, toY - y), tip = Math.min(5, length / 3), turn = Math.atan2(toY - y, toX - x) * 180 / Math.PI;
  return `<g class="mg-step mg-${look}" transform="translate(${x} ${y}) rotate(${turn})"><path d="M0 0h${length}"/><path d="M${length - 2 * tip} ${-tip}L${length} 0l${-2 * tip} ${tip}"/></g>`;
};
// The step: along the axis of one number, in the plane of two.
function arrow(d, n) {
  const points = d.way.points.slice(n, n + 2), ends = points.map((point) => pixels(d.view, placeOf(point)));
  if (!points[0].move || !ends[1]) return "";
  if (d.names[1]) return between(...ends);
  const say = said(d, n, "arrow"), half = 3.9 * say.length;
  const [from, to] = ends.map(([x]) => [x, 254]), x = Math.max(4 + half, Math.min(404 - half, (from[0] + to[0]) / 2));
  return `<path class="mg-gap" d="M${ends.join("V254M")}V254"/>${between(from, to)}<text class="mg-sign mg-name" x="${x}" y="291">${say}</text>`;
}
// A step on a surface, enlarged: its parts and their sum.
function lens(d, n) {
  const { points } = d.way, { at, move } = points[n], momentum = n && d.model.get("momentum");
  if (!move || !d.names[1] || !points[n + 1]) return "";
  const ends = [[move, 0], [points[n - 1]?.move ?? move, momentum], [move, 1]].map(([by, share]) => pixels(d.view, at.map((x, i) => x + share * by[i])));
  const [start] = ends, far = Math.max(...ends.map(([x, y]) => Math.hypot(x - start[0], y - start[1]))) || 1, [a, b, c] = ends.map((end) => end.map((x, i) => 60 + 50 * (x - start[i]) / far));
  return said(d, n, "lens") + between(a, b, "push") + between(b, c, "pull") + between(a, c);
}
function profile({ names, words, way: { points } }, n) {
  const heights = points.map(({ value }) => value), most = Math.max(...heights), least = Math.min(0, ...heights);
  if (!names[1] || most === least) return "";
  const some = heights.map((height, i) => pixels([[0, points.length - 1, 8, 152], [least, most, 112, 24]], [i, height])), [x, y] = some[n];
  return `<path class="mg-below" d="M8 112L${some.join("L")}V112z"/>${line("trail", some.slice(0, n + 1))}<circle class="mg-ball" cx="${x}" cy="${y}" r="6"/><text y="14">${words.value} ${number(heights[n])}</text>`;
}
function list(d, root) {
  const { names } = d, { points, end } = d.way = walked(d, given(d));
  const slopes = points[0].slopes && !names[1] ? ["slope"] : []; // the sentence has those of two
  const groups = []; // steps whose numbers look the same share a row
  points.forEach(({ at, slopes = [], value }, i) => {
    const cells = [...at, ...(names[1] ? [] : slopes), value].map((x) => number(x)), last = groups.at(-1);
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
  const [svg] = [d.svg] = settled(field, root);
  drags.append(...ranges.map(([min, max, step, name], i) => slider(leaves[i], name, name, { min, max, step })));
  list(d, root);
  if (!d.program.lines) return;
  drags.hidden = false;
  drags.addEventListener("input", ({ target }) => drag(d, leaves.indexOf(target.dataset.leaf), Number(target.value)));
  field.dataset.drags = "";
  field.onpointerdown = field.onpointermove = ({ buttons, clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (!(buttons & 1)) return;
    field.classList.add("mg-used");
    drag(d, 2, ...names.map((_, i) => {
      const [low, high, start, end] = d.view[i], share = Math.round(160 * ([x, y][i] - start) / (end - start)) / 160;
      return low + (high - low) * Math.min(Math.max(share, 0), 1);
    }));
  };
}
// Set leaf i and those after it, unless f is not finite there.
function drag(d, i, ...xs) {
  const wanted = given(d).map((x, k) => xs[k - i] ?? x), [rate, momentum, ...start] = wanted;
  if (walked(d, wanted).points.length) Object.entries({ rate, momentum, start }).forEach((each) => d.model.set(...each));
  d.model.save_changes();
}

export default { render };
