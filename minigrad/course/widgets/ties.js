// Lines behind the panels of a film, each from one part to another, such as from a line of code to the box that it makes. A step
// lists them: ties: [[from, to, way]]; way is "below" for a line below a picture to a column of a table, "above" for one to a row.

const placeOf = (f, id) => partsOf(f, [id]).map((part) => (part.querySelector(".mg-frame") ?? part).getBoundingClientRect())[0];

// The path from place a to place b, and its end: x, y, and the direction across and down.
function route(a, b, way, view) {
  const right = a.left + a.right < b.left + b.right, sign = right ? 1 : -1;
  const x = right ? a.right : a.left, y = (a.top + a.bottom) / 2, across = (b.left + b.right) / 2, down = (b.top + b.bottom) / 2;
  if (way === "below" && b.bottom < a.top) return [`M${(a.left + a.right) / 2},${a.top}V${(a.top + b.bottom) / 2}H${across}V${b.bottom}`, across, b.bottom, 0, -1];
  if (way === "below") return [`M${a.left},${y}h-6V${view.bottom - 3}H${across}V${b.bottom}`, across, b.bottom, 0, -1];
  if (way === "above" && b.left > a.right) return [`M${a.right},${a.top}V${view.top + 3}H${b.left - 16}V${down}H${b.left}`, b.left, down, 1, 0];
  const near = right ? b.left : b.right, half = (x + near) / 2;
  if ((near - x) * sign > 0) return [`M${x},${y}C${half},${y} ${half},${down} ${near},${down}`, near, down, sign, 0];
  const far = right ? b.right : b.left, edge = (right ? Math.max(x, far) : Math.min(x, far)) + 6 * sign; // one is above the other
  return [`M${x},${y}H${edge}V${down}H${far}`, far, down, -sign, 0];
}

function tie(f, [from, to, way]) {
  const a = placeOf(f, from), b = placeOf(f, to);
  if (!a?.width || !b?.width) return "";
  const view = partsOf(f, [from])[0].closest(".mg-view").getBoundingClientRect(), [path, x, y, dx, dy] = route(a, b, way, view);
  const tip = [-4, 4].map((side) => `${x - 9 * dx + side * dy},${y - 9 * dy + side * dx}`);
  return `<path pathLength="1" d="${path}"/><polygon points="${x},${y} ${tip.join(" ")}"/>`;
}

function drawTies(f) {
  const { left, top, width, height } = f.web.getBoundingClientRect();
  f.web.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  f.web.innerHTML = (f.film.steps[f.now]?.ties ?? []).map((each) => tie(f, each)).join("");
}

function decorate(f, n, root) {
  if (!f.web) {
    root.insertAdjacentHTML("beforeend", '<svg class="mg-ties" aria-hidden="true"></svg>');
    f.web = root.lastElementChild;
    new ResizeObserver(() => drawTies(f)).observe(root);
    root.addEventListener("scroll", () => drawTies(f), true);
  }
  const ties = JSON.stringify(f.film.steps[n].ties ?? []);
  f.web.classList.toggle("mg-new", ties !== f.tied); // a line that stays does not move again
  f.tied = ties;
  drawTies(f);
}
