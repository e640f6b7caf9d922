// One item of a graph: its box, its frame when it is open, and its description in words.

const ROW = 17, MARGIN = 8, TAG = 12, LONGEST = 26; // pixels; characters
const QUIET = `data-lm-suppress-shortcuts="true"`; // on every focusable element: else JupyterLab handles our keys

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const counted = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
const measuring = document.createElement("canvas").getContext("2d");
function width(text, font) {
  measuring.font = `${font} Arimo, Arial, Helvetica, "Liberation Sans", sans-serif`;
  return measuring.measureText(text).width;
}

const isGroup = (item) => item.ops !== undefined;
const known = (item) => (item.value === "·" ? "" : item.value);
const title = (item) => [item.sign, item.name].filter(Boolean).join(isGroup(item) ? " " : " → ") || item.value || item.kind;
const described = (item) => [title(item), item.spec, known(item) !== title(item) && known(item), item.trouble, item.kept ? "saved for backward" : ""].filter(Boolean).join(", ");
const bytes = (n) => (n < 0 ? "known when it runs" : `${n.toLocaleString("en")} B`);
const shapeOf = (spec) => spec.replace(/\w+\[(.*?)\]/g, (_, lengths) => (/^[^,]+$/.test(lengths) ? `(${lengths},)` : `(${lengths})`));
const typeOf = (spec) => spec.replace(/\[.*?\]/g, "");

const KINDS = { module: "a call of a module", scope: "a name scope", repeat: "equal blocks", block: "one of equal blocks", line: "made by a line of code", stretch: "ops that follow each other" };
const facts = (item, around) =>
  [["", title(item)], ...(isGroup(item) ? ofGroup(item) : ofNode(item)), ["in", around]].filter(([, text]) => text);
const ofGroup = (item) => [["what", KINDS[item.kind]], ["holds", item.spec]];
function ofNode(item) {
  return [
    ["shape", item.spec && shapeOf(item.spec)],
    ["dtype", item.spec && typeOf(item.spec)],
    ["bytes", item.spec && bytes(item.bytes)],
    ["value", known(item) !== title(item) && known(item)],
    ["look out", item.trouble],
    ["for backward", item.kept && "saved"],
    ["from", item.line],
    ...(item.facts ?? []).map((fact) => ["also", fact]),
  ];
}

// A closed box: its size and its SVG. Below its title are its type and value; a dense box shows its value on hover only.
// Above it are the tags [item, name, kind] of what it reads without a line; `top` is their height.
function shape(item, i, name, dense = false, reads = []) {
  const group = isGroup(item), chip = group ? 26 : 0, texts = textsOf(item, name, dense), h = texts.length * ROW + MARGIN;
  const tags = [item.trouble && [item.trouble.includes("NaN") ? "NaN" : "inf", 44, " mg-trouble"], item.kept && (dense ? ["", 19, ""] : ["saved", 44, ""])].filter(Boolean);
  const beside = sum(tags.map(([, wide]) => wide)), across = ([css, text], n) => width(text, css === "mg-dim" ? "12px" : "bold 13px") + (n ? 0 : beside);
  const tagged = reads.map(([, label]) => Math.ceil(width(label, "12px")) + 12), top = reads.length && reads.length * ROW + 9;
  const w = Math.ceil(Math.max(chip + 2 * MARGIN + Math.max(...texts.map(across)), ...tagged.map((wide) => wide + TAG)));
  const tag = ([word, wide, css], n) => `<g class="mg-kept${css}" transform="translate(${w - (n ? wide : beside)} 4)"><rect width="${wide - 4}" height="15" rx="7"/><text x="20" y="11">${word}</text></g>`;
  const markup = ({ x, y }) => `<g class="mg-box mg-${group ? "group" : item.kind}" transform="translate(${r(x)} ${r(y)})" data-item="${i}" tabindex="-1" role="button" ${QUIET} aria-label="${escaped(described(item))}"${group ? ' aria-expanded="false"' : ""}>` +
    `<title>${escaped(described(item))}</title>` +
    (group ? `<rect class="mg-frame" x="4" y="4" width="${w}" height="${h}" rx="8"/>` : "") +
    `<rect class="mg-frame" width="${w}" height="${h}" rx="${item.kind === "leaf" || item.kind === "constant" ? 0 : 8}"/>` +
    (group ? `<g class="mg-toggle"><rect class="mg-chip" x="1" y="1" width="${chip}" height="${h - 2}" rx="7"/><text class="mg-sign" x="${chip / 2}" y="${h / 2 + 6}">+</text></g>` : "") +
    texts.map(([css, text], n) => `<text class="${css}" x="${chip + MARGIN}" y="${ROW * (n + 1)}">${escaped(text)}</text>`).join("") + tags.map(tag).join("") +
    reads.map(([of, label, kind], n) => `<g class="mg-tag mg-${kind}" data-tag="${of}" transform="translate(${TAG} ${n * ROW - top})"><path d="M0,7.5h-5"/><rect width="${tagged[n]}" height="15" rx="${kind === "leaf" ? 0 : 7}"/><text x="6" y="11.5">${escaped(label)}</text></g>`).join("") +
    (top && `<path class="mg-bus" d="M${TAG - 5},${8 - top}V-6"/><path class="mg-tip" d="M${TAG - 5},0l-3.5,-8h7z"/>`) + "</g>";
  return { size: [w, h + top], top, markup };
}
function textsOf(item, name, dense) { // [class, words] of each line
  const value = known(item), called = isGroup(item) ? name : [item.sign, name].filter(Boolean).join(" → ");
  const both = [item.spec, value].filter(Boolean).join(" · "), type = isGroup(item) ? item.spec.replace(/^.* · |, .*$/, "") : item.spec;
  const numbers = (dense || both.length > 34) && type ? type : both;
  return [...inTwo(called).map((part) => [part === item.sign && !part[2] ? "mg-name mg-mark" : "mg-name", part]), ["mg-dim", numbers]].filter(([, text]) => text).map(([css, text]) => [css, short(text)]);
}
const inTwo = (name) => // two lines of a long name
  (name.length > LONGEST && name.match(`^(.{${Math.floor(name.length * 0.4)},}?) (.+)`)?.slice(1)) || [name];

const heading = (item, name) => `${name.replace(/:$/, "")}: ${item.spec}`;

// An open group: a frame around its contents.
function frame(item, i, name, { x, y, w, h }) {
  return `<g class="mg-open" transform="translate(${r(x)} ${r(y)})" data-item="${i}" tabindex="-1" role="button" ${QUIET} aria-expanded="true" aria-label="${escaped(`${title(item)}, ${item.spec}, open`)}">` +
    `<rect class="mg-frame" width="${r(w)}" height="${r(h)}" rx="10"/><g class="mg-toggle"><rect class="mg-chip" x="3" y="3" width="24" height="24" rx="7"/><text class="mg-sign" x="15" y="21">−</text></g>` +
    `<text class="mg-name" x="33" y="20">${escaped(heading(item, name))}</text></g>`;
}
