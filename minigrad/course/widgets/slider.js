// A number that a reader can drag: its name, a slider, and its value.

function slider(id, says, name, range) {
  const label = made("label", { textContent: `${name} ` });
  const input = made("input", { type: "range", ...range });
  input.dataset.leaf = id;
  input.setAttribute("aria-label", says);
  label.append(input, made("output"));
  return label;
}
function ticksOf(low, high) { // round numbers
  const least = (high - low) / 5.01, power = 10 ** Math.floor(Math.log10(least)), step = power * [2, 5, 10].find((k) => power * k >= least);
  return [...Array(9).keys()].map((i) => step * (Math.ceil(low / step) + i)).filter((x) => x <= high);
}
function tell(input, value) {
  input.value = value;
  input.nextSibling.value = input.ariaValueText = number(Number(value));
}
