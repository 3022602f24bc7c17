"use strict";
// The page is complete without this script: it sorts tables, unpacks the records and copies a table.

function sortKey(entry) {
  if (entry.textContent === "–") return null;
  return "value" in entry.dataset ? Number(entry.dataset.value) : entry.textContent;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

// Rows of a group share a tbody: they move together, sorted by the first.
function sortTable(table, column, direction) {
  const groups = [...table.tBodies].map((body) => ({ body, key: sortKey(body.rows[0].cells[column]) }));
  const empty = groups.filter(({ key }) => key === null);
  const full = groups.filter(({ key }) => key !== null).sort((a, b) => direction * compare(a.key, b.key));
  table.append(...[...full, ...empty].map(({ body }) => body));
}

function newButton(...content) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...content);
  return button;
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = newButton(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.ariaSort === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.ariaSort = order;
      sortTable(table, column, order === "ascending" ? 1 : -1);
    });
  });
}

function contentOf(link) {
  const [, base64] = link.href.split(",");
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function unpackOnClick(link) {
  link.addEventListener("click", async (event) => {
    event.preventDefault();
    const unpacked = new Blob([contentOf(link)]).stream().pipeThrough(new DecompressionStream("gzip"));
    const plain = document.createElement("a");
    plain.href = URL.createObjectURL(await new Response(unpacked).blob());
    plain.download = link.dataset.plain;
    plain.click();
    setTimeout(() => URL.revokeObjectURL(plain.href), 60000);
  });
}

function offerCopy(link) {
  const button = newButton("Copy as Markdown");
  button.addEventListener("click", async () => {
    const text = new TextDecoder().decode(contentOf(link));
    const copied = navigator.clipboard.writeText(text);
    button.textContent = await copied.then(() => "Copied", () => "The browser refused");
  });
  link.after(" ", button);
}

document.querySelectorAll("table").forEach(makeSortable);
if (window.DecompressionStream) document.querySelectorAll("a[data-plain]").forEach(unpackOnClick);
if (navigator.clipboard) document.querySelectorAll("a[href^='data:text/markdown']").forEach(offerCopy);
