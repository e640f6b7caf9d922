// Lights the cells that make the cell of a gradient. Returns their sum in words.

const CELLS = ".mg-flows [data-of=passed] > g, .mg-box [data-of=grad] > g, [data-of=grad] td";

function explain({ screen, steps, inspected }, cell) {
  const { heats, maps } = screen;
  for (const lit of screen.svg.querySelectorAll(".mg-maker")) lit.classList.remove("mg-maker");
  const owner = cell && (cell.closest("[data-id]")?.dataset.id ?? inspected);
  const [step, ...more] = steps.filter(({ made, arrows, box }) => made && [box, arrows[0]].includes(owner)), id = step?.arrows[0];
  if (!heats[id] || more.length) return;
  const n = [...(cell.closest("table") ?? cell.parentNode).querySelectorAll(":scope > g, td")].indexOf(cell);
  const { length, parts, times } = step.made, { columns, cells } = heats[id].passed, i = Math.floor(n / columns), j = n % columns;
  const terms = Array.from({ length }, (_, k) => parts.map(([key, of, a, b, c]) => [key, of, a * i + b * j + c * k]));
  for (const [key, of, at] of [[id, "passed", n], ...(owner === id ? [] : [[step.box, "grad", n]]), ...terms.flat()]) maps[key][of].children[at].classList.add("mg-maker");
  const sum = terms.map((term) => term.map(([key, of, at]) => heats[key][of].cells[at][0]).join(" × ")).join(" + ").replaceAll("+ −", "− ");
  return `Passed on to ${screen.nameOf(step.box)}, row ${i + 1}, column ${j + 1}: ${sum}${times} = ${cells[n][0]}.`;
}
