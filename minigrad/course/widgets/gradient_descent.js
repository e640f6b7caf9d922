// Gradient descent: a ball on a curve or a surface. With a program, the browser computes the steps, and they follow the
// sliders; without one it shows the steps that Python computed.

const FIELD = `
  <p class="mg-outcome" role="status"></p>
  <div class="mg-drags" role="group" aria-label="What the steps depend on" hidden></div>
  <div class="mg-descent">
    <div class="mg-view mg-field"></div>
    <div class="mg-steps" role="region" aria-label="The numbers of each step" tabindex="0"><table class="mg-table"></table></div>
  </div>`;
const FAR = 10; // as in Python
const told = (xs) => (xs.length === 1 ? number(xs[0]) : `(${xs.map((x) => number(x)).join(", ")})`);
const row = (tag, cells) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;

function render({ model, el }) {
  const [names, words, axes, program] = ["names", "words", "axes", "program"].map((key) => model.get(key));
  const leaves = ["rate", "momentum", ...names.map((_, i) => `at${i}`)], n = names.length;
  const distance = (at) => Math.max(...at.map((x, i) => Math.abs(x - (axes[i][0] + axes[i][1]) / 2) / (axes[i][1] - axes[i][0])));
  const pixel = (x, i) => axes[i][2] + (x - axes[i][0]) / (axes[i][1] - axes[i][0]) * (axes[i][3] - axes[i][2]);
  const given = () => [model.get("rate"), model.get("momentum"), ...model.get("start")];
  let way = walked(given()), svg = null;

  // As in Python: the points, and the key in `words` of how they end.
  function walked([rate, momentum, ...start]) {
    if (!program.lines) return { points: model.get("steps"), end: "end" };
    const points = [];
    for (let state = [...start, ...names.map(() => 0)]; points.length <= model.get("longest");) {
      const known = Object.fromEntries([["rate", rate], ["momentum", momentum], ...state.map((x, i) => [(i < n ? "at" : "velocity") + i % n, x])]);
      for (const [name, tree] of program.lines) known[name] = calculated(tree, known);
      const [value, ...rest] = program.outputs.map((name) => known[name]), at = state.slice(0, n), slopes = rest.slice(0, n);
      if (points.length && !(distance(at) < FAR)) return { points, end: "away" };
      if (![value, ...slopes].every(Number.isFinite)) return { points, end: "nowhere" };
      state = rest.slice(n);
      points.push({ at, value, slopes, move: at.map((x, i) => state[i] - x) });
    }
    return { points, end: "end" };
  }
  function said(n, key) {
    const { at, value, slopes = [], move = [] } = way.points[n];
    const gaps = { n, at: told(at), value: number(value), slopes: told(slopes), move: told(move), where: distance(at) > 0.5 ? words.outside : "" };
    return words[key].replaceAll(/\{(\w+)\}/g, (_, gap) => gaps[gap]);
  }
  function show(n, root) {
    const places = way.points.map(({ at, value }) => [...at, value].slice(0, 2).map(pixel));
    const inside = (x, i) => Math.min(Math.max(x, Math.min(axes[i][2], axes[i][3])), Math.max(axes[i][2], axes[i][3]));
    const dots = places.slice(0, n + 1).filter((place) => place.every((x, i) => x === inside(x, i)));
    const line = (look, some) => `<polyline class="mg-${look}" points="${some.join(" ")}"/>`;
    svg.querySelector("[data-trail]").innerHTML = line("ahead", places.slice(n)) + line("trail", places.slice(0, n + 1)) + line("slope", tangent(way.points[n]))
      + dots.map(([x, y]) => `<circle class="mg-trail-dot" cx="${x}" cy="${y}" r="3"/>`).join("");
    const [x, y] = places[n].map(inside), say = said(n, "step");
    svg.querySelector(".mg-ball").style.transform = `translate(${x}px, ${y}px)`;
    svg.setAttribute("aria-label", say);
    root.querySelectorAll("tbody tr").forEach((row, i) => { row.ariaCurrent = i === n ? "step" : null; });
    return { phase: "", say };
  }
  // The tangent of the curve at this point.
  function tangent({ at, value, slopes }) {
    const half = (axes[0][1] - axes[0][0]) / 8;
    return n > 1 || !slopes ? [] : [-half, half].map((dx) => [at[0] + dx, value + slopes[0] * dx].map(pixel));
  }
  // Fill the parts of the screen that are the same at every step.
  function list(root) {
    way = walked(given());
    const slopes = way.points[0].slopes ? names.map((name) => (n > 1 ? `slope in ${name}` : "slope")) : [];
    const rows = way.points.map(({ at, slopes = [], value }, i) => row("td", [i, ...[...at, ...slopes, value].map((x) => number(x))]));
    root.querySelector("table").innerHTML = `<thead>${row("th", ["step", ...names, ...slopes, words.value])}</thead><tbody>${rows.join("")}</tbody>`;
    root.querySelector(".mg-outcome").textContent = said(way.points.length - 1, way.end);
    for (const input of root.querySelectorAll(".mg-drags input")) tell(input, given()[leaves.indexOf(input.dataset.leaf)]);
  }
  function begin(root) {
    const [low, high, most] = [0, 1].map((end) => axes.map((axis) => axis[end])).concat(12 * model.get("rate"));
    const ranges = [[0, most, most / 120, "learning rate"], [0, 0.98, 0.02, "momentum"], ...names.map((name, i) => [low[i], high[i], (high[i] - low[i]) / 160, `start ${name}`])];
    const drags = root.querySelector(".mg-drags"), field = root.querySelector(".mg-field");
    field.innerHTML = model.get("picture");
    [svg] = settled(field, root);
    svg.insertAdjacentHTML("beforeend", '<circle class="mg-ball" r="7"/>');
    if (!program.lines) return;
    drags.hidden = false;
    drags.append(...ranges.map(([min, max, step, name], i) => slider(leaves[i], name, name, { min, max, step })));
    drags.addEventListener("input", ({ target }) => drag(leaves.indexOf(target.dataset.leaf), Number(target.value)));
    field.dataset.drags = "";
    for (const event of ["pointerdown", "pointermove"]) field.addEventListener(event, ({ buttons, clientX, clientY }) => {
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
      if (buttons & 1) drag(2, ...names.map((_, i) => {
        const share = ([x, y][i] - axes[i][2]) / (axes[i][3] - axes[i][2]);
        return low[i] + (high[i] - low[i]) * Math.round(160 * Math.min(Math.max(share, 0), 1)) / 160;
      }));
    });
  }
  // Set leaf i and the following ones to these numbers, unless the function is not finite there.
  function drag(i, ...xs) {
    const wanted = given();
    wanted.splice(i, xs.length, ...xs);
    if (walked(wanted).points.length) [["rate", wanted[0]], ["momentum", wanted[1]], ["start", wanted.slice(2)]].forEach(([key, to]) => model.set(key, to));
    model.save_changes();
  }

  const { root, restart, destroy } = stepper({ model, el, phases: [], last: way.points.length - 1, body: FIELD, show: (n, root) => { if (!svg) { begin(root); list(root); } return show(n, root); } });
  const follow = () => { list(root); restart(way.points.length - 1); };
  const followed = ["rate", "momentum", "start", "longest", ...(program.lines ? [] : ["steps"])].map((key) => `change:${key}`);
  followed.forEach((event) => model.on(event, follow));
  return () => { followed.forEach((event) => model.off(event, follow)); destroy(); };
}

export default { render };
