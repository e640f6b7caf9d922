// Trains a small network in the page, as Python does, where no kernel runs or the reader moves the data.
//
//   program   { layers: [[inputs, outputs] or "Tanh", …], parameters: [numbers, …], loss, optimizer }
//   points    [[x, y, class 0 or 1], …]

const BENDS = { // [activation, its derivative as a function of its result]
  Tanh: [Math.tanh, (y) => 1 - y * y], ReLU: [(x) => Math.max(x, 0), (y) => Number(y > 0)], Sigmoid: [(x) => 1 / (1 + Math.exp(-x)), (y) => y * (1 - y)],
};
const LOSSES = { // (scores, class) → the loss, and its gradient
  binary_cross_entropy_with_logits: ([s], one) => [Math.max(s, 0) - one * s + Math.log1p(Math.exp(-Math.abs(s))), [1 / (1 + Math.exp(-s)) - one]],
  cross_entropy: (scores, one) => {
    const most = Math.max(...scores), powers = scores.map((s) => Math.exp(s - most)), sum = powers.reduce((a, b) => a + b);
    return [most + Math.log(sum) - scores[one], powers.map((power, i) => power / sum - Number(i === one))];
  },
};
const MOST_FRAMES = 200;

function networkOf({ layers, parameters, ...rest }, points) {
  const zeros = (numbers) => numbers.map(() => 0);
  return { ...rest, layers, points, step: 0, parameters: parameters.map((numbers) => ({ numbers: [...numbers], grad: null, mean: zeros(numbers), square: zeros(numbers) })) };
}
const surenessOf = (scores) => (scores.length === 1 ? scores[0] : scores[1] - scores[0]);
const grouped = (n) => n.toLocaleString("en");
// The input, then the output of each layer.
function activations({ layers, parameters }, input) {
  const results = [input];
  let next = 0;
  for (const layer of layers) {
    const x = results.at(-1);
    if (typeof layer === "string") { results.push(x.map(BENDS[layer][0])); continue; }
    const [weight, bias] = [parameters[next++].numbers, parameters[next++].numbers];
    results.push(bias.map((b, o) => x.reduce((sum, each, i) => sum + weight[o * x.length + i] * each, b)));
  }
  return results;
}
// Adds a point's gradients; g is the gradient of its loss by the scores.
function pullBack({ layers, parameters }, results, g) {
  let next = parameters.length;
  for (let k = layers.length - 1; k >= 0; k--) {
    const x = results[k];
    if (typeof layers[k] === "string") { g = g.map((each, i) => each * BENDS[layers[k]][1](results[k + 1][i])); continue; }
    const bias = parameters[--next], weight = parameters[--next];
    g.forEach((each, o) => { bias.grad[o] += each; x.forEach((value, i) => { weight.grad[o * x.length + i] += each * value; }); });
    g = x.map((_, i) => g.reduce((sum, each, o) => sum + each * weight.numbers[o * x.length + i], 0));
  }
}
const MOVES = {
  SGD: ({ optimizer: { momentum } }, p, i) => p.mean[i] = momentum * p.mean[i] + p.grad[i],
  Adam: ({ optimizer: { betas: [b1, b2], eps }, step }, p, i) => {
    p.mean[i] += (1 - b1) * (p.grad[i] - p.mean[i]);
    p.square[i] += (1 - b2) * (p.grad[i] ** 2 - p.square[i]);
    return p.mean[i] / (1 - b1 ** step) / (Math.sqrt(p.square[i] / (1 - b2 ** step)) + eps);
  },
};
// One step on all points: returns the loss and the share of right answers before it.
function trainStep(net, rate) {
  const n = net.points.length;
  let total = 0, right = 0;
  for (const p of net.parameters) p.grad = p.numbers.map(() => 0);
  for (const [x, y, one] of net.points) {
    const results = activations(net, [x, y]), scores = results.at(-1), [loss, g] = LOSSES[net.loss](scores, one);
    total += loss / n;
    right += Number(surenessOf(scores) > 0) === one ? 1 / n : 0;
    pullBack(net, results, g.map((each) => each / n));
  }
  net.step++;
  for (const p of net.parameters) p.numbers.forEach((_, i) => { p.numbers[i] -= rate * MOVES[net.optimizer.name](net, p, i); });
  return [total, Math.round(right * n) / n];
}

// As `levels` and `_frame` in Python.
function resultsOf(net, [x0, y0, x1, y1]) { // of each grid point, row by row from the top
  const at = (n, low, high) => low + (high - low) * (2 * n + 1) / (2 * SIDE);
  return Array.from({ length: SIDE * SIDE }, (_, i) => activations(net, [at(i % SIDE, x0, x1), at(Math.floor(i / SIDE), y1, y0)]));
}
function heatOf(net, corners) {
  const sure = resultsOf(net, corners).map((results) => surenessOf(results.at(-1)));
  const most = Math.max(...sure.map(Math.abs)) || 1;
  return sure.map((x) => String.fromCharCode(79 + Math.sign(x) * Math.ceil(31 * Math.sqrt(Math.abs(x) / most)))).join("");
}
function frameOf(net, corners, curve) {
  const [loss, right] = net.last ?? [null, null], { step } = net;
  const say = step ? `After ${grouped(step)} step${step > 1 ? "s" : ""}: loss ${number(loss)}, ${number(100 * right, 3)} % of the batch right.` : "Before the first step.";
  return { step, phase: "", say, loss, right, curve, layers: [], heat: heatOf(net, corners), weights: net.parameters.map(({ numbers }) => [...numbers]) };
}
// Every second frame, if there are too many. Each keeps the losses of both.
function thinned([first, ...rest]) {
  if (rest.length < MOST_FRAMES) return [first, ...rest];
  return [first, ...rest.flatMap((frame, i) => (i % 2 ? [{ ...frame, curve: [...rest[i - 1].curve, ...frame.curve].filter((_, k) => k % 2) }] : []))];
}

// The training in the page: tell(frames, state) after each change.
function trainer(model, tell) {
  const t = { model, tell, points: model.get("points"), net: null, frames: [], losses: [], left: 0, timer: 0 };
  const pause = () => { clearTimeout(t.timer); t.timer = 0; };
  const run = (steps) => { pause(); t.left = steps; trainAWhile(t); };
  return {
    run, stop: pause,
    start: () => { // from the first weights
      pause();
      Object.assign(t, { net: networkOf(model.get("program"), t.points), losses: [], left: 0 });
      t.frames = [frameOf(t.net, model.get("corners"), [])];
      tell(t.frames, "ready");
    },
    pause: () => { pause(); tell(t.frames, "paused"); },
    resume: () => run(t.left),
    step: () => { pause(); t.left = Math.max(t.left, 1); trainOnce(t); takeFrame(t, t.left ? "paused" : "finished"); },
    move: (points) => { t.points = points; if (t.net) t.net.points = points; },
  };
}
function trainOnce(t) {
  t.net.last = trainStep(t.net, t.model.get("rate"));
  t.losses.push([t.net.step, t.net.last[0]]);
  t.left--;
}
function takeFrame(t, state) {
  const every = Math.ceil(t.losses.length / 12), curve = t.losses.filter((_, i, all) => (all.length - 1 - i) % every === 0);
  t.frames = thinned([...t.frames, frameOf(t.net, t.model.get("corners"), curve)]);
  t.losses = [];
  t.tell(t.frames, state);
}
// Trains for 12 ms, or for one step if a speed is set.
function trainAWhile(t) {
  const speed = t.model.get("speed"), end = performance.now() + 12;
  do trainOnce(t); while (!speed && t.left > 0 && performance.now() < end);
  const goesOn = t.left > 0 && Number.isFinite(t.net.last[0]);
  t.timer = goesOn ? setTimeout(trainAWhile, 1000 / (speed || 20), t) : 0;
  takeFrame(t, goesOn ? "running" : "finished");
}
