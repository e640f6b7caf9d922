// From a seed to the column or row that it fills.

function pairs(root) {
  const from = root.querySelector(".mg-seed"), cell = [...root.querySelectorAll("td.mg-filling")].at(-1);
  if (!from) return [];
  return cell.dataset.id.startsWith("f") ? [[from, cell, "below"]] : [[from, cell.parentNode, "above"]];
}
