// A number that a reader can drag: its name, a slider, and its value.

function slider(id, says, name, range) {
  const label = made("label", { textContent: `${name} ` });
  const input = made("input", { type: "range", ...range });
  input.dataset.leaf = id;
  input.setAttribute("aria-label", says);
  label.append(input, made("output"));
  return label;
}
// Round numbers between two limits, at most about seven, as in draw/charts.py.
function ticksOf(low, high) {
  const least = (high - low) / 5, power = 10 ** Math.floor(Math.log10(least)), step = power * [1, 2, 5, 10].find((k) => power * k >= least * (1 - 1e-9));
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => step * (first + i));
}
function tell(input, value) {
  input.value = value;
  input.nextSibling.value = input.ariaValueText = number(Number(value));
}
