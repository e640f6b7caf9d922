// A number in a few significant digits, as Python writes it (draw/words.py): −0.002935, 1.5e+06.
function number(x, digits = 4) {
  const halfway = x.toExponential(60).match(`^(-?\\d\\.\\d{${digits - 1}})50*(e.*)$`); // rounds half to even
  if (halfway && halfway[1].at(-1) % 2 === 0) x = Number(halfway[1] + halfway[2]);
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e").map(Number);
  const isFar = exponent < -4 || exponent >= digits;
  const power = `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  const text = isFar ? `${mantissa}e${power}` : String(Number(x.toPrecision(digits)));
  return text.replaceAll("-", "−");
}
// A number that a reader can drag.
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
