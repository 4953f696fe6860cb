"use strict";
/* The charts of the workbook, drawn from its own rows: lines, dots and bars, each with the sentence on what to see. */
const CHART = { width: 620, height: 330, left: 58, right: 14, top: 22, bottom: 44 };
const DASHES = ["", "7 4", "2 3", "12 4", "8 3 2 3"], CHART_COLOURS = 5, MOST_WORDS_BELOW = 16;

/* Returns the numbers of a series as lists that are drawn without a break, each as [place, number, word]. */
function runsOf(chart, { values, over, words }) {
  const block = blocks[values], other = blocks[over], long = block.axes.at(-1), among = (chart.among || []).map((number) => blocks[number]);
  const inside = (of, members) => offsetAt(of, members);
  const counted = (members) => !among.length || among.some((row) => row.cells[inside(row, members)] === 1);
  return membersOf(block.axes.slice(0, -1)).map((before) => {
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
  const up = (number) => CHART.top + inner[1] * (1 - (Math.min(high, Math.max(low, number)) - low) / (high - low));
  const [first, last] = bars ? [0, groups[0]?.length || 1] : endsOf(series.flat(2).map(([place]) => place), chart.across, false);
  const across = (place) => CHART.left + inner[0] * (place - first) / (last - first);
  const tick = (x, y, text, anchor) => `<text x="${x}" y="${y}" text-anchor="${anchor}">${escaped(text)}</text>`;
  const grid = marks(low, high, chart.up.unit).map((at) => `<path class="grid" d="M${CHART.left} ${up(at)}H${CHART.width - CHART.right}"/>${tick(CHART.left - 6, up(at) + 4, shown(Number(at.toPrecision(6))), "end")}`);
  const below = CHART.height - CHART.bottom + 16, every = Math.ceil((groups[0]?.length || 1) / MOST_WORDS_BELOW);
  const scale = bars ? groups[0].map(([word], i) => (i % every ? "" : tick(across(i + 0.5), below, brief(word), "middle"))) : marks(first, last, chart.across.unit).map((at) => tick(across(at), below, shown(Number(at.toPrecision(6))), "middle"));
  const body = bars ? groups.map((cells, number) => {
    const width = 0.7 * inner[0] / (last - first) / groups.length;
    return cells.map(([, value], i) => (Number.isFinite(value) ? `<rect class="bar c${number % CHART_COLOURS}" x="${across(i + 0.15) + number * width}" width="${width}" y="${Math.min(up(value), up(0))}" height="${Math.abs(up(value) - up(0))}"/>` : "")).join("");
  }) : series.map((runs, number) => runs.map((cells) => lineOrDots(cells.filter(([place, value]) => Number.isFinite(place) && Number.isFinite(value)), chart.series[number].dots, number, across, up)).join(""));
  const titles = tick(CHART.left + inner[0] / 2, CHART.height - 8, chart.across.title, "middle") + `<text transform="translate(13 ${CHART.top + inner[1] / 2}) rotate(-90)" text-anchor="middle">${escaped(chart.up.title)}</text>`;
  const zero = low < 0 && high > 0 ? `<path class="zero" d="M${CHART.left} ${up(0)}H${CHART.width - CHART.right}"/>` : "";
  const picture = `<svg viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="${escaped(chart.tells)}">${grid.join("")}${zero}${body.join("")}${scale.join("")}${titles}</svg>`;
  const names = chart.series.length > 1 ? [make("p", { class: "names", html: chart.series.map((each, i) => `<span><svg viewBox="0 0 26 10" aria-hidden="true">${bars ? `<rect class="bar c${i % CHART_COLOURS}" width="26" height="10"/>` : lineOrDots(each.dots ? [[13, 5]] : [[2, 5], [24, 5]], each.dots, i, (x) => x, (y) => y)}</svg> ${escaped(each.name)}</span>`).join("") })] : [];
  return make("figure", { class: chart.wide ? "wide" : null }, make("figcaption", {}, make("b", {}, chart.title), ` ${chart.tells}`), make("div", { html: picture }), ...names);
}

function lineOrDots(cells, dots, number, across, up) {
  if (dots) return cells.map(([place, value, word]) => `<circle class="dot c${number % CHART_COLOURS}" cx="${across(place)}" cy="${up(value)}" r="4"/>${word ? `<text x="${across(place)}" y="${up(value) - 7}" text-anchor="${across(place) > CHART.width - 60 ? "end" : "middle"}">${escaped(word)}</text>` : ""}`).join("");
  return `<path class="line c${number % CHART_COLOURS}" stroke-dasharray="${DASHES[number % DASHES.length]}" d="M${cells.map(([place, value]) => `${across(place).toFixed(1)} ${up(value).toFixed(1)}`).join("L")}"/>`;
}
