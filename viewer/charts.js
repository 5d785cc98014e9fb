// Statistics over time, with a line at the moment that is shown. A click goes there.

import { short } from "./colours.js";

export const CURVES = [
  { key: "residual", label: "residual (m/s)", log: true, of: (r) => r.residual },
  { key: "iterations", label: "iterations", of: (r) => r.iterations },
  { key: "contacts", label: "contacts: all, sticking, sliding", of: (r) => r.contacts, more: [(r) => r.sticking, (r) => r.sliding] },
  { key: "seconds", label: "seconds a step", of: (r) => r.seconds.total },
];

const COLOURS = ["#0072b2", "#d55e00", "#009e73"];

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
    const wanted = [...CURVES];
    for (const m of measures) wanted.push({ key: `measure ${m}`, label: m, of: (r) => r.measures[m] });
    const keys = wanted.map((c) => c.key).join("\n");
    if (keys === this.keys) return;
    this.keys = keys;
    this.box.replaceChildren();
    this.panels = wanted.map((curve) => {
      const panel = document.createElement("figure");
      const caption = document.createElement("figcaption");
      caption.textContent = curve.label;
      const value = document.createElement("b");
      caption.append(" ", value);
      const canvas = document.createElement("canvas");
      canvas.addEventListener("pointerdown", (e) => {
        const share = e.offsetX / canvas.clientWidth;
        if (this.end > 0) this.go(share * this.end);
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
      lines.push({ run, of: curve.of, colour: COLOURS[i] });
      if (runs.length === 1) (curve.more ?? []).forEach((of, k) => lines.push({ run, of, colour: COLOURS[k + 1] }));
    });
    const shown = (v) => (curve.log ? Math.log10(v) : v);
    let [low, high] = [Infinity, -Infinity];
    for (const { run, of } of lines) {
      for (const r of run.reports) {
        const v = shown(of(r));
        if (Number.isFinite(v)) [low, high] = [Math.min(low, v), Math.max(high, v)];
      }
    }
    if (low > high) return;
    if (high - low < 1e-12 * Math.max(1, Math.abs(high))) [low, high] = [low - 0.5, high + 0.5];
    const y = (v) => height - 3 - ((v - low) / (high - low)) * (height - 6);
    const x = (t) => (t / (this.end || 1)) * width;
    for (const { run, of, colour } of lines) {
      g.strokeStyle = colour;
      g.lineWidth = ratio;
      g.beginPath();
      // As many points as pixels; the eye sees no more.
      const stride = Math.max(1, Math.floor(run.reports.length / width));
      let down = false;
      for (let i = 0; i < run.reports.length; i += stride) {
        const v = shown(of(run.reports[i]));
        if (!Number.isFinite(v)) continue;
        if (down) g.lineTo(x(run.reports[i].time), y(v));
        else g.moveTo(x(run.reports[i].time), y(v));
        down = true;
      }
      g.stroke();
    }
    g.fillStyle = getComputedStyle(canvas).color;
    g.fillRect(Math.round(x(time)), 0, ratio, height);
    g.font = `${10 * ratio}px sans-serif`;
    const label = (v) => (curve.log ? `1e${v.toFixed(0)}` : short(v));
    g.fillText(label(high), 3, 10 * ratio);
    g.fillText(label(low), 3, height - 4);
    const now = runs.map((run) => reportAt(run.reports, time)).map((r) => (r ? short(Number(curve.of(r))) : "–"));
    value.textContent = now.join(" | ");
  }
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
