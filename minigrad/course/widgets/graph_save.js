// Saves the open part of a graph as a file: SVG with its styles inlined, or a PNG of it.

const EDGE = 16, MOST_PIXELS = 8192; // margin, and largest side of a PNG
const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor", "paint-order"];

function standalone({ world, width, height, label }) {
  world.closest(".mg-widget").classList.remove("mg-begins");
  const copy = world.cloneNode(true), shown = world.querySelectorAll("*"), [w, h] = [width, height].map((side) => r(side + 2 * EDGE));
  copy.querySelectorAll("*").forEach((part, i) => {
    const look = getComputedStyle(shown[i]);
    part.setAttribute("style", LOOKS.map((name) => `${name}:${look.getPropertyValue(name)}`).join(";"));
  });
  copy.setAttribute("transform", `translate(${EDGE} ${EDGE})`);
  const paper = getComputedStyle(world.closest(".mg-widget")).backgroundColor;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}"><title>${escaped(label)}</title>` +
    `<rect width="100%" height="100%" fill="${paper}"/>${new XMLSerializer().serializeToString(copy)}</svg>`;
}

function offer(kind, blob, tell) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `graph.${kind}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  tell(`What is open is saved as graph.${kind}.`);
}

const saveSvg = (graph) => offer("svg", new Blob([standalone(graph)], { type: "image/svg+xml" }), graph.tell);

function savePng(graph) {
  const image = new Image();
  image.onload = () => {
    const scale = Math.min(2, MOST_PIXELS / Math.max(image.width, image.height));
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width * scale, height: image.height * scale });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => (blob ? offer("png", blob, graph.tell) : graph.tell("Too large for this browser: save it as SVG.")));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(graph))}`;
}
