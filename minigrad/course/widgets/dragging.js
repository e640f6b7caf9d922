// Evaluates a graph of scalars in the browser, with the numbers that the reader drags its leaves to.

const CALCULATE = {
  Add: (a, b) => a + b, Sub: (a, b) => a - b, Mult: (a, b) => a * b, Div: (a, b) => a / b, Pow: (a, b) => a ** b, USub: (a) => -a,
  Gt: (a, b) => a > b, GtE: (a, b) => a >= b, Lt: (a, b) => a < b, LtE: (a, b) => a <= b, equal: (a, b) => a === b, Invert: (a) => !a, invert: (a) => !a,
  IfExp: (test, a, b) => (test ? a : b), where: (test, a, b) => (test ? a : b), kept: (a, c) => (c ? a : 0),
  relu: (a) => Math.max(a, 0), maximum: Math.max, minimum: Math.min, // exp, sin, … have the same names in Math
};
const calculated = (tree, at) => (Array.isArray(tree) ? (CALCULATE[tree[0]] ?? Math[tree[0]])(...tree.slice(1).map((each) => calculated(each, at))) : at[tree] ?? tree);

// leaves: id → number. Runs forward and backward, and returns values and gradients by box, slopes by arrow.
function ran(program, leaves) {
  const values = {}, grads = { [program.at(-1).id]: 1 }, slopes = {};
  const at = ({ id, of }) => ({ a: values[of[0]], b: values[of[1]], y: values[id] });
  for (const node of program) values[node.id] = node.of ? calculated(node.trees[0], at(node)) : leaves[node.id] ?? node.value;
  for (const node of [...program].reverse()) node.of?.forEach((x, i) => {
    slopes[node.arrows[i]] = calculated(node.trees[i + 1], at(node));
    grads[x] = (grads[x] ?? 0) + grads[node.id] * slopes[node.arrows[i]];
  });
  return { values, grads, slopes };
}

// A slider for a leaf, in a range around its value.
function sliderOf({ id, value }, name) {
  const reach = 2 ** (1 + Math.ceil(Math.log2(Math.max(1, Math.abs(value)))));
  return slider(id, `${name}, dragged`, name, { min: value - reach, max: value + reach, step: reach / 80, defaultValue: value });
}
