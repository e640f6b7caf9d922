// Heat maps, { columns, cells: [[number, mark, shade from −1 to 1]] }, as cells of a picture and as a table of numbers.

const looks = (part, [, mark]) => part.classList.toggle("mg-odd", /[?∞]/.test(mark));

// Draws the cells of a heat map in a picture; blank cells if `heat` is null.
function fill(map, heat) {
  const { columns, size } = map.dataset, [side, across] = map.dataset.side.split(" ").map(Number);
  map.innerHTML = Array.from({ length: size }, (_, i) => {
    const x = (i % columns) * across, y = Math.floor(i / columns) * side;
    return `<g class="mg-cell${heat ? "" : " mg-blank"}"><title>·</title><rect x="${x}" y="${y}" width="${across}" height="${side}"/><text x="${x + across / 2}" y="${y + (side - 3)}"></text></g>`;
  }).join("");
  heat?.cells.forEach((cell, i) => {
    const [title, rect, mark] = map.children[i].children;
    title.textContent = cell[0];
    mark.textContent = across > side ? cell[1] : cell[1].match(/^−?[?∞]?/)[0];
    rect.setAttribute("fill-opacity", Math.abs(cell[2]));
    looks(map.children[i], cell);
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
