"use strict";
/* A vote at a hidden number: what is right among what known mistakes give there, by hands, or by taps on the phones that follow. */
const ANSWERS = "ABCD";
const counts = new Map(); // by question how many chose each answer
let tap = null;           // what a phone that follows does in place of counting

/* Returns the answers at a cell, from the least to the largest: the right one has no sentence, each other one says its mistake. */
function answersAt(block, offset) {
  const definition = engine.filling(block, offset), place = (block.definitions || []).indexOf(definition), found = [{ value: block.cells[offset], says: null }];
  for (const [says, instead] of (definition && block.wrong) || []) {
    const wrong = instead.find(([number]) => number === place);
    if (!wrong) continue;
    engine.filling(block, offset); // lets the loops stand at this cell
    const value = engine.compiled(wrong[1])();
    if (Number.isFinite(value) && found.every((each) => shown(each.value) !== shown(value))) found.push({ value, says: data.texts[says] });
  }
  return found.slice(0, ANSWERS.length).sort((one, other) => one.value - other.value);
}
const canVote = (block, offset) => !block.text && Boolean(block.wrong) && Number.isFinite(block.cells[offset]) && answersAt(block, offset).length > 1;

/* Sets the sentence of a mistake: the equation behind its colon is the right one; what follows a low line is a subscript. */
const saidSet = (says) => escaped(says).replace(/: (?=\S+( \S+)? = )/, "; right is ").replace(/(?<=[\p{L}\p{N}])_(?:\{([^}]*)\}|([\p{L}\p{N}]+))/gu, "<sub>$1$2</sub>");

/* Names a question: the cell and what is shown to choose from. */
const questionOf = (block, offset, answers) => `${block.number}:${offset}:${answers.map(({ value }) => shown(value)).join(" ")}`;

/* Returns the answers with how many chose each; where the value is shown, which one is right, and the mistakes behind the others. */
function ballot(block, offset, revealed) {
  const answers = answersAt(block, offset), question = questionOf(block, offset, answers), own = counts.get(question) || answers.map(() => 0), all = own.reduce((sum, each) => sum + each, 0);
  state.asked = question;
  const row = ({ value, says }, i) => make("li", { class: revealed && !says ? "right" : null },
    make("button", { class: "answer", "aria-pressed": tap ? String(tap.chosen.get(question) === i) : null, disabled: revealed, onclick: () => count(question, answers.length, i, 1) }, `${ANSWERS[i]}  ${shown(value)}`),
    ...(tap && !revealed ? [] : [make("meter", { min: 0, max: Math.max(1, all), value: own[i], "aria-label": `votes for ${ANSWERS[i]}` }), make("output", {}, String(own[i]))]),
    ...(tap || revealed || !own[i] ? [] : [make("button", { "aria-label": `one vote less for ${ANSWERS[i]}`, onclick: () => count(question, answers.length, i, -1) }, "−")]),
    ...(revealed ? [make("span", { html: says ? saidSet(says) : "✓ right" })] : []));
  return make("div", { class: "vote", role: "group", "aria-label": "Which number is it?" }, make("ol", {}, ...answers.map(row)));
}
function count(question, size, answer, by) {
  if (tap) { tap.vote(question, answer); return; }
  const own = counts.get(question) || Array.from({ length: size }, () => 0);
  own[answer] = Math.max(0, own[answer] + by);
  counts.set(question, own);
  redrawVote();
}
function redrawVote() { if (state.mode === "walk") drawWalk(); else drawPanel(); }
/* Opens or closes the vote on the number at hand. */
function setVote(on) {
  state.vote = on;
  if (state.mode !== "walk" && on && !state.hidden) setHidden(true);
  redrawVote();
}
