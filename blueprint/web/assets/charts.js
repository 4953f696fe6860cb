"use strict";
/* The charts of the workbook, drawn from its own rows: lines, dots and bars, each with the sentence on what to see. */
const CHART = { width: 620, height: 330, left: 58, right: 14, top: 22, bottom: 54, line: 12, letter: 6.6 }; // the last two: how high and wide letters are
const DASHES = ["", "7 4", "2 3", "12 4", "8 3 2 3"], CHART_COLOURS = 5;
let chartsDrawn = 0;

/* Returns the numbers of a series as lists that are drawn without a break, each as [place, number, word]. */
function runsOf(chart, { values, over, words }) {
  const block = blocks[values], other = blocks[over], long = block.axes.at(-1), among = (chart.among || []).map((number) => blocks[number]);
  const inside = (of, members) => offsetAt(of, members);
  const counted = (members) => !among.length || among.some((row) => row.cells[inside(row, members)] === 1);
  const atChosen = long !== undefined && !columns.includes(long) && !other.axes.some((axis) => columns.includes(axis)); // a list at one column: at the chosen one
  return membersOf(block.axes.slice(0, -1).filter((axis) => !atChosen || !columns.includes(axis))).map((before) => {
    const all = long === undefined ? [{}] : axes[long].words.map((_, i) => ({ ...before, [long]: i }));
    const first = all.findIndex(counted), last = all.findLastIndex(counted), given = chart.given === undefined ? null : blocks[chart.given];
    return (first < 0 ? [] : all.slice(first, last + 1)).map((members) => [
      other.cells[inside(other, members)], given && given.cells[inside(given, members)] === 1 ? NaN : block.cells[inside(block, members)],
      words === undefined ? "" : blocks[words].cells[inside(blocks[words], members)],
    ]);
  });
}

/* Returns round numbers from low to high, about five of them. */
function marks(low, high, unit) {
  const rough = (high - low || 1) / 5, power = 10 ** Math.floor(Math.log10(rough)), step = unit || power * ([1, 2, 5].find((each) => each * power >= rough) || 10);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-6; at++) found.push(at * step);
  return found;
}
function endsOf(numbers, { low, high }, withZero) {
  const known = numbers.filter(Number.isFinite), least = low ?? Math.min(...known, ...(withZero ? [0] : [])), most = high ?? Math.max(...known, ...(withZero ? [0] : []));
  return Number.isFinite(least) && Number.isFinite(most) ? (least === most ? [least - 1, most + 1] : [least, most]) : [0, 1];
}

function drawnChart(chart) {
  const bars = chart.kind === "bars", series = chart.series.map((each) => runsOf(chart, each)), groups = bars ? series.map((runs) => runs.flat()) : series;
  const inner = [CHART.width - CHART.left - CHART.right, CHART.height - CHART.top - CHART.bottom];
  const [low, high] = endsOf(series.flat(2).map(([, number]) => number), chart.up, bars);
  const free = (number) => CHART.top + inner[1] * (1 - (number - low) / (high - low)), up = (number) => free(Math.min(high, Math.max(low, number)));
  const [first, last] = bars ? [0, groups[0]?.length || 1] : endsOf(series.flat(2).map(([place]) => place), chart.across, false);
  const across = (place) => CHART.left + inner[0] * (place - first) / (last - first);
  const tick = (x, y, text, anchor) => `<text x="${x}" y="${y}" text-anchor="${anchor}">${escaped(text)}</text>`;
  const grid = marks(low, high, chart.up.unit).map((at) => `<path class="grid" d="M${CHART.left} ${up(at)}H${CHART.width - CHART.right}"/>${tick(CHART.left - 6, up(at) + 4, shown(Number(at.toPrecision(6))), "end")}`);
  const below = CHART.height - CHART.bottom + 16, label = Labels();
  const scale = bars ? groups[0].map(([word], i) => (groups.some((cells) => Number.isFinite(cells[i]?.[1])) ? label(brief(word), across(i + 0.5), [below, below + CHART.line], "middle") : "")) : marks(first, last, chart.across.unit).map((at) => tick(across(at), below, shown(Number(at.toPrecision(6))), "middle"));
  const body = bars ? groups.map((cells, number) => {
    const width = 0.7 * inner[0] / (last - first) / groups.length;
    return cells.map(([, value], i) => (Number.isFinite(value) ? `<rect class="bar c${number % CHART_COLOURS}" x="${across(i + 0.15) + number * width}" width="${width}" y="${Math.min(up(value), up(0))}" height="${Math.abs(up(value) - up(0))}"/>` : "")).join("");
  }) : series.map((runs, number) => runs.map((cells) => lineOrDots(cells.filter(([place, value]) => Number.isFinite(place) && Number.isFinite(value) && !(chart.series[number].dots && up(value) !== free(value))), chart.series[number].dots, number, across, free, label)).join(""));
  const titles = tick(CHART.left + inner[0] / 2, CHART.height - 8, chart.across.title, "middle") + `<text transform="translate(13 ${CHART.top + inner[1] / 2}) rotate(-90)" text-anchor="middle">${escaped(chart.up.title)}</text>`;
  const zero = low < 0 && high > 0 ? `<path class="zero" d="M${CHART.left} ${up(0)}H${CHART.width - CHART.right}"/>` : "";
  const inside = `inside-${chartsDrawn++}`, cut = `<clipPath id="${inside}"><rect x="${CHART.left}" y="${CHART.top - 2}" width="${inner[0]}" height="${inner[1] + 4}"/></clipPath>`;
  const picture = `<svg viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="${escaped(chart.tells)}">${cut}${grid.join("")}${zero}${body.map((each, i) => (chart.series[i].dots ? each : `<g clip-path="url(#${inside})">${each}</g>`)).join("")}${label.above()}${scale.join("")}${titles}</svg>`;
  const names = chart.series.length > 1 ? [make("p", { class: "names", html: chart.series.map((each, i) => `<span><svg viewBox="0 0 26 10" aria-hidden="true">${bars ? `<rect class="bar c${i % CHART_COLOURS}" width="26" height="10"/>` : lineOrDots(each.dots ? [[13, 5]] : [[2, 5], [24, 5]], each.dots, i, (x) => x, (y) => y)}</svg> ${escaped(each.name)}</span>`).join("") })] : [];
  return make("figure", { class: chart.wide ? "wide" : null }, make("figcaption", {}, make("b", {}, chart.title), ` ${chart.tells}`), make("div", { html: picture }), ...names);
}

/* Sets words where none stands yet: on the first of some heights that is free, else nowhere. Words at dots stand above the picture. */
function Labels() {
  const taken = [], dotted = [];
  const label = (word, x, heights, anchor) => {
    const width = CHART.letter * word.length + 3, left = x - (anchor === "end" ? width : width / 2);
    const y = heights.find((each) => !taken.some(([from, to, at]) => left < to && left + width > from && Math.abs(at - each) < CHART.line));
    if (!word || y === undefined) return "";
    taken.push([left, left + width, y]);
    return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escaped(word)}</text>`;
  };
  label.dot = (word, x, y) => { dotted.push(label(word, x, [y - 7, y + 16], x > CHART.width - 60 ? "end" : "middle")); };
  label.above = () => dotted.join("");
  return label;
}

function lineOrDots(cells, dots, number, across, up, label) {
  if (dots) return cells.map(([place, value, word]) => {
    if (word) label.dot(word, across(place), up(value));
    return `<circle class="dot c${number % CHART_COLOURS}" cx="${across(place)}" cy="${up(value)}" r="4">${word ? `<title>${escaped(word)}</title>` : ""}</circle>`;
  }).join("");
  return `<path class="line c${number % CHART_COLOURS}" stroke-dasharray="${DASHES[number % DASHES.length]}" d="M${cells.map(([place, value]) => `${across(place).toFixed(1)} ${up(value).toFixed(1)}`).join("L")}"/>`;
}
