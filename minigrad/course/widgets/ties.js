// Lines behind a film's panels, between the `pairs` of parts that a widget's own file finds.

const placeOf = (part) => (part.querySelector(".mg-frame") ?? part).getBoundingClientRect();

function clear(boxes, x, y, end) { // the nearest x leftwards where a line from y to end meets no box
  const box = boxes.find((box) => box.left < x && x < box.right && box.bottom > Math.min(y, end) && box.top < Math.max(y, end));
  return box ? clear(boxes, box.left - 6, y, end) : x;
}

// The path from a to b in a view, and its end: x, y, and the direction across and down.
function route(a, b, way, view, boxes) {
  const sign = a.left + a.right < b.left + b.right ? 1 : -1, [x, near, far] = sign > 0 ? [a.right, b.left, b.right] : [a.left, b.right, b.left];
  const y = (a.top + a.bottom) / 2, middle = (b.left + b.right) / 2, down = (b.top + b.bottom) / 2, half = (x + near) / 2, center = (a.left + a.right) / 2;
  if (way === "below") {
    const [start, out, from, foot] = b.bottom < a.top ? [`${center},${a.top}V${a.top - 8}`, center, a.top - 8, b.bottom + 6] : [`${a.left},${y}`, a.left - 6, y, view.bottom - 3];
    return [`M${start}H${clear(boxes, out, from, foot)}V${foot}H${middle}V${b.bottom}`, middle, b.bottom, 0, -1];
  }
  const isFree = !boxes.some((box) => box.left > a.right && box.left < near && box.top < y && y < box.bottom);
  const aside = (sign > 0 ? Math.max : Math.min)(x, far, ...(way ? boxes.map((box) => box.right) : [])) + 6 * sign; // on a phone
  if ((near - x) * sign < 0) return [`M${way ? `${center},${a.bottom}v8` : `${x},${y}`}H${aside}V${down}H${far}`, far, down, -sign, 0];
  const path = way ? `M${x},${isFree ? y : `${a.top}V${view.top + 3}`}H${near - 16}V${down}H${near}` : `M${x},${y}C${half},${y} ${half},${down} ${near},${down}`;
  return [path, near, down, sign, 0];
}
function tie([from, to, way, look = ""]) {
  const view = from.closest(".mg-view"), boxes = [...view.querySelectorAll(".mg-box")].map(placeOf);
  const [path, x, y, dx, dy] = route(placeOf(from), placeOf(to), way, view.getBoundingClientRect(), boxes);
  const tip = [-4, 4].map((side) => `${x - 9 * dx + side * dy},${y - 9 * dy + side * dx}`);
  return `<path class="${look}" pathLength="1" d="${path}"/><polygon class="${look}" points="${x},${y} ${tip.join(" ")}"/>`;
}
function decorate(f, n, root) {
  if (!f.web) {
    root.insertAdjacentHTML("beforeend", '<svg class="mg-ties" aria-hidden="true"></svg>');
    f.web = root.lastElementChild;
    new ResizeObserver(() => drawTies(f, root)).observe(root);
    root.addEventListener("scroll", () => drawTies(f, root), true);
  }
  for (const [, part] of pairs(root)) follow(part?.closest?.(".mg-view"), part);
  drawTies(f, root);
}
function drawTies(f, root) {
  const { left, top, width, height } = f.web.getBoundingClientRect(), ties = pairs(root).map((pair) => (pair.map ? tie(pair) : pair)).join("");
  f.web.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  if (ties !== f.ties) f.web.innerHTML = f.ties = ties;
}
