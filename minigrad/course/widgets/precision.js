// Precision: a slider for the scale of the loss, beside the choice of the format.
//
//   scales   the exponents of the scales; step n shows the n-th, and the last step the best
//   best     the number of the best scale

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (k) => `2${[...String(k)].map((digit) => SUPERSCRIPTS[digit]).join("")}`;

function decorate(f, n, root) {
  const { scales, best } = f.film;
  f.scale ??= scaleSlider(f, root);
  f.scale.value = n < scales.length ? n : best;
  const k = scales[f.scale.value];
  f.scale.ariaValueText = `2 to the power of ${k}`;
  f.scale.nextSibling.textContent = power(k);
}

function scaleSlider({ model, film: { scales } }, root) {
  const label = made("label", { className: "mg-scale", textContent: "scale of the loss " });
  const input = made("input", { type: "range", min: 0, max: scales.length - 1, step: 1, ariaLabel: "Scale of the loss" });
  input.addEventListener("input", () => {
    model.set("index", Number(input.value));
    model.save_changes();
  });
  label.append(input, made("output"));
  root.querySelector(".mg-choices").prepend(label);
  return input;
}
