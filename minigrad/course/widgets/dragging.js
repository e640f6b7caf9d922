// Evaluates formulas.

const CALCULATE = {
  Add: (a, b) => a + b, Sub: (a, b) => a - b, Mult: (a, b) => a * b, Div: (a, b) => a / b, Pow: (a, b) => a ** b, USub: (a) => -a,
  Gt: (a, b) => a > b, GtE: (a, b) => a >= b, Lt: (a, b) => a < b, LtE: (a, b) => a <= b, equal: (a, b) => a === b, Invert: (a) => !a, invert: (a) => !a,
  IfExp: (test, a, b) => (test ? a : b), where: (test, a, b) => (test ? a : b), kept: (a, c) => (c ? a : 0),
  relu: (a) => Math.max(a, 0), maximum: Math.max, minimum: Math.min, // exp, sin, … have the same names in Math
};
const calculated = (tree, at) => (Array.isArray(tree) ? (CALCULATE[tree[0]] ?? Math[tree[0]])(...tree.slice(1).map((each) => calculated(each, at))) : at[tree] ?? tree);
