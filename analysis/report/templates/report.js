// Only enhances: everything is on the page without it.
"use strict";

// Tables are sorted by a click on a column's head.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row.cells[column]), row]);
      rows.sort(([a], [b]) => compare(a, b) * (descending ? -1 : 1));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}

function valueOf(cell) {
  const text = cell.textContent.trim();
  const found = text.replaceAll(",", "").replaceAll("\u2212", "-").match(/^[+-]?[\d.]+/);
  const unit = /^[\d.,]+ (ms|s|min|h)\b/.exec(text);
  const factor = unit ? { ms: 0.001, s: 1, min: 60, h: 3600 }[unit[1]] : 1;
  return found ? Number(found[0]) * factor : text;
}

function compare(a, b) {
  if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
  return typeof a === "number" ? -1 : 1;
}

// Tables and pictures that say the same by another metric, scenario or cost are chosen from a list.
for (const first of document.querySelectorAll("div.first")) {
  const options = [...first.parentElement.querySelectorAll(":scope > details.option")];
  if (!options.length) continue;
  const label = document.createElement("label");
  label.className = "switch";
  const select = document.createElement("select");
  for (const name of [first.dataset.name, ...options.map((option) => option.querySelector("summary").textContent)]) {
    select.append(new Option(name));
  }
  label.append(options[0].dataset.of, select);
  first.before(label);
  const choose = () => {
    first.hidden = select.selectedIndex > 0;
    options.forEach((option, place) => {
      option.hidden = place + 1 !== select.selectedIndex;
      option.open = !option.hidden;
      option.querySelector("summary").hidden = true;
    });
  };
  select.addEventListener("change", choose);
  choose();
}

// Samples are filtered, searched and put in another order.
const filters = document.querySelector("form.filters");
if (filters) {
  const list = document.querySelector(".samples");
  const selected = [...list.children];
  const orders = {
    low: (a, b) => number(a.dataset.score) - number(b.dataset.score),
    apart: (a, b) => number(b.dataset.apart) - number(a.dataset.apart),
  };
  const number = (text) => (text === "" ? Infinity : Number(text));
  const update = () => {
    const { class: name, order, words } = filters.elements;
    const wanted = words.value.trim().toLowerCase();
    const fits = (item) =>
      (!name.value || item.dataset.class === name.value) &&
      item.querySelector(".question").textContent.toLowerCase().includes(wanted);
    const shown = selected.filter(fits);
    if (order.value) shown.sort(orders[order.value]);
    list.replaceChildren(...shown);
    filters.querySelector("output").value = `${shown.length} of ${selected.length} shown`;
  };
  filters.hidden = false;
  filters.addEventListener("input", update);
  filters.addEventListener("submit", (event) => event.preventDefault());
}
