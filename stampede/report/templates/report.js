"use strict";
// Everything on the page is there without this script; it only lets tables be sorted, text be copied, and one's
// own numbers be put in.

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

// The same formulas as stampede/report/sections/calculator.py; a tariff is [write, read, GB written, GB read, GB-month] in USD.
const GB = 2 ** 30;
const MOST = 1e15;
const RULES = {
  objects: (value) => Number.isInteger(value) && value >= 1,
  size: (value) => value > 0,
  reads: (value) => Number.isInteger(value) && value >= 0,
  months: (value) => value > 0,
};

function ownBill([write, read, writeGb, readGb, gbMonth], own) {
  const gb = own.size / GB;
  const eachRead = read + gb * readGb;
  const parts = [own.objects * (write + gb * writeGb), own.reads * own.months * eachRead, own.objects * gb * gbMonth * own.months];
  return { eachRead, parts, fixed: parts[0] + parts[2], total: parts[0] + parts[1] + parts[2] };
}

function dollars(usd) {
  if (usd >= 1 || usd === 0) return usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return usd >= 0.0001 ? usd.toFixed(4) : "under 0.0001";
}

function ownAnswer([[one, ours], [other, theirs]], months) {
  const least = theirs.total < ours.total ? other : one;
  const says = ours.total === theirs.total ? "Both cost the same here" : `${least} costs less here`;
  const perRead = (ours.eachRead - theirs.eachRead) * months;
  const reads = perRead ? (theirs.fixed - ours.fixed) / perRead : 0;
  if (!(reads > 0)) return `${says}, and at any number of reads.`;
  const many = theirs.eachRead < ours.eachRead ? other : one;
  return `${says}; from about ${Number(reads.toPrecision(3)).toLocaleString("en-US", { maximumSignificantDigits: 4 })} reads a month, ${many} costs less.`;
}

// The numbers that were put in, by name, the size in bytes; null, and a hint, where one is none.
function ownNumbers(form) {
  const own = {};
  let good = true;
  for (const [name, holds] of Object.entries(RULES)) {
    const input = form.elements[name];
    const text = input.value.replace(/[\s_]/g, "");
    // A comma between thousands is left out; any other might be a decimal one, and is none here.
    const value = text === "" ? NaN : Number(/^\d{1,3}(,\d{3})+(\.\d*)?$/.test(text) ? text.replace(/,/g, "") : text);
    const fits = value <= MOST && holds(value);
    const hint = document.getElementById(`hint-${name}`);
    const rule = value > MOST ? `at most ${MOST.toLocaleString("en-US")}` : hint.dataset.rule;
    const says = fits ? "" : `Must be ${rule}.`;
    if (hint.textContent !== says) hint.textContent = says;
    input.setAttribute("aria-invalid", String(!fits));
    own[name] = value;
    good = good && fits;
  }
  own.size *= Number(form.elements.unit.value);
  return good ? own : null;
}

function reckon(form) {
  const own = ownNumbers(form);
  const bills = Object.entries(JSON.parse(form.dataset.tariffs)).map(([name, tariff]) => [name, own && ownBill(tariff, own)]);
  const rows = document.getElementById("bill-of-own").tBodies[0].rows;
  bills.forEach(([, bill], at) => {
    const amounts = bill ? [...bill.parts, bill.total].map(dollars) : Array(4).fill("–");
    amounts.forEach((text, column) => { rows[at].cells[column + 1].textContent = text; });
  });
  document.getElementById("answer-of-own").textContent = own ? ownAnswer(bills, own.months) : "";
}

for (const form of document.querySelectorAll("form.calculator")) {
  form.hidden = false;
  document.querySelector("[data-without-script]").hidden = true;
  form.addEventListener("input", () => reckon(form));
  form.addEventListener("submit", (event) => event.preventDefault());
  reckon(form); // a browser may have kept other numbers
}
