// From the line that runs and the line that was pressed to boxes, to output, or to nothing, on each side.

function pairs(root) {
  const code = root.querySelector(".mg-code"), run = code.querySelector(".mg-hot"), pressed = code.querySelector(".mg-linked");
  return [...root.querySelectorAll(".mg-panel:not(:has(.mg-code))")].flatMap((half) => {
    const ties = (from, parts, look) => (from ? [...half.querySelectorAll(parts)].map((part) => [from, part, look]) : []);
    const made = ties(run, ".mg-hot:is(.mg-op, .mg-said)"), now = made.length ? made : ties(run, ".mg-near", "mg-near");
    return [...(now.length || !run ? now : [stub(placeOf(run), half)]), ...ties(pressed, ".mg-linked.mg-op:not(.mg-hidden)", "mg-held")];
  });
}

// A short line with an end: this line of code makes no op there. On a phone there is no room for it.
function stub(line, half) {
  const { left, right } = placeOf(half), sign = left < line.left ? -1 : 1, x = sign < 0 ? line.left : line.right, y = (line.top + line.bottom) / 2;
  if ((left < line.right && right > line.left) || half.querySelector("[data-id=rstop]")) return "";
  const isTaken = [...half.querySelectorAll(".mg-box")].map(placeOf).some((box) =>
    box.top < y + 9 && box.bottom > y - 9 && sign * ((sign < 0 ? box.right : box.left) - x) < 66);
  const words = `<text x="${x + sign * 22}" y="${y + 4}" text-anchor="${sign < 0 ? "end" : "start"}">no op</text>`;
  return `<path class="mg-none" d="M${x},${y}h${sign * 16}m0,-6v12"/>${isTaken ? "" : words}`;
}
