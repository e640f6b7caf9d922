// A number that a reader can drag: its name, a slider, and its value.

function slider(id, says, name, range) {
  const label = made("label", { textContent: `${name} ` });
  const input = made("input", { type: "range", ...range });
  input.dataset.leaf = id;
  input.setAttribute("aria-label", says);
  label.append(input, made("output"));
  return label;
}
function tell(input, value) {
  input.value = value;
  input.nextSibling.value = input.ariaValueText = number(Number(value));
}
