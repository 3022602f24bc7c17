"use strict";
// Everything on the page is there without this script; it only lets tables be sorted and text be copied.

function sortKey(line, column) {
  const entry = line.cells[column];
  if (!entry || entry.dataset.nothing !== undefined) return null;
  return entry.dataset.value === undefined ? entry.textContent.trim() : Number(entry.dataset.value);
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

// Lines that belong together are one tbody; they move as one and sort by their first line.
function sortTable(table, column, descending) {
  const groups = [...table.tBodies].map((body, at) => ({ body, at, key: sortKey(body.rows[0], column) }));
  groups.sort((one, other) => {
    if ((one.key === null) !== (other.key === null)) return one.key === null ? 1 : -1; // nothing to tell comes last
    const order = one.key === null ? 0 : compare(one.key, other.key);
    return (descending ? -order : order) || one.at - other.at;
  });
  for (const { body } of groups) table.insertBefore(body, table.tFoot);
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sortTable(table, column, descending);
    });
  });
}

function bytesOf(address) {
  return Uint8Array.from(atob(address.slice(address.indexOf(",") + 1)), (letter) => letter.charCodeAt(0));
}

// The records are compressed inside the page; here they leave it as they are.
function unpackOnClick(link) {
  link.addEventListener("click", async (event) => {
    if (typeof DecompressionStream === "undefined") return; // then the compressed file is what one gets
    event.preventDefault();
    const unpacked = new Blob([bytesOf(link.href)]).stream().pipeThrough(new DecompressionStream("gzip"));
    const address = URL.createObjectURL(await new Response(unpacked).blob());
    const plain = document.createElement("a");
    plain.href = address;
    plain.download = link.dataset.plain;
    plain.click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  });
}

function offerCopy(place) {
  if (!navigator.clipboard) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy as Markdown";
  button.addEventListener("click", async () => {
    const link = document.getElementById(place.dataset.copy);
    const text = new TextDecoder().decode(bytesOf(link.href));
    button.textContent = await navigator.clipboard.writeText(text).then(() => "Copied", () => "The browser refused; download table.md");
  });
  place.append(button);
}

for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
for (const link of document.querySelectorAll("a[data-plain]")) unpackOnClick(link);
for (const place of document.querySelectorAll("[data-copy]")) offerCopy(place);
