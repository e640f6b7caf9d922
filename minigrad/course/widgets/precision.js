// Precision: sliders for the scale of the loss and for one gradient, beside the choice of the format.
//
//   scales   the exponents of the scales; step n shows the n-th, and the last step the best
//   best     the number of the best scale
//   bits     scale → size → [words, 16 bits, what became of it, its series] of a gradient of that size, or null
//   typical  the size that is picked at first
//   axis     the place of the smallest size, not scaled, and the width of a size, in the picture's pixels
//
// Pointing at a bar, or the second slider, picks a gradient of its size.

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (k) => `2${[...String(k)].map((digit) => SUPERSCRIPTS[digit]).join("")}`;
const scaleOf = ({ film: { scales, best }, now }) => (now < scales.length ? now : best);

function decorate(f, n, root) {
  const { scales, bits, typical } = f.film, shown = scaleOf(f), k = scales[shown];
  if (!f.scale) addSliders(f, root);
  f.picked ??= typical;
  f.scale.value = shown;
  f.scale.ariaValueText = `2 to the power of ${k}`;
  f.scale.nextSibling.textContent = power(k);
  showBits(f, root, bits[shown][f.picked], k);
}

function addSliders(f, root) {
  const slider = (words, max, act) => {
    const label = made("label", { className: "mg-scale", textContent: words });
    const input = made("input", { type: "range", min: 0, max, step: 1, ariaLabel: words });
    input.addEventListener("input", () => act(Number(input.value)));
    label.append(input);
    root.querySelector(".mg-choices").prepend(label);
    return input;
  };
  const { bits, scales, axis: [start, wide] } = f.film, pick = (i) => {
    if (!f.film.bits[0][i]) return;
    f.picked = i;
    decorate(f, f.now, root);
  };
  f.gradient = slider("gradient", bits[0].length - 1, pick);
  f.scale = slider("scale of the loss", scales.length - 1, (n) => { f.model.set("index", n); f.model.save_changes(); });
  f.scale.after(made("output"));
  root.querySelector(".mg-panels").addEventListener("pointermove", ({ target, clientX }) => {
    const chart = target.closest?.("svg.mg-chart"), box = chart?.getBoundingClientRect();
    if (box) pick(Math.floor(((clientX - box.left) * chart.viewBox.baseVal.width / box.width - start) / wide) - f.film.scales[scaleOf(f)]);
  });
}

function showBits({ film: { axis: [start, wide] }, gradient, picked }, root, [head, bits, said, series], k) {
  const scenes = root.querySelectorAll("[data-scene]:not([hidden])"), find = (part) => [...scenes].flatMap((scene) => [...scene.querySelectorAll(part)]);
  find(".mg-pick")[0].setAttribute("transform", `translate(${start + wide * (k + picked + 0.5)})`);
  find(".mg-bit text").forEach((text, i) => { text.textContent = bits[i]; });
  find(".mg-one")[0].textContent = head;
  const [result] = find(".mg-fate");
  result.textContent = said;
  result.setAttribute("class", `mg-fate mg-big mg-hue mg-s${series}`);
  gradient.value = picked;
  gradient.ariaValueText = `${head} ${said}`;
}
