// Which cells make which page, by the metadata that all of Jupyter uses: `slideshow.slide_type`.
//
//   slide, subslide    begins a page
//   fragment           comes with the next press, on the same page
//   skip               is for readers, and on no page
//   notes              is for whoever speaks; so is the text `slideshow.notes` of any cell
//   none               goes with what is above it
//
// What is below a question, Predict(…), comes with the next press too: no answer is on the screen before it.
// In a notebook without such metadata each heading of the first and second level begins a page.

const BEGINS = new Set(["slide", "subslide"]);
const ASKS = /^Predict\(/m;
const HEADING = /^#{1,2} +(.+)$/m;

// cells    [{ kind, source, slideshow }]
// returns  [{ steps: [[index of a cell]], notes: [text], title }]
export function deck(cells) {
  const marked = cells.some(({ slideshow }) => BEGINS.has(slideshow?.slide_type));
  const begins = ({ kind, source, slideshow }) =>
    marked ? BEGINS.has(slideshow?.slide_type) : kind === "markdown" && HEADING.test(source);
  const pages = [];
  let asked = false;
  cells.forEach((cell, index) => {
    const type = cell.slideshow?.slide_type;
    if (type === "skip") return;
    if (type === "notes") return void pages.at(-1)?.notes.push(cell.source);
    if (begins(cell) || !pages.length) pages.push({ steps: [[]], notes: [], title: "" });
    const page = pages.at(-1);
    if ((type === "fragment" || asked) && page.steps.at(-1).length) page.steps.push([]);
    asked = cell.kind === "code" && ASKS.test(cell.source);
    page.steps.at(-1).push(index);
    if (cell.slideshow?.notes) page.notes.push(cell.slideshow.notes);
    page.title ||= (cell.kind === "markdown" && /^#{1,6} +(.+)$/m.exec(cell.source)?.[1]) || "";
  });
  return pages;
}
