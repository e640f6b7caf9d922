// Lines behind the panels of a film: from the line of code that runs to the boxes it makes; from the seed of a pass to the cells it fills.

const placeOf = (part) => (part.querySelector(".mg-frame") ?? part).getBoundingClientRect();

function pairs(root) {
  const from = root.querySelector(".mg-code .mg-hot, .mg-seed"), cell = [...root.querySelectorAll("td.mg-filling")].at(-1);
  if (!from?.matches(".mg-seed")) return from ? [...root.querySelectorAll(".mg-hot:is(.mg-op, .mg-said)")].map((part) => [from, part]) : [];
  return cell.dataset.id.startsWith("f") ? [[from, cell, "below"]] : [[from, cell.parentNode, "above"]]; // to a column, to a row
}

// The path from place a to place b in a view, and its end: x, y, and the direction across and down.
function route(a, b, way, view) {
  const sign = a.left + a.right < b.left + b.right ? 1 : -1, [x, near, far] = sign > 0 ? [a.right, b.left, b.right] : [a.left, b.right, b.left];
  const y = (a.top + a.bottom) / 2, middle = (b.left + b.right) / 2, down = (b.top + b.bottom) / 2, half = (x + near) / 2;
  if (way === "below") return [`M${a.left},${y}h-6V${b.bottom < a.top ? (a.top + b.bottom) / 2 : view.bottom - 3}H${middle}V${b.bottom}`, middle, b.bottom, 0, -1];
  if ((near - x) * sign < 0) return [`M${x},${y}H${(sign > 0 ? Math.max : Math.min)(x, far) + 6 * sign}V${down}H${far}`, far, down, -sign, 0]; // on a phone
  const path = way ? `M${x},${a.top}V${view.top + 3}H${near - 16}V${down}H${near}` : `M${x},${y}C${half},${y} ${half},${down} ${near},${down}`;
  return [path, near, down, sign, 0];
}
function tie([from, to, way]) {
  const [path, x, y, dx, dy] = route(placeOf(from), placeOf(to), way, from.closest(".mg-view").getBoundingClientRect());
  const tip = [-4, 4].map((side) => `${x - 9 * dx + side * dy},${y - 9 * dy + side * dx}`);
  return `<path pathLength="1" d="${path}"/><polygon points="${x},${y} ${tip.join(" ")}"/>`;
}
function decorate(f, n, root) {
  if (!f.web) {
    root.insertAdjacentHTML("beforeend", '<svg class="mg-ties" aria-hidden="true"></svg>');
    f.web = root.lastElementChild;
    new ResizeObserver(() => drawTies(f, root)).observe(root);
    root.addEventListener("scroll", () => drawTies(f, root), true);
  }
  for (const [, part] of pairs(root)) follow(part.closest(".mg-view"), part);
  drawTies(f, root);
}
function drawTies(f, root) {
  const { left, top, width, height } = f.web.getBoundingClientRect(), ties = pairs(root).map(tie).join("");
  f.web.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  if (ties !== f.ties) f.web.innerHTML = f.ties = ties; // a line that stays is not drawn again
}
