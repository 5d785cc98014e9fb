// Buttons, keys and the pointer.

import { STATES, gradient, hex, short } from "./colours.js";

export const $ = (id) => document.getElementById(id);

const SWITCHES = [
  ["wireframe", "Wire", "w"],
  ["shadows", "Shadow", "s"],
  ["contacts", "Contacts", "c"],
  ["impulses", "Impulses", "i"],
  ["checker", "Weave", "k"],
  ["obstacles", "Obstacles", "o"],
];

// Keys by the names they have for people.
const SPOKEN = { " ": "space", arrowleft: "←", arrowright: "→", home: "Home", end: "End" };

export function controls(page) {
  const toggle = {};
  for (const [name, label, key] of SWITCHES) {
    const button = document.createElement("button");
    button.id = `switch-${name}`;
    button.textContent = label;
    button.title = `${label} (${key.toUpperCase()})`;
    const mark = () => button.setAttribute("aria-pressed", page.stages[0].options[name]);
    toggle[key] = () => {
      const on = !page.stages[0].options[name];
      for (const stage of page.stages) {
        stage.options[name] = on;
        stage.apply();
      }
      mark();
      page.stale = true;
    };
    button.addEventListener("click", toggle[key]);
    mark();
    $("switches").append(button);
  }
  const theme = () => {
    const dark = document.documentElement.classList.toggle("dark");
    $("theme").textContent = dark ? "Light" : "Dark";
    page.stages.forEach((s) => s.dark(dark));
    page.stale = true;
  };
  const picture = () => {
    $("canvas").toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${page.runs[0].about.name}_${String(Math.max(page.shown[0], 0)).padStart(6, "0")}.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  };
  const speed = (by) => {
    const list = $("speed");
    list.selectedIndex = Math.min(Math.max(list.selectedIndex + by, 0), list.length - 1);
  };
  const keys = {
    " ": ["play or pause", () => (page.live ? pauseLive(page) : page.play())],
    arrowleft: ["frame back", () => page.step(-1)],
    arrowright: ["frame forward", () => page.step(1)],
    home: ["first frame", () => page.go(page.start())],
    end: ["last frame", () => page.go(page.end())],
    "[": ["slower", () => speed(-1)],
    "]": ["faster", () => speed(1)],
    f: ["fit to view", () => page.fit()],
    p: ["save a picture", picture],
    d: ["light or dark", theme],
    t: ["statistics panel", () => $("panel").classList.toggle("closed")],
    "?": ["this list", () => ($("keys").open ? $("keys").close() : $("keys").showModal())],
  };
  for (const [, label, key] of SWITCHES) keys[key] = [label.toLowerCase(), toggle[key]];
  window.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (/^(INPUT|SELECT)$/.test(e.target.tagName) && e.target.type !== "range" && e.target.type !== "checkbox") return;
    const found = keys[e.key.toLowerCase()];
    if (!found) return;
    e.preventDefault();
    found[1]();
  });
  const rows = Object.entries(keys).map(([key, [what]]) => {
    const row = document.createElement("tr");
    for (const text of [SPOKEN[key] ?? key.toUpperCase(), what]) {
      row.append(Object.assign(document.createElement("td"), { textContent: text }));
    }
    return row;
  });
  const table = document.createElement("table");
  table.append(...rows);
  $("keys").append(table);
  $("keys").addEventListener("click", () => $("keys").close());
  const press = { fit: "f", screenshot: "p", theme: "d", help: "?", first: "home", last: "end", back: "arrowleft", forward: "arrowright" };
  for (const [id, key] of Object.entries(press)) $(id).addEventListener("click", keys[key][1]);
  $("play").addEventListener("click", () => page.play());
  $("timeline").addEventListener("input", () => {
    page.play(false);
    page.go(Number($("timeline").value) / page.rate);
  });
  $("follow").addEventListener("change", () => {
    page.following = $("follow").checked;
    if (page.following) page.play(false);
  });
  $("field").addEventListener("change", () => {
    page.field = $("field").value || null;
    page.stages.forEach((s) => (s.range = 0));
    page.stale = true;
  });
  $("legend-bar").style.background = gradient();
  const names = ["came apart", "sticks", "slides"];
  $("states").append(...names.flatMap((name, i) => {
    const dot = document.createElement("i");
    dot.style.background = hex(STATES[i]);
    return [dot, name];
  }));
  if (window.matchMedia("(prefers-color-scheme: dark)").matches) theme();
  if (page.live) liveControls(page);
}

function pauseLive(page) {
  const paused = page.runs[page.liveIndex].state.paused;
  page.live.send({ command: paused ? "play" : "pause" });
  page.following = $("follow").checked = true;
}

function liveControls(page) {
  const { live } = page;
  $("live").hidden = false;
  $("live-pause").addEventListener("click", () => pauseLive(page));
  $("live-step").addEventListener("click", () => live.send({ command: "step" }));
  $("live-restart").addEventListener("click", () => live.send({ command: "restart" }));
  const about = page.runs[page.liveIndex].about;
  $("live-gravity").value = short(Math.hypot(...about.gravity));
  $("live-dt").value = short(1000 * about.time_step);
  const number = (id, send) =>
    $(id).addEventListener("change", () => {
      const value = Number($(id).value);
      if ($(id).value !== "" && Number.isFinite(value)) live.set(send(value));
    });
  number("live-friction", (v) => ({ friction: v }));
  number("live-gravity", (v) => {
    const length = Math.hypot(...about.gravity);
    const down = length > 0 ? about.gravity.map((g) => g / length) : [0, 0, -1];
    return { gravity: down.map((d) => d * v) };
  });
  const wind = ["x", "y", "z"].map((axis) => `live-wind-${axis}`);
  wind.forEach((id, i) => {
    $(id).value = short(about.wind[i]);
    number(id, () => ({ wind: wind.map((each) => Number($(each).value) || 0) }));
  });
  number("live-dt", (v) => ({ time_step: v / 1000 }));
  const canvas = $("canvas");
  const pointer = (e) => {
    const box = canvas.getBoundingClientRect();
    const each = box.width / page.runs.length;
    const x = (e.clientX - box.left - page.liveIndex * each) / each;
    return { x: 2 * x - 1, y: 1 - (2 * (e.clientY - box.top)) / box.height };
  };
  canvas.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 || !live.grab(page.stages[page.liveIndex], page.camera, pointer(e))) return;
    page.controls.enabled = false;
    canvas.setPointerCapture(e.pointerId);
    page.dragging = true;
  }, { capture: true });
  canvas.addEventListener("pointermove", (e) => page.dragging && live.drag(page.camera, pointer(e)));
  const release = () => {
    if (!page.dragging) return;
    page.dragging = false;
    page.controls.enabled = true;
    live.release();
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
}
