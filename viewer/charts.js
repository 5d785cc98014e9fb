// Statistics over time, with a line at the moment that is shown. A click goes there.

import { hex, short, STATES } from "./colours.js";

// What tells two runs apart, and lines of one run that have no colour of their own.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
const PLAIN = "#7f7f7f";
// Room for the numbers beside a chart, pixels.
const MARGIN = 44;
// Powers of ten that a logarithmic chart shows at most.
const DECADES = 9;
// Phases of a step that have a line of their own.
const PHASES = 3;

const CURVES = [
  { key: "residual", label: "residual (m/s)", log: true, of: (r) => r.residual },
  { key: "iterations", label: "iterations", zero: true, of: (r) => r.iterations },
  {
    key: "contacts", label: "contacts", zero: true, of: (r) => r.contacts, colour: PLAIN,
    more: [
      { label: "stick", of: (r) => r.sticking, colour: hex(STATES[1]) },
      { label: "slide", of: (r) => r.sliding, colour: hex(STATES[2]) },
    ],
  },
];

// Seconds a step, and the phases that took most of them.
function secondsCurve(runs) {
  const sums = new Map();
  for (const report of runs[0]?.reports ?? []) {
    for (const [phase, s] of Object.entries(report.seconds)) if (phase !== "total") sums.set(phase, (sums.get(phase) ?? 0) + s);
  }
  const largest = [...sums].sort((a, b) => b[1] - a[1]).slice(0, PHASES).map(([phase]) => phase);
  const more = largest.map((phase, i) => ({ label: phase, of: (r) => r.seconds[phase], colour: COLOURS[i] }));
  return { key: `seconds ${largest.join()}`, label: "seconds a step", zero: true, of: (r) => r.seconds.total, colour: PLAIN, more };
}

export class Charts {
  constructor(box, go) {
    this.box = box;
    this.go = go;
    this.panels = [];
    this.end = 0;
  }

  // Panels for the statistics and for whatever the scene measures.
  prepare(runs) {
    const measures = new Set();
    for (const run of runs) {
      const first = run.reports[0];
      if (first) Object.keys(first.measures).forEach((m) => measures.add(m));
    }
    const wanted = [...CURVES, secondsCurve(runs)];
    for (const m of measures) wanted.push({ key: `measure ${m}`, label: m, of: (r) => r.measures[m] });
    const keys = [runs.length, ...wanted.map((c) => c.key)].join("\n");
    if (keys === this.keys) return;
    this.keys = keys;
    this.box.replaceChildren();
    this.panels = wanted.map((curve) => {
      const panel = document.createElement("figure");
      const caption = document.createElement("figcaption");
      caption.textContent = curve.label;
      for (const line of runs.length === 1 ? (curve.more ?? []) : []) {
        const name = document.createElement("i");
        name.textContent = line.label;
        name.style.color = line.colour;
        caption.append(name);
      }
      const value = document.createElement("b");
      caption.append(value);
      const canvas = document.createElement("canvas");
      canvas.addEventListener("pointerdown", (e) => {
        const share = (e.offsetX - MARGIN) / (canvas.clientWidth - MARGIN);
        if (this.end > 0) this.go(Math.max(share, 0) * this.end);
      });
      panel.append(caption, canvas);
      this.box.append(panel);
      return { curve, canvas, value };
    });
  }

  draw(runs, time) {
    this.prepare(runs);
    this.end = Math.max(0, ...runs.map((r) => (r.reports.length ? r.reports[r.reports.length - 1].time : 0)));
    for (const panel of this.panels) this.drawPanel(panel, runs, time);
  }

  drawPanel({ curve, canvas, value }, runs, time) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (width === 0) return;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const g = canvas.getContext("2d");
    g.clearRect(0, 0, width, height);
    const lines = [];
    runs.forEach((run, i) => {
      lines.push({ run, of: curve.of, colour: runs.length === 1 && curve.colour ? curve.colour : COLOURS[i] });
      if (runs.length === 1) for (const line of curve.more ?? []) lines.push({ run, ...line });
    });
    const [low, high] = range(lines, curve);
    if (low > high) return;
    const left = MARGIN * ratio;
    const y = (v) => height - 3 - ((Math.max(v, low) - low) / (high - low)) * (height - 6);
    const x = (t) => left + (t / (this.end || 1)) * (width - left);
    for (const { run, of, colour } of lines) {
      g.strokeStyle = colour;
      g.lineWidth = 1.5 * ratio;
      g.beginPath();
      // As many points as pixels; the eye sees no more.
      const stride = Math.max(1, Math.floor(run.reports.length / width));
      let down = false;
      for (let i = 0; i < run.reports.length; i += stride) {
        const v = scaled(curve, of(run.reports[i]));
        if (!Number.isFinite(v)) continue;
        if (down) g.lineTo(x(run.reports[i].time), y(v));
        else g.moveTo(x(run.reports[i].time), y(v));
        down = true;
      }
      g.stroke();
    }
    g.fillStyle = getComputedStyle(canvas).color;
    g.fillRect(Math.min(Math.round(x(time)), width - ratio), 0, ratio, height);
    g.globalAlpha = 0.3;
    g.fillRect(left - ratio, 0, ratio, height);
    g.globalAlpha = 1;
    g.font = `${10 * ratio}px sans-serif`;
    g.textAlign = "right";
    const label = (v) => (curve.log ? `1e${v.toFixed(0)}` : short(v));
    g.fillText(label(high), left - 4 * ratio, 10 * ratio);
    g.fillText(label(low), left - 4 * ratio, height - 3 * ratio);
    const now = runs.map((run) => reportAt(run.reports, time)).map((r) => (r ? short(Number(curve.of(r))) : "–"));
    value.textContent = now.join(" | ");
  }
}

function scaled(curve, value) {
  return curve.log ? Math.log10(value) : value;
}

// What the vertical axis spans. Residuals of nothing at all would press the others into one line.
function range(lines, curve) {
  let [low, high] = [Infinity, -Infinity];
  for (const { run, of } of lines) {
    for (const report of run.reports) {
      const v = scaled(curve, of(report));
      if (Number.isFinite(v)) [low, high] = [Math.min(low, v), Math.max(high, v)];
    }
  }
  if (low > high) return [low, high];
  if (curve.log) return [Math.floor(Math.max(low, high - DECADES)), Math.ceil(high) + (Math.ceil(high) > low ? 0 : 1)];
  // Rounding is as good as nothing, and a short number to read.
  if (curve.zero || Math.abs(low) < 1e-6 * (high - low)) low = Math.min(low, 0);
  if (high - low < 1e-12 * Math.max(1e-12, Math.abs(high))) return curve.zero ? [0, 1] : [low - 0.5, high + 0.5];
  return [low, high];
}

// The last report up to a time.
export function reportAt(reports, time) {
  let [low, high] = [0, reports.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (reports[middle].time <= time + 1e-9) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? reports[low - 1] : null;
}
