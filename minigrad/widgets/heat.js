// Heat maps: { columns, cells: [[number, mark, shade from −1 to 1]] }, as cells of a picture and as a table of numbers.

const BLANK = ["·", "", 0];
const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
const looks = (part, [, mark, shade]) => {
  part.classList.toggle("mg-minus", shade < 0);
  part.classList.toggle("mg-odd", mark !== "" && mark !== "−");
};

// Writes on the cells of a picture; null blanks them.
function fill(map, heat) {
  [...map.children].forEach((part, i) => {
    const cell = heat?.cells[i] ?? BLANK;
    const [title, rect, mark] = part.children;
    title.textContent = cell[0];
    mark.textContent = cell[1];
    rect.setAttribute("fill-opacity", Math.abs(cell[2]));
    part.classList.toggle("mg-blank", !heat);
    looks(part, cell);
  });
}

function tableOf({ columns, cells }) {
  const table = made("table", { className: "mg-numbers" });
  cells.forEach((cell, i) => {
    const row = i % columns ? table.rows[table.rows.length - 1] : table.insertRow();
    const entry = row.insertCell();
    entry.textContent = cell[0];
    entry.style.setProperty("--shade", `${Math.abs(cell[2]) * 100}%`);
    looks(entry, cell);
  });
  return table;
}
