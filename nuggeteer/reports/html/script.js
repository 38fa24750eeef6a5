"use strict";
// Texts come from anybody: they are put into the page as text, and never as anything else.
const data = JSON.parse(document.getElementById("data").textContent);
const table = document.getElementById("cells");
const panel = document.getElementById("evidence");
const form = document.querySelector(".filter");
const wanted = document.getElementById("wanted");
const changed = document.getElementById("changed");
const every = document.getElementById("every");
const rows = [...table.tBodies[0].rows];
const FEW = window.innerWidth < 720 ? 10 : 20; // rows at first
let most = FEW;
let current = table.querySelector("button.cell");
let opener = null; // what the focus goes back to

// A response that both answers have stands in the page once; the old answer has its number.
for (const [, , now, before] of data.questions) {
  if (Array.isArray(before)) before.forEach((one, i) => (before[i] = typeof one[0] === "number" ? now[one[0]] : one));
}

function make(tag, text = "", className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

// Permalinks.

const placeOfQuestion = (q) => `#question/${encodeURIComponent(data.questions[q][0])}`;
const placeOfNugget = (n) =>
  `#nugget/${encodeURIComponent(data.questions[data.nuggets[n][0]][0])}/${encodeURIComponent(data.nuggets[n][1])}`;
const places = new Map();
data.questions.forEach((question, q) => places.set(JSON.stringify(["question", question[0]]), { q }));
data.nuggets.forEach(([q, name], n) => places.set(JSON.stringify(["nugget", data.questions[q][0], name]), { q, n }));

function placeOf(hash) {
  try {
    return places.get(JSON.stringify(hash.slice(1).split("/").map(decodeURIComponent)));
  } catch {
    return undefined;
  }
}

// Show what an address names. `far` is whether its row may be out of sight.
function follow(hash, far) {
  const place = placeOf(hash);
  if (!place) {
    const element = hash.length > 1 && document.getElementById(hash.slice(1));
    if (!element) return false;
    reveal(element);
    if (far) element.scrollIntoView();
    return false;
  }
  const row = rows.find((one) => Number(one.dataset.q) === place.q);
  if (row.hidden) {
    most = Infinity;
    wanted.value = "";
    if (changed) changed.checked = false;
    sift();
  }
  const change = document.getElementById(hash.slice(1)); // the row, or what changed, which is above it
  if (change && change.tagName === "DETAILS") reveal(change);
  if (far) (change || row).scrollIntoView({ block: "center", behavior: "instant" });
  if (place.n === undefined) showQuestion(place.q);
  else showNugget(place.n);
  return true;
}

function reveal(element) {
  for (let up = element; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const hash = link.getAttribute("href");
  if (!placeOf(hash)) return void follow(hash, false); // the browser goes there by itself
  event.preventDefault();
  history.pushState(null, "", hash);
  if (!panel.contains(link)) opener = link;
  follow(hash, false);
  panel.focus();
});

window.addEventListener("popstate", () => {
  if (!follow(location.hash, true)) close();
});

// The panel.

function fill(about, heading, question, links, sides, pressed) {
  panel.querySelector(".about").textContent = about;
  panel.querySelector("h3").textContent = heading;
  const asked = panel.querySelector(".question");
  asked.textContent = question;
  asked.hidden = !question;
  panel.querySelector(".links").replaceChildren(
    ...links.map(([text, href]) => {
      const link = make("a", text);
      link.href = href;
      return link;
    }),
  );
  panel.querySelector(".sides").replaceChildren(...sides);
  for (const other of table.querySelectorAll("[aria-pressed]")) other.removeAttribute("aria-pressed");
  if (pressed) pressed.setAttribute("aria-pressed", "true");
  panel.hidden = false;
  panel.scrollTop = 0;
}

function showNugget(n) {
  const [q, name, importance, description, turned, ...sides] = data.nuggets[n];
  const [qid, asked, ...answers] = data.questions[q];
  const about = [`${qid}/${name}`, data.words[importance], data.words[turned]].filter(Boolean).join(" · ");
  const links = [["Link to this nugget", placeOfNugget(n)], ["The question", placeOfQuestion(q)]];
  const parts = sides.map((side, i) => nuggetSide(side, answers, i));
  const cell = table.querySelector(`[data-n="${n}"]`);
  fill(about, description, asked, links, parts, cell);
  reach(cell);
}

function nuggetSide([said, place, score, threshold, why = []], answers, i) {
  const side = make("section", "", i ? "before" : "now");
  const status = data.words[said];
  side.append(make("h4", `${sideName(answers, i)}: ${status}`));
  const answer = answers[i] === "same" ? answers[0] : answers[i];
  if (place) {
    const [text, docid] = records(answer)[place[0]];
    const quote = make("blockquote");
    quote.append(...near(text, place));
    const numbers = [hundredths("match", score), hundredths("threshold", threshold)].filter(Boolean).join(", ");
    const name = `response ${place[4]}${docid ? `, ${docid}` : ""}`;
    side.append(quote, make("p", [name, numbers].filter(Boolean).join(" · "), "where"));
  } else {
    side.append(make("p", records(answer).length ? nothing(status) : "No answer.", "where"));
  }
  if (why.length) {
    const list = make("ul", "", "why");
    list.setAttribute("aria-label", "Why the nugget was guessed");
    list.append(...why.map((line) => make("li", typeof line === "number" ? data.lines[line] : line)));
    side.append(list);
  }
  if (answers[i] !== "same" || !place) side.append(whole(answer, place, false));
  return side;
}

const hundredths = (name, value) => (typeof value === "number" ? `${name} ${value.toFixed(2)}` : "");

const nothing = (status) => (status.startsWith("found") ? "No passage to show." : "No response has a telling word of it.");

function showQuestion(q) {
  const [qid, asked, ...answers] = data.questions[q];
  const list = make("ul", "", "nuggets");
  data.nuggets.forEach(([own, name, importance, description, turned, now], n) => {
    if (own !== q) return;
    const item = make("li");
    const link = make("a", description, data.words[importance]);
    link.href = placeOfNugget(n);
    const about = [name, ...[importance, now[0], turned].map((said) => data.words[said])].filter(Boolean).join(" · ");
    item.append(link, make("span", ` ${about}`, "where"));
    list.append(item);
  });
  const sides = answers.map((answer, i) => {
    const side = make("section", "", i ? "before" : "now");
    side.append(make("h4", sideName(answers, i)));
    if (answer !== "same") side.append(whole(answer, null, i === 0));
    return side;
  });
  fill(qid, asked || qid, "", [["Link to this question", placeOfQuestion(q)]], [list, ...sides], null);
}

function sideName(answers, i) {
  if (answers.length < 2) return "Answer";
  if (i) return answers[1] === "same" ? "Old answer, the same" : "Old answer";
  return "New answer";
}

// Of an answer that is left out, the page has passages only; its length stands before them.
const records = (answer) => (typeof answer[0] === "number" ? answer.slice(1) : answer);

function whole(answer, place, open) {
  const own = records(answer);
  const left = typeof answer[0] === "number" ? answer[0] : 0;
  const details = make("details", "", "whole");
  const characters = left || own.reduce((sum, [text]) => sum + text.length, 0);
  const title = left ? "Passages of the answer, which is too long for this page" : "Whole answer";
  details.append(make("summary", own.length ? `${title} (${characters.toLocaleString("en")} characters)` : "No answer"));
  details.open = open;
  own.forEach(([text, docid], i) => {
    const record = make("p", "", "record");
    record.append(...(place && place[0] === i ? marked(text, place[3], 0, text.length) : [text]));
    if (docid) record.append(" ", make("span", docid, "docid"));
    details.append(record);
  });
  return details;
}

// The part of a record that speaks for a nugget, with its marks.
function near(text, [, start, end, marks]) {
  let [from, to] = [start, end];
  if (to - from > 480) {
    from = Math.max(start, (marks.length ? marks[0] : start) - 160);
    if (from > start) from = text.indexOf(" ", from) + 1 || from;
    to = Math.min(end, from + 480);
    if (to < end) to = Math.max(text.lastIndexOf(" ", to), from + 240);
  }
  return [from > 0 ? "…" : "", ...marked(text, marks, from, to), to < text.length ? "…" : ""];
}

function marked(text, marks, from, to) {
  const pieces = [];
  let at = from;
  for (let i = 0; i < marks.length; i += 2) {
    const [start, end] = [Math.max(marks[i], at), Math.min(marks[i + 1], to)];
    if (start >= end) continue;
    pieces.push(text.slice(at, start), make("mark", text.slice(start, end)));
    at = end;
  }
  return [...pieces, text.slice(at, to)];
}

function close() {
  if (panel.hidden) return;
  const back = panel.contains(document.activeElement);
  panel.hidden = true;
  for (const other of table.querySelectorAll("[aria-pressed]")) other.removeAttribute("aria-pressed");
  if (location.hash) history.replaceState(null, "", "#");
  if (back && (opener || current)) (opener || current).focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
});
panel.querySelector(".close").addEventListener("click", close);

// The cells. One of them can be reached by Tab; arrow keys go from there.

function reach(cell) {
  if (!cell) return;
  if (current) current.tabIndex = -1;
  current = cell;
  current.tabIndex = 0;
}

function press(cell) {
  opener = cell;
  showNugget(Number(cell.dataset.n));
  history.replaceState(null, "", placeOfNugget(Number(cell.dataset.n)));
}

const cells = (row) => [...row.querySelectorAll("button.cell")];

function beside(cell, key) {
  const row = cell.closest("tr");
  const own = cells(row);
  const place = own.indexOf(cell);
  if (key === "Home") return own[0];
  if (key === "End") return own[own.length - 1];
  const step = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  if ((key === "ArrowLeft" || key === "ArrowRight") && own[place + step]) return own[place + step];
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
  if (cell) press(cell);
});

table.addEventListener("keydown", (event) => {
  const cell = event.target.closest("button.cell");
  if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
  if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
  event.preventDefault();
  const next = beside(cell, event.key);
  if (!next) return;
  reach(next);
  next.focus();
  if (!panel.hidden) press(next);
});

// The rows: sorted by a column, those that are sought, and only the first of them until more are asked for.

const heads = [...table.tHead.rows[0].cells].filter((head) => head.dataset.by !== undefined);

function keyOf(row, by) {
  if (by === "question") return row.cells[0].textContent.toLowerCase();
  const value = row.querySelectorAll("td.number")[Number(by)].dataset.v;
  return value === undefined ? undefined : Number(value);
}

function order(head) {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const keys = new Map(rows.map((row) => [row, keyOf(row, head.dataset.by)]));
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  rows.sort((a, b) => {
    const [one, other] = [keys.get(a), keys.get(b)];
    if (one === undefined || other === undefined) return (one === undefined) - (other === undefined);
    return (down ? -1 : 1) * compare(one, other);
  });
  table.tBodies[0].append(...rows);
  sift();
}

for (const head of heads) {
  const button = make("button", head.textContent, "sort");
  button.type = "button";
  head.replaceChildren(button);
  button.addEventListener("click", () => order(head));
}

function sift() {
  const words = wanted.value.toLowerCase();
  let found = 0;
  for (const row of rows) {
    const said = data.questions[row.dataset.q].slice(0, 2).join(" ").toLowerCase();
    const out = !said.includes(words) || Boolean(changed && changed.checked && !row.classList.contains("moved"));
    row.hidden = out || found >= most;
    found += out ? 0 : 1;
  }
  document.getElementById("count").textContent =
    found === rows.length ? "" : `${found.toLocaleString("en")} of ${rows.length.toLocaleString("en")} questions`;
  every.hidden = found <= most;
  every.textContent = `Show all ${found.toLocaleString("en")} questions`;
  if (!current || current.closest("tr").hidden) reach(rows.filter((row) => !row.hidden).flatMap(cells)[0]);
}

wanted.addEventListener("input", sift);
if (changed) changed.addEventListener("change", sift);
every.addEventListener("click", () => {
  const next = rows[most];
  most = Infinity;
  sift();
  const cell = next && next.querySelector("a");
  if (cell) cell.focus();
});
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
for (const cell of table.querySelectorAll("button.cell")) cell.tabIndex = -1;
sift();
reach(current);
if (location.hash) follow(location.hash, true);

// On paper nothing can be opened: what is folded is printed, but for the lists of more, and so are all rows.
const folded = () => [...document.querySelectorAll("details")].filter((one) => !one.matches(".rest, .whole"));
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = folded().filter((one) => !one.open);
  for (const one of opened) one.open = true;
  for (const row of rows) row.hidden = false;
});
window.addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
  sift();
});
