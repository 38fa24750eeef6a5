"use strict";
// Texts come from anybody: they are put into the page as text, and never as anything else.
const data = JSON.parse(document.getElementById("data").textContent);
const place = `nuggeteer-sheet-${data.page}`;
const get = (id) => document.getElementById(id);
const many = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const total = data.cards.reduce((sum, card) => sum + card.nuggets.length, 0);
const KINDS = { yes: "Yes", no: "No", opposite: "Says the opposite" };

// What was said, by card and nugget: { kind, on, span, reason, at }. `on` is the response that was marked. `undo` has
// what each act replaced. What was taken back after it had been handed back is in `gone`, for the next file to withdraw.
let work = { said: {}, gone: [], undo: [], skipped: [], now: null, proposals: [], handed: "", last: "", keys: true };
let kept = true; // whether this browser keeps the work
let reason = "", marked = null, span = null, marking = null, pieces = [], shownCard = -1;

const answerOf = (card) => data.answers[data.cards[card].answer];
const nameOf = (card, i) => `${card} ${i}`;
const openOnes = (card) => data.cards[card].nuggets.map((_, i) => i).filter((i) => !work.said[nameOf(card, i)]);
const secondsLeft = (card, i) => card.seconds * openOnes(i).length / card.nuggets.length;
const minutesLeft = () => Math.ceil(data.cards.reduce((sum, card, i) => sum + secondsLeft(card, i), 0) / 60);
const judged = () => Object.keys(work.said).length;

function isWork(found) {
  const fits = ([name, one]) => {
    const [card, i] = name.split(" ");
    const has = data.cards[card]?.nuggets[i] !== undefined && one.kind in KINDS && typeof one.at === "string";
    return has && (one.on === null || Boolean(answerOf(card).responses[one.on]));
  };
  const lists = [found.gone, found.undo, found.skipped, found.proposals];
  return lists.every(Array.isArray) && Object.entries(found.said).every(fits) && found.gone.every((one) => fits([one.name, one]))
    && found.undo.every((acts) => acts.every(({ name, before }) => !before || fits([name, before])))
    && found.skipped.every((card) => data.cards[card]) && (found.now === null || data.cards[found.now.card]?.nuggets[found.now.i] !== undefined);
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

// What the assessor does. Each act answers with what is said about it.

function lookAt(card, i) {
  reason = ""; marked = span = marking = null;
  work.now = card === undefined ? null : { card, i };
}

function set(name, one) {
  // What was handed back is withdrawn by the next file, whatever takes its place.
  const before = work.said[name] ?? null;
  if (before && before.at <= work.handed) work.gone.push({ ...before, name, gone: time() });
  if (one) work.said[name] = { ...one, at: time() };
  else delete work.said[name];
  return { name, before };
}

function judge(kind, i = work.now.i) {
  const { card } = work.now, single = answerOf(card).responses.length === 1;
  // The browser tells of a selection a moment later, which may be after the key.
  if (kind === "yes" && !span) takeSelection();
  const on = single || kind === "no" ? null : marked;
  const one = { kind, on };
  if (reason) one.reason = reason;
  if (kind === "yes" && span && (single || on !== null)) one.span = span;
  work.undo.push([set(nameOf(card, i), one)]);
  const open = openOnes(card);
  lookAt(card, open.find((other) => other > i) ?? open[0] ?? i);
  save();
  const done = open.length ? "Undo takes it back." : "All decided: Enter for the next answer.";
  return `${KINDS[kind]}${on === null ? "" : `, sentence ${on + 1}`}${kept ? ", kept" : ""}. ${done}`;
}

function others() {
  const { card } = work.now, open = openOnes(card);
  if (!open.length) return "Everything beside this answer is decided already.";
  work.undo.push(open.map((i) => set(nameOf(card, i), { kind: "no", on: null, ...(reason && { reason }) })));
  lookAt(card, work.now.i);
  save();
  return `No to ${many(open.length, "fact")}${kept ? ", kept" : ""}. Enter for the next answer, Undo takes it back.`;
}

function goOn() {
  const open = [...data.cards.keys()].filter((card) => openOnes(card).length);
  const skipped = work.skipped.filter((card) => open.includes(card));
  const card = open.find((one) => !work.skipped.includes(one)) ?? skipped[0];
  lookAt(card, card === undefined ? undefined : openOnes(card)[0]);
}

function next() {
  const open = openOnes(work.now.card);
  if (open.length) {
    lookAt(work.now.card, open[0]);
    return `${many(open.length, "fact")} open: “No to all others” decides them, Skip leaves them for later.`;
  }
  goOn();
  save();
  return "";
}

function skip() {
  const { card } = work.now;
  work.skipped = [...work.skipped.filter((one) => one !== card), card];
  goOn();
  save();
  return "Skipped; it comes back at the end.";
}

function undo() {
  const acts = work.undo.pop();
  if (!acts) return "There is no verdict of yours to take back.";
  for (const { name, before } of acts) set(name, before);
  const [card, i] = acts[0].name.split(" ").map(Number);
  lookAt(card, i);
  save();
  return `Taken back${acts.length > 1 ? `: ${many(acts.length, "verdict")}` : ""}. It is asked again.`;
}

function move(by) {
  const { card, i } = work.now, to = Math.min(Math.max(i + by, 0), data.cards[card].nuggets.length - 1);
  const kept = reason;
  lookAt(card, to);
  reason = kept;
  return undefined;
}

function markSentence(to) {
  const { responses } = answerOf(work.now.card);
  if (responses.length === 1) return "This answer is one piece. m marks words in it.";
  span = null;
  marked = to === null ? null : Math.min(Math.max(to, 0), responses.length - 1);
  return marked === null ? "No sentence is marked." : `Sentence ${marked + 1} is marked. Say yes if it has the fact.`;
}

const firstInView = () => Math.max([...get("responses").children].findIndex((item) => item.getBoundingClientRect().bottom > 40), 0);

const acts = {
  yes: () => judge("yes"), no: () => judge("no"), opposite: () => judge("opposite"), others, next, skip, undo,
  before: () => move(-1), after: () => move(1),
  sentence: () => markSentence(marked === null ? firstInView() : null),
  left: () => markSentence(marked === null ? firstInView() : marked - 1),
  right: () => markSentence(marked === null ? firstInView() : marked + 1),
  mark: startMarking, reason: askWhy, propose: askProposal,
};

function act(name) {
  if (!work.now && name !== "undo") return;
  const said = acts[name](), before = shownCard;
  draw();
  if (said !== undefined) say(said);
  if (shownCard !== before) get(work.now ? "answer-head" : "done-head").focus({ preventScroll: true }); // it is read first
  else if (!["left", "right", "sentence", "mark", "reason", "propose"].includes(name)) focusNow();
}

function focusNow() {
  const group = get("nuggets").children[work.now.i];
  (openOnes(work.now.card).length ? group : get("asked-head")).focus({ preventScroll: true });
  group.scrollIntoView({ block: "nearest" });
}

// What is handed back: lines as in the files of a collection, without the assessor's name.

function textsOf(card, { kind, on }) {
  const answer = answerOf(card), text = (i) => ({ text: answer.responses[i].text, docid: answer.responses[i].docid ?? undefined });
  if (answer.responses.length === 1) return [text(0)];
  const whole = { text: answer.whole ?? answer.responses.map((one) => one.text).join("\n"), scope: "answer" };
  if (on === null) return [whole];
  return kind === "yes" ? [text(on)] : [text(on), whole];
}

function lines() {
  const result = [], about = { source: "page", page: data.page };
  const add = (name, one) => {
    const [card, i] = name.split(" "), nugget = data.nuggets[data.cards[card].nuggets[i]];
    for (const { docid, ...text } of textsOf(card, one)) {
      const named = { qid: nugget.qid, nugget: nugget.nugget, ...text, run: answerOf(card).run };
      if (one.gone) result.push({ ...named, retracted: true, at: one.gone, ...about });
      else {
        const said = { verdict: one.kind === "yes", contradicts: one.kind === "opposite" || undefined, at: one.at, reason: one.reason, span: one.span };
        result.push({ ...data.cards[card].recorded, nugget_hash: nugget.hash, ...named, docid, ...said, ...about });
      }
    }
  };
  for (const one of work.gone) add(one.name, one);
  for (const [name, one] of Object.entries(work.said)) add(name, one);
  result.push(...work.proposals.map((one) => ({ ...one, ...about })));
  // In ASCII, which survives every mail program.
  const escape = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return result.map((line) => `${JSON.stringify(line).replace(/[\u007f-\uffff]/g, escape)}\n`).join("");
}

function openHand() {
  const left = total - judged();
  const proposed = work.proposals.length ? ` and ${many(work.proposals.length, "proposed nugget")}` : "";
  get("hand-words").textContent = `The file holds ${many(judged(), "verdict")}${proposed}. Send it to whoever sent you this page. `
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
  const { card, i } = work.now, answer = answerOf(card), text = get("proposal-text").value.trim();
  if (!text) return;
  const from = textsOf(card, { kind: "yes", on: marked })[0];
  const made = { qid: data.nuggets[data.cards[card].nuggets[i]].qid, text, importance: get("proposal-form").elements.importance.value };
  work.proposals.push({ ...made, from: from.text, run: answer.run, docid: from.docid, at: time(), proposed: true });
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

const textAt = (i) => answerOf(work.now.card).responses[i].text;
const points = (text, end) => [...text.slice(0, end)].length;
const units = (text, end) => [...text].slice(0, end).join("").length;

function spanOf(words, text) {
  return words.length ? [points(text, words[0][0]), points(text, words.at(-1)[1])] : null;
}

function offsetOf(node, offset, text) {
  const own = pieces.find((piece) => piece.node === node);
  if (own) return own.start + offset;
  const range = document.createRange();
  range.setStart(node, offset);
  const next = pieces.find((piece) => range.comparePoint(piece.node, 0) >= 0);
  return next ? next.start : text.length;
}

const responseAt = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("#responses .text");

function takeSelection() {
  const selection = document.getSelection();
  if (!work.now || marking || !selection.rangeCount) return;
  const range = selection.getRangeAt(0), response = responseAt(range.startContainer);
  if (range.collapsed || !response || response !== responseAt(range.endContainer)) return;
  const i = [...get("responses").children].indexOf(response.parentElement), text = textAt(i);
  pieces = response.pieces;
  const from = offsetOf(range.startContainer, range.startOffset, text), to = offsetOf(range.endContainer, range.endOffset, text);
  span = spanOf(wordsOf(text).filter(([start, end]) => end > from && start < to), text);
  marked = span ? i : marked;
  drawNotes();
}

document.addEventListener("selectionchange", takeSelection);
document.addEventListener("pointerup", () => setTimeout(() => {
  // The selection becomes a mark, and is then no longer needed.
  const selection = document.getSelection();
  if (span && !selection.isCollapsed && responseAt(selection.anchorNode)) {
    selection.removeAllRanges();
    drawMarks();
  }
}));
get("unmark").addEventListener("click", () => { span = marked = null; draw(); focusNow(); });

function startMarking() {
  marked ??= firstInView();
  const words = wordsOf(textAt(marked));
  if (!words.length) return "This sentence has no words.";
  marking = { words, first: 0, last: 0, begun: false };
  return chosenWords();
}

function chosenWords() {
  const { words, first, last } = marking, text = textAt(marked);
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
    marking = span = marked = null;
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

function put(element, text, chosen = null) {
  element.replaceChildren();
  element.pieces = [];
  const add = (parent, node, start) => { parent.append(node); element.pieces.push({ node, start }); };
  const [first, last] = chosen ? chosen.map((end) => units(text, end)) : [0, 0];
  for (const [from, to] of [[0, first], [first, last], [last, text.length]]) {
    if (from === to) continue;
    let parent = element, done = from;
    if (chosen && from === first && to === last) {
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

function make(parent, tag, name, text) {
  const made = parent.appendChild(document.createElement(tag));
  made.className = name;
  if (text !== undefined) put(made, text);
  return made;
}

function drawAnswer() {
  const { responses } = answerOf(work.now.card), list = get("responses");
  list.replaceChildren();
  responses.forEach((one, i) => {
    const item = make(list, "li", "response");
    const text = make(item, "div", "text", one.text || "(empty)");
    text.dir = "auto";
    if (one.docid) make(item, "p", "docid", one.docid);
    if (responses.length === 1) return;
    const button = make(item, "button", "this-one", "This sentence has it");
    button.type = "button";
    button.setAttribute("aria-label", `Sentence ${i + 1} has the fact`);
    button.addEventListener("click", () => { say(markSentence(i)); act("yes"); });
  });
}

function drawMarks() {
  [...get("responses").children].forEach((item, i) => {
    const text = item.firstElementChild, chosen = i === (marked ?? (answerOf(work.now.card).responses.length === 1 ? 0 : -1)) ? span : null;
    item.classList.toggle("marked", i === marked);
    if (chosen || text.querySelector("mark")) put(text, textAt(i) || "(empty)", chosen);
  });
}

function drawNotes() {
  get("mark-line").hidden = marked === null && !span;
  const words = span ? `: “${[...textAt(marked ?? 0)].slice(...span).join("")}”` : "";
  put(get("mark-words"), `Marked${answerOf(work.now.card).responses.length > 1 ? `, sentence ${marked + 1}` : ""}${words}`);
  get("reason-line").hidden = !reason;
  put(get("reason-words"), reason);
}

function drawNuggets() {
  const { card } = work.now, list = get("nuggets");
  list.replaceChildren();
  data.cards[card].nuggets.forEach((position, i) => {
    const nugget = data.nuggets[position], group = make(list, "fieldset", "nugget");
    group.tabIndex = -1;
    const name = make(group, "legend", "");
    make(name, "span", "fact", nugget.descriptions[0]).dir = "auto";
    for (const other of nugget.descriptions.slice(1)) make(group, "p", "other", other).dir = "auto";
    const choices = make(group, "div", "choices");
    for (const [value, text] of [...Object.entries(KINDS), ["", "Undecided"]]) {
      const label = make(choices, "label", value || "undecided"), input = make(label, "input", "");
      input.type = "radio";
      input.name = `nugget-${i}`;
      input.value = value;
      make(label, "span", "", text);
      input.addEventListener("click", (event) => choose(i, value, event.detail > 0));
    }
    const meta = make(group, "div", "meta");
    make(meta, "p", "about", [`${nugget.qid}/${nugget.nugget}`, nugget.importance, ...nugget.tags].join(" · "));
    if (!nugget.examples.length) return;
    const before = make(meta, "details", "examples");
    make(before, "summary", "", "Judged yes before");
    for (const text of [...nugget.examples, ...(nugget.more ? [`and ${nugget.more} more`] : [])]) make(before, "p", "example", text).dir = "auto";
  });
  for (const [text, verdict] of data.cards[card].known) make(list, "p", "known", `Known before: ${verdict ? "yes" : "no"}. ${text}`);
}

function choose(i, kind, byPointer) {
  // Whoever goes through the choices with the arrow keys stays among them.
  const { card } = work.now;
  if (kind !== (work.said[nameOf(card, i)]?.kind ?? "")) {
    if (work.now.i !== i) move(i - work.now.i);
    if (kind) say(judge(kind, i));
    else { work.undo.push([set(nameOf(card, i), null)]); save(); say("Undecided."); }
    if (!byPointer) lookAt(card, i);
  }
  draw();
  if (byPointer) focusNow();
}

function draw() {
  get("count").textContent = `${judged()} of ${total} judged${minutesLeft() ? `, about ${many(minutesLeft(), "minute")} left` : ""}`;
  get("progress").max = total || 1;
  get("progress").value = judged();
  get("open-hand").disabled = !judged() && !work.gone.length && !work.proposals.length;
  get("open").hidden = !work.now;
  get("done").hidden = Boolean(work.now);
  for (const button of document.querySelectorAll("[data-act=undo]")) button.disabled = !work.undo.length;
  if (!work.now) {
    get("done-head").textContent = total ? "All judged. Thank you!" : "There is nothing to judge on this page.";
    get("done-words").textContent = total ? "Hand back the file now: until you send it, your verdicts are in this browser only." : "";
    get("done-hand").hidden = !total;
    shownCard = -1;
    return;
  }
  const { card, i } = work.now, answer = answerOf(card), size = data.cards[card].nuggets.length;
  if (shownCard !== card) {
    put(get("question"), [answer.target, answer.question].filter(Boolean).join(": ") || data.nuggets[data.cards[card].nuggets[0]].qid);
    put(get("answer-head"), data.answers.some((other) => other.title !== answer.title) ? `The answer of ${answer.title}` : "The answer");
    put(get("asked-head"), size === 1 ? "Does the answer have this?" : `Which of these ${size} does the answer have?`);
    get("asked-head").tabIndex = -1;
    drawAnswer();
    drawNuggets();
    scrollTo(0, 0);
    get("nuggets").scrollTop = 0;
  }
  shownCard = card;
  [...get("nuggets").querySelectorAll("fieldset")].forEach((group, n) => {
    const kind = work.said[nameOf(card, n)]?.kind ?? "";
    group.classList.toggle("now", n === i);
    group.classList.toggle("decided", Boolean(kind));
    for (const input of group.querySelectorAll("input")) input.checked = input.value === kind;
  });
  get("open").classList.toggle("complete", !openOnes(card).length);
  drawMarks();
  drawNotes();
  if (marked !== null) get("responses").children[marked].scrollIntoView({ block: "nearest" });
}

// Keys and buttons.

function openHelp() {
  get("help").showModal();
  get("help-head").focus(); // else the last lines would come first
}

const KEYS = {
  y: "yes", n: "no", c: "opposite", a: "others", Enter: "next", s: "skip", u: "undo", b: "undo", " ": "sentence", m: "mark", r: "reason", p: "propose",
  ArrowUp: "before", ArrowDown: "after", ArrowLeft: "left", ArrowRight: "right",
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (marking) { markByKey(event); return; }
  if (!work.keys || event.target.closest("textarea, select")) return;
  if (event.repeat && !event.key.startsWith("Arrow")) return;
  // Where a choice or a button has the focus, its own keys do what they always do.
  const own = event.target.closest("input") ? /^Arrow| / : event.target.closest("button, summary, a") ? /^Enter$| / : /^$/;
  if (own.test(event.key) || (event.shiftKey && event.key.startsWith("Arrow"))) return;
  if (event.key === "?") openHelp();
  else if (event.key in KEYS) act(KEYS[event.key]);
  else return;
  event.preventDefault();
});

for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", () => {
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
  lookAt(work.now?.card, work.now?.i);
  draw();
  say("Taken over from another window of this page.");
});
window.addEventListener("beforeunload", (event) => {
  if (!kept && Object.values(work.said).some((one) => one.at > work.handed)) event.preventDefault();
});

load();
get("keys").checked = work.keys;
if (work.now) lookAt(work.now.card, work.now.i);
else goOn();
save();
draw();
if (judged()) say(`Welcome back: ${many(judged(), "verdict")} of yours ${judged() === 1 ? "is" : "are"} kept here.`);
