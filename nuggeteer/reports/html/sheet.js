"use strict";
// Texts come from anybody: they are put into the page as text, and never as anything else.
const data = JSON.parse(document.getElementById("data").textContent);
const place = `nuggeteer-sheet-${data.page}`;
const get = (id) => document.getElementById(id);
const many = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// What was done. Everything else follows from it. A step is one verdict of the assessor; one that was taken back after
// it had been handed back stays, with the time at which it was (`gone`), so that the next file withdraws it.
let work = { steps: [], skipped: [], now: null, proposals: [], handed: "", last: "", keys: true };
let kept = true; // whether this browser keeps the work
let reason = "", span = null, marking = null, pieces = [], shownAnswer = -1;

function isWork(found) {
  const lists = [found.steps, found.skipped, found.proposals];
  const has = (step, i) => Boolean(answerOf(data.asked[step.asked]).responses[i]);
  const fits = (step) => data.asked[step.asked] && ["yes", "no", "opposite", "none", "whole"].includes(step.kind)
    && has(step, step.response) && step.on.every((i) => has(step, i)) && typeof step.at === "string";
  return lists.every(Array.isArray) && found.steps.every(fits) && found.skipped.every((i) => data.asked[i]);
}

function load() {
  try {
    const text = localStorage.getItem(place);
    if (text === null) return;
    let found = null;
    try { found = { ...work, ...JSON.parse(text) }; if (!isWork(found)) found = null; } catch { found = null; }
    if (found) work = found;
    else {
      localStorage.setItem(`${place}-unreadable`, text);
      warn("What this browser had kept of this page cannot be read. It is set aside, and you begin anew.");
    }
  } catch { kept = false; }
}

function save() {
  try { localStorage.setItem(place, JSON.stringify(work)); kept = true; } catch { kept = false; }
  if (!kept) warn("This browser keeps nothing for this page. Hand back your verdicts before you close it.");
}

function warn(text) {
  get("warning").textContent = text;
  get("warning").hidden = false;
}

let saying = 0;
function say(text) {
  get("said").textContent = text;
  clearTimeout(saying);
  if (!marking) saying = setTimeout(() => { get("said").textContent = ""; }, 6000);
}

function time() {
  // Later than anything before, also where the clock was put back.
  const now = Math.max(Date.now(), work.last ? Date.parse(work.last) + 1 : 0);
  work.last = new Date(now).toISOString();
  return work.last;
}

// Which verdicts stand.

const standing = () => work.steps.filter((step) => !step.gone);
const answerOf = (asked) => data.answers[asked.answer];

function verdicts() {
  // By nugget and text; and the answers that have a nugget as a whole.
  const found = new Map();
  for (const step of standing()) {
    const asked = data.asked[step.asked];
    if (step.kind === "whole") found.set(`${asked.nugget} whole ${asked.answer}`, true);
    for (const response of step.on) found.set(`${asked.nugget} ${answerOf(asked).responses[response].same}`, step.kind === "yes");
  }
  return found;
}

function verdictOn(asked, response, found) {
  const own = found.get(`${asked.nugget} ${answerOf(asked).responses[response].same}`);
  return own === undefined ? asked.known[response] : own;
}

function openOnes(asked, found) {
  return asked.known.map((_, i) => i).filter((i) => verdictOn(asked, i, found) === null);
}

function settled(asked, found) {
  if (asked.response >= 0 && verdictOn(asked, asked.response, found) !== null) return true;
  if (found.get(`${asked.nugget} whole ${asked.answer}`)) return true;
  return asked.known.some((_, i) => verdictOn(asked, i, found)) || !openOnes(asked, found).length;
}

// What is asked.

function goTo(index, response) {
  reason = ""; span = null; marking = null;
  if (index === undefined) { work.now = null; return; }
  const asked = data.asked[index];
  const first = asked.response >= 0 ? asked.response : openOnes(asked, verdicts())[0];
  work.now = { asked: index, response: response ?? first ?? 0 };
}

function goOn() {
  const found = verdicts();
  const open = [...data.asked.keys()].filter((i) => !settled(data.asked[i], found));
  const skipped = work.skipped.filter((i) => open.includes(i));
  goTo(open.find((i) => !work.skipped.includes(i)) ?? skipped[0]);
}

// What the assessor does. Each answers with what is said about it.

function judge(kind) {
  const { asked: index, response } = work.now, asked = data.asked[index], found = verdicts();
  const open = openOnes(asked, found);
  if (settled(asked, found) || (kind !== "whole" && kind !== "none" && !open.includes(response))) {
    return "This is judged already. Skip goes on, Undo takes your last verdict back.";
  }
  // A text that occurs twice in an answer gets one verdict.
  const same = (i) => answerOf(asked).responses[i].same;
  const on = { yes: [response], no: [response], opposite: [response], whole: [], none: open.filter((i) => !open.some((k) => k < i && same(k) === same(i))) };
  const step = { asked: index, kind, response, on: on[kind], at: time() };
  if (reason) step.reason = reason;
  // The browser tells of a selection a moment later, which may be after the key.
  if (kind === "yes" && !span) takeSelection();
  if (kind === "yes" && span) step.span = span;
  work.steps.push(step);
  if (asked.response < 0 && !settled(asked, verdicts())) goTo(index);
  else goOn();
  save();
  const words = { yes: "Yes", no: "No", opposite: "No, it says the opposite", none: `No to ${many(step.on.length, "response")}`, whole: "Yes to the whole answer" };
  return `${words[kind]}${kept ? ", kept" : ""}. Undo takes it back.`;
}

function skip() {
  work.skipped = [...work.skipped.filter((i) => i !== work.now.asked), work.now.asked];
  goOn();
  save();
  return "Skipped; it comes back at the end.";
}

function undo() {
  const step = standing().at(-1);
  if (!step) return "There is no verdict of yours to take back.";
  if (step.at <= work.handed) step.gone = time();
  else work.steps.splice(work.steps.indexOf(step), 1);
  goTo(step.asked, step.response);
  save();
  return `Taken back: ${step.kind === "yes" || step.kind === "whole" ? "yes" : "no"}. It is asked again.`;
}

function turn(by) {
  const next = work.now.response + by;
  if (!answerOf(data.asked[work.now.asked]).responses[next]) return "";
  span = null;
  work.now.response = next;
  save();
  return "";
}

const acts = {
  yes: () => judge("yes"), no: () => judge("no"), opposite: () => judge("opposite"), none: () => judge("none"), whole: () => judge("whole"),
  skip, undo, mark: startMarking, reason: askWhy, propose: askProposal,
};

function act(name) {
  if (!work.now && name !== "undo") return;
  const said = acts[name]();
  draw();
  if (said !== undefined) say(said);
  if (["yes", "no", "opposite", "none", "whole", "skip", "undo"].includes(name)) {
    get(work.now ? "nugget" : "done-head").focus({ preventScroll: true });
  }
}

// What is handed back: lines as in the files of a collection, without the assessor's name.

function lines() {
  const result = [], about = { source: "page", page: data.page };
  for (const step of work.steps) {
    const asked = data.asked[step.asked], answer = answerOf(asked), nugget = data.nuggets[asked.nugget];
    const named = { qid: nugget.qid, nugget: nugget.nugget };
    const texts = step.kind === "whole"
      ? [{ text: answer.whole ?? answer.responses.map((one) => one.text).join("\n"), scope: "answer" }]
      : step.on.map((i) => ({ text: answer.responses[i].text, docid: answer.responses[i].docid ?? undefined, response: i }));
    const positive = step.kind === "yes" || step.kind === "whole";
    for (const { response, ...text } of texts) {
      if (step.gone) result.push({ ...named, text: text.text, scope: text.scope, retracted: true, run: answer.run, at: step.gone, ...about });
      else {
        const drawn = asked.response < 0 || asked.response === response ? asked.recorded : {};
        const said = { verdict: positive, contradicts: step.kind === "opposite" || undefined, at: step.at, reason: step.reason, span: step.span };
        result.push({ ...drawn, ...named, ...text, run: answer.run, ...said, ...about });
      }
    }
  }
  result.push(...work.proposals.map((one) => ({ ...one, ...about })));
  // In ASCII, which survives every mail program.
  const escape = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return result.map((line) => `${JSON.stringify(line).replace(/[\u007f-\uffff]/g, escape)}\n`).join("");
}

function openHand() {
  const count = standing().length, left = data.asked.length - settledCount();
  const proposed = work.proposals.length ? ` and ${many(work.proposals.length, "proposed nugget")}` : "";
  get("hand-words").textContent = `The file holds ${many(count, "verdict")}${proposed}. Send it to whoever sent you this page. `
    + (left ? `Left to judge: ${left}. You can go on later, and the next file will hold everything.` : "Nothing is left to judge.");
  get("hand-said").textContent = "";
  get("lines").value = lines();
  get("hand").showModal();
}

function handed(how) {
  work.handed = time();
  save();
  get("hand-said").textContent = how;
}

get("download").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines()], { type: "application/jsonl" }));
  link.download = `verdicts-${data.run.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60)}-${data.page.slice(0, 6)}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  handed(`Look for ${link.download} among your downloads.`);
});

get("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(lines());
    handed("Copied. Paste it into a mail or a file.");
  } catch {
    get("lines").closest("details").open = true;
    get("lines").select();
    handed("Copy the marked text below yourself: this browser does not let the page do it.");
  }
});

// What is typed.

function askWhy() {
  get("why-text").value = reason;
  get("why").showModal();
}

get("why-form").addEventListener("submit", (event) => {
  event.preventDefault();
  reason = get("why-text").value.trim();
  get("why").close();
  draw();
});

function askProposal() {
  get("proposal-form").reset();
  get("proposal").showModal();
}

get("proposal-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const { asked, response } = work.now, answer = answerOf(data.asked[asked]);
  const text = get("proposal-text").value.trim();
  if (!text) return;
  const from = answer.responses[response];
  const made = { qid: data.nuggets[data.asked[asked].nugget].qid, text, importance: get("proposal-form").elements.importance.value };
  work.proposals.push({ ...made, from: from.text, run: answer.run, docid: from.docid ?? undefined, at: time(), proposed: true });
  save();
  get("proposal").close();
  draw();
  say("Proposed. The owner of the key decides about it.");
});

// Marked words. A span counts characters, not the halves that this language has of some.

function wordsOf(text) {
  if (globalThis.Intl?.Segmenter) {
    const parts = [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)];
    return parts.filter((part) => part.isWordLike).map((part) => [part.index, part.index + part.segment.length]);
  }
  return [...text.matchAll(/[\p{L}\p{N}\p{M}_]+/gu)].map((word) => [word.index, word.index + word[0].length]);
}

const askedText = () => answerOf(data.asked[work.now.asked]).responses[work.now.response].text;
const points = (text, end) => [...text.slice(0, end)].length;
const units = (text, end) => [...text].slice(0, end).join("").length;

function spanOf(words, text) {
  return words.length ? [points(text, words[0][0]), points(text, words.at(-1)[1])] : null;
}

function offsetOf(node, offset) {
  const own = pieces.find((piece) => piece.node === node);
  if (own) return own.start + offset;
  const range = document.createRange();
  range.setStart(node, offset);
  const next = pieces.find((piece) => range.comparePoint(piece.node, 0) >= 0);
  return next ? next.start : askedText().length;
}

function takeSelection() {
  const selection = document.getSelection(), asked = get("asked-text");
  if (!work.now || marking || !asked || !selection.rangeCount) return;
  const range = selection.getRangeAt(0);
  if (range.collapsed || !asked.contains(range.startContainer) || !asked.contains(range.endContainer)) return;
  const text = askedText(), from = offsetOf(range.startContainer, range.startOffset), to = offsetOf(range.endContainer, range.endOffset);
  span = spanOf(wordsOf(text).filter(([start, end]) => end > from && start < to), text);
  drawNotes();
}

document.addEventListener("selectionchange", takeSelection);
document.addEventListener("pointerup", () => setTimeout(() => {
  // The selection becomes a mark, and is then no longer needed.
  const selection = document.getSelection();
  if (span && !selection.isCollapsed && get("asked-text")?.contains(selection.anchorNode)) {
    selection.removeAllRanges();
    drawAnswer();
  }
}));
get("unmark").addEventListener("click", () => { span = null; draw(); get("nugget").focus({ preventScroll: true }); });

function startMarking() {
  const words = wordsOf(askedText());
  if (!words.length) return "This response has no words.";
  marking = { words, first: 0, last: 0, begun: false };
  return chosenWords();
}

function chosenWords() {
  const { words, first, last } = marking, text = askedText();
  const [from, to] = first <= last ? [first, last] : [last, first];
  span = spanOf(words.slice(from, to + 1), text);
  return `${text.slice(words[from][0], words[to][1])} — arrows move, space begins, Enter says yes, Esc stops`;
}

function markByKey(event) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10 };
  if (event.key in steps) {
    marking.last = Math.min(Math.max(marking.last + steps[event.key], 0), marking.words.length - 1);
    if (!marking.begun && !event.shiftKey) marking.first = marking.last;
  } else if (event.key === " ") {
    marking.begun = true;
    marking.first = marking.last;
  } else if (event.key === "Enter") {
    event.preventDefault();
    marking = null;
    act("yes");
    return;
  } else if (event.key === "Escape") {
    marking = span = null;
    draw();
    say("No words are marked.");
    return;
  } else return;
  event.preventDefault();
  const said = chosenWords();
  draw();
  say(said);
}

// What is seen.

// Characters that nobody sees, or that turn the text around them, are written out.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

function put(element, text, marked = null, track = null) {
  element.replaceChildren();
  const add = (parent, node, start) => { parent.append(node); track?.push({ node, start }); };
  const [first, last] = marked ? marked.map((end) => units(text, end)) : [0, 0];
  for (const [from, to] of [[0, first], [first, last], [last, text.length]]) {
    if (from === to) continue;
    let parent = element, done = from;
    if (marked && from === first && to === last) {
      parent = element.appendChild(document.createElement("mark"));
      parent.className = marking ? "choosing" : "";
    }
    for (const hidden of text.slice(from, to).matchAll(HIDDEN)) {
      const at = from + hidden.index, code = document.createElement("span");
      code.className = "code";
      code.textContent = `\\u${hidden[0].charCodeAt(0).toString(16).padStart(4, "0")}`;
      if (at > done) add(parent, document.createTextNode(text.slice(done, at)), done);
      add(parent, code, at);
      done = at + 1;
    }
    if (to > done) add(parent, document.createTextNode(text.slice(done, to)), done);
  }
}

const settledCount = () => { const found = verdicts(); return data.asked.filter((asked) => settled(asked, found)).length; };

function drawAnswer() {
  const { asked: index, response: now } = work.now, asked = data.asked[index], answer = answerOf(asked), found = verdicts();
  const list = get("responses");
  list.replaceChildren();
  pieces = [];
  answer.responses.forEach((one, i) => {
    const item = list.appendChild(document.createElement("li")), head = item.appendChild(document.createElement("p"));
    head.className = "head";
    const add = (text, name) => {
      const part = head.appendChild(document.createElement("span"));
      part.className = name;
      put(part, text);
    };
    const verdict = verdictOn(asked, i, found);
    add(i === now ? `Response ${i + 1} of ${answer.responses.length}: is it in this one?` : `${i + 1}`, "number");
    if (one.docid) add(one.docid, "docid");
    if (verdict !== null) add(verdict ? "judged yes" : "judged no", "verdict");
    if (i !== now && verdict === null) {
      const button = head.appendChild(document.createElement("button"));
      button.type = "button";
      button.className = "judge-this";
      button.textContent = "judge this one";
      button.setAttribute("aria-label", `Judge response ${i + 1} instead`);
      button.addEventListener("click", () => { turn(i - work.now.response); draw(); get("nugget").focus({ preventScroll: true }); });
    }
    const text = item.appendChild(document.createElement("div"));
    text.className = "text";
    text.dir = "auto";
    if (i === now) {
      item.className = "asked-now";
      item.setAttribute("aria-current", "true");
      text.id = "asked-text";
    }
    put(text, one.text || "(empty)", i === now ? span : null, i === now ? pieces : null);
  });
}

function drawNotes() {
  get("span").hidden = !span;
  if (span) put(get("span-words"), [...askedText()].slice(...span).join(""));
  get("reason-line").hidden = !reason;
  put(get("reason-words"), reason);
}

function draw() {
  const done = settledCount(), total = data.asked.length;
  get("count").textContent = `${done} of ${total} judged`;
  get("progress").max = total || 1;
  get("progress").value = done;
  get("open-hand").disabled = !work.steps.length && !work.proposals.length;
  get("open").hidden = !work.now;
  get("done").hidden = Boolean(work.now);
  for (const button of document.querySelectorAll("[data-act=undo]")) button.disabled = !standing().length;
  if (!work.now) {
    get("done-head").textContent = total ? "All judged. Thank you!" : "There is nothing to judge on this page.";
    get("done-words").textContent = total ? "Hand back the file now: until you send it, your verdicts are in this browser only." : "";
    get("done-hand").hidden = !total;
    shownAnswer = -1;
    return;
  }
  const asked = data.asked[work.now.asked], nugget = data.nuggets[asked.nugget], answer = answerOf(asked);
  put(get("question"), [answer.target, answer.question].filter(Boolean).join(": ") || nugget.qid);
  put(get("lead"), asked.response < 0 ? "Is this in the answer? If so, say yes to the response that says it." : "Is this in the marked response?");
  put(get("nugget"), nugget.descriptions[0]);
  put(get("about"), [`${nugget.qid}/${nugget.nugget}`, nugget.importance, ...nugget.tags].join(" · "));
  fill(get("descriptions"), nugget.descriptions.slice(1));
  const more = nugget.more ? [`and ${nugget.more} more`] : [];
  fill(get("examples"), [...nugget.examples, ...more]);
  get("before").hidden = !nugget.examples.length;
  put(get("answer-head"), data.answers.some((other) => other.run !== answer.run) ? `The answer of ${answer.run}` : "The answer");
  drawNotes();
  drawAnswer();
  if (shownAnswer !== asked.answer) scrollTo(0, 0);
  shownAnswer = asked.answer;
  const now = document.querySelector(".asked-now");
  now.scrollIntoView({ block: now.offsetHeight > innerHeight / 2 ? "start" : "nearest" });
}

function fill(list, texts) {
  list.replaceChildren(...texts.map((text) => {
    const item = document.createElement("li");
    item.dir = "auto";
    put(item, text);
    return item;
  }));
  list.hidden = !texts.length;
}

// Keys and buttons.

function openHelp() {
  get("help").showModal();
  get("help-head").focus(); // else the last lines would come first
}

const KEYS = { y: "yes", n: "no", c: "opposite", N: "none", w: "whole", s: "skip", u: "undo", b: "undo", m: "mark", r: "reason", p: "propose" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (marking) { markByKey(event); return; }
  if (event.repeat || !work.keys || event.target.closest("input, textarea, select")) return;
  if (event.key === "?") openHelp();
  else if (event.key in KEYS) act(KEYS[event.key]);
  else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && work.now && !event.shiftKey) {
    turn(event.key === "ArrowLeft" ? -1 : 1);
    draw();
    say(`Response ${work.now.response + 1}`);
  } else return;
  event.preventDefault();
});

for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", () => {
  if (marking && button.dataset.act !== "yes") span = null;
  marking = null;
  act(button.dataset.act);
});
for (const button of document.querySelectorAll("dialog .close")) button.addEventListener("click", () => button.closest("dialog").close());
get("open-hand").addEventListener("click", openHand);
get("done-hand").addEventListener("click", openHand);
get("open-help").addEventListener("click", openHelp);
get("keys").addEventListener("change", () => { work.keys = get("keys").checked; save(); });
get("more").addEventListener("click", () => {
  const shown = get("others").classList.toggle("shown");
  get("more").setAttribute("aria-expanded", String(shown));
});
window.addEventListener("storage", (event) => {
  if (event.key !== place || event.newValue === null) return;
  load();
  goTo(work.now?.asked, work.now?.response);
  draw();
  say("Taken over from another window of this page.");
});
window.addEventListener("beforeunload", (event) => {
  if (!kept && standing().some((step) => step.at > work.handed)) event.preventDefault();
});

load();
get("keys").checked = work.keys;
get("before").open = matchMedia("(min-width: 56rem)").matches;
if (work.now && data.asked[work.now.asked] && !settled(data.asked[work.now.asked], verdicts())) goTo(work.now.asked, work.now.response);
else goOn();
save();
draw();
if (standing().length) say(`Welcome back: ${many(standing().length, "verdict")} of yours ${standing().length === 1 ? "is" : "are"} kept here.`);
