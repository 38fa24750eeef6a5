"use strict";
// Texts come from anybody: they are put into the page as text, and never as anything else.
const data = JSON.parse(document.getElementById("data").textContent);
const map = document.querySelector(".map");
const table = document.getElementById("cells");
const panel = document.getElementById("evidence");
const form = document.querySelector(".filter");
const rows = [...table.tBodies[0].rows];
let current = table.querySelector("button.cell");

function put(selector, text) {
  const element = panel.querySelector(selector);
  element.textContent = text;
  element.hidden = !text;
  return element;
}

function show(cell) {
  const [question, name, importance, description, turned, now, before, numbers, where, words, why] =
    data.nuggets[cell.dataset.n];
  const [qid, asked] = data.questions[question];
  put(".about", [`${qid}/${name}`, importance, turned].filter(Boolean).join(" · "));
  put("h3", description);
  put(".question", asked);
  put(".verdict", now + (numbers ? ` (${numbers})` : ""));
  put(".before", before ? `before: ${before}` : "");
  const quote = put("blockquote", words.length ? "" : "No response has a telling word of it.");
  quote.hidden = false;
  words.forEach((text, i) => {
    const piece = document.createElement(i % 2 ? "mark" : "span");
    piece.textContent = text;
    quote.append(piece);
  });
  put(".where", where);
  const list = put(".why", why.join(""));
  list.replaceChildren(
    ...why.map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    }),
  );
  for (const other of table.querySelectorAll("[aria-pressed]")) other.removeAttribute("aria-pressed");
  cell.setAttribute("aria-pressed", "true");
  panel.hidden = false;
  map.classList.add("open");
}

function close() {
  panel.hidden = true;
  map.classList.remove("open");
  for (const other of table.querySelectorAll("[aria-pressed]")) other.removeAttribute("aria-pressed");
}

// One cell can be reached by Tab; arrow keys go from there.
function reach(cell) {
  if (!cell) return;
  if (current) current.tabIndex = -1;
  current = cell;
  current.tabIndex = 0;
}

function go(cell) {
  if (!cell) return;
  reach(cell);
  cell.focus();
  if (!panel.hidden) show(cell);
}

function cells(row) {
  return [...row.querySelectorAll("button.cell")];
}

function beside(cell, key) {
  const row = cell.closest("tr");
  const own = cells(row);
  const place = own.indexOf(cell);
  if (key === "Home") return own[0];
  if (key === "End") return own[own.length - 1];
  const step = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    if (own[place + step]) return own[place + step];
  }
  let next = row;
  do next = step < 0 ? next.previousElementSibling : next.nextElementSibling;
  while (next && (next.hidden || !cells(next).length));
  if (!next) return null;
  const others = cells(next);
  if (key === "ArrowLeft") return others[others.length - 1];
  if (key === "ArrowRight") return others[0];
  return others[Math.min(place, others.length - 1)];
}

table.addEventListener("click", (event) => {
  const cell = event.target.closest("button.cell");
  if (!cell) return;
  reach(cell);
  show(cell);
});

table.addEventListener("keydown", (event) => {
  const cell = event.target.closest("button.cell");
  if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
  if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
  event.preventDefault();
  go(beside(cell, event.key));
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || panel.hidden) return;
  close();
  if (current) current.focus();
});

panel.querySelector(".close").addEventListener("click", () => {
  close();
  if (current) current.focus();
});

const wanted = document.getElementById("wanted");
const changed = document.getElementById("changed");

function sift() {
  const words = wanted.value.toLowerCase();
  let shown = 0;
  rows.forEach((row, i) => {
    const said = data.questions[i].join(" ").toLowerCase();
    row.hidden = !said.includes(words) || Boolean(changed && changed.checked && !row.classList.contains("moved"));
    shown += row.hidden ? 0 : 1;
  });
  document.getElementById("count").textContent =
    shown === rows.length ? "" : `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} questions`;
  if (!current || current.closest("tr").hidden) reach(rows.filter((row) => !row.hidden).flatMap(cells)[0]);
}

wanted.addEventListener("input", sift);
if (changed) changed.addEventListener("change", sift);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
reach(current);

// On paper nothing can be opened: tables are printed; changes that were folded away stay so.
const folded = () => [...document.querySelectorAll("#trend details, #guesses details")];
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = folded().filter((one) => !one.open);
  for (const one of opened) one.open = true;
});
window.addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
});
