// Which cells make a cell of a gradient: of what arrives, and of the local derivative or of the other factor of a product.

const CELLS = ".mg-flows [data-of=passed] > g, .mg-box [data-of=grad] > g, [data-of=grad] td";
const indexOf = (part) => (part.matches("td") ? part.parentNode.rowIndex * part.parentNode.cells.length + part.cellIndex : [...part.parentNode.children].indexOf(part));

// The terms of entry n of what an arrow passes on: lists of [the heat map's owner, what it shows, the entry's index].
function termsOf({ heats, group }, id, n) {
  const { came, slope, passed } = heats[id], rule = [...group[id].querySelectorAll(".mg-between")].map((part) => part.textContent).join("");
  const [, left, right, sum] = rule.match(/^= (?:(.+)ᵀ @|@ (.+)ᵀ|(Σ))$/) ?? [], i = Math.floor(n / passed.columns), j = n % passed.columns;
  const other = (name) => Object.keys(heats).find((key) => heats[key].value && group[key].querySelector(".mg-name").textContent === name);
  const along = (length, term) => Array.from({ length }, (_, k) => term(k)), rows = came && came.cells.length / came.columns;
  if (left) return along(rows, (k) => [[other(left), "value", k * heats[other(left)].value.columns + i], [id, "came", k * came.columns + j]]);
  if (right) return along(came.columns, (k) => [[id, "came", i * came.columns + k], [other(right), "value", j * came.columns + k]]);
  if (sum) return passed.columns === came.columns ? along(rows, (k) => [[id, "came", k * came.columns + j]]) : [];
  return came?.cells.length === passed.cells.length ? [[[id, "came", n], ...(slope ? [[id, "slope", n]] : [])]] : [];
}

// Light the cells that make the cell under the pointer or with the focus, and say its sum; null if there is none.
function explain({ screen, steps, inspected }, cell) {
  for (const lit of screen.svg.querySelectorAll(".mg-maker")) lit.classList.remove("mg-maker");
  const owner = cell && (cell.closest("[data-id]")?.dataset.id ?? inspected), into = ({ phase, arrows, box }) => phase === "backward" && arrows && [box, arrows[0]].includes(owner);
  const [step, ...more] = cell ? steps.filter(into) : [], id = step?.arrows[0], n = cell && indexOf(cell);
  if (!step || more.length || !screen.heats[id]?.passed) return null;
  const terms = termsOf(screen, id, n);
  if (!terms.length) return null;
  const columns = screen.heats[id].passed.columns;
  const own = cell.closest(".mg-arrow") ? [] : [[step.box, "grad", n]];
  for (const [key, of, at] of [[id, "passed", n], ...own, ...terms.flat()]) screen.maps[key][of].children[at].classList.add("mg-maker");
  const numbers = terms.map((term) => term.map(([key, of, at]) => screen.heats[key][of].cells[at][0]).join(" × "));
  const total = screen.heats[id].passed.cells[n][0], at = [Math.floor(n / columns), n % columns];
  return `Passed on to ${screen.nameOf(step.box)}, row ${at[0] + 1}, column ${at[1] + 1}: ${[numbers.join(" + ").replaceAll("+ −", "− "), total].join(" = ")}.`;
}
