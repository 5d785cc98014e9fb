// The page: one canvas with a view for each run, a shared camera, the timeline, the panel, keys.

import { OrbitControls, PCFShadowMap, PerspectiveCamera, Vector3, WebGLRenderer } from "./three.js";
import { Charts, reportAt } from "./charts.js";
import { FIELDS, short } from "./colours.js";
import { $, controls } from "./controls.js";
import { Live } from "./live.js";
import { Run } from "./run.js";
import { Stage } from "./stage.js";

const AHEAD = 6;

// Pictures that take longer than this, ms, are drawn as drafts while things move.
const SLOW = 50;
// How long things have to stand still before a draft is drawn again with care, ms.
const REST = 250;

// Whether pictures are made by the processor: every sample then costs dear.
function withoutGraphicsCard() {
  const g = document.createElement("canvas").getContext("webgl2");
  const about = g?.getExtension("WEBGL_debug_renderer_info");
  const name = about ? g.getParameter(about.UNMASKED_RENDERER_WEBGL) : "";
  g?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

class Page {
  constructor(runs) {
    this.runs = runs;
    this.software = withoutGraphicsCard();
    this.stages = runs.map(() => new Stage(this.software));
    this.shown = runs.map(() => -1);
    this.time = 0;
    this.playing = false;
    this.following = true;
    this.field = null;
    this.painted = 0;
    this.pace = 0;
    // Until the first picture has been timed: a draft is seen sooner.
    this.costly = this.software;
    this.renderer = new WebGLRenderer({ canvas: $("canvas"), antialias: !this.software, preserveDrawingBuffer: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.setScissorTest(true);
    this.camera = new PerspectiveCamera(35, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, $("canvas"));
    this.controls.addEventListener("change", () => (this.stale = true));
    this.charts = new Charts($("charts"), (time) => this.go(time));
    const live = runs.findIndex((r) => r.about.live);
    this.live = live < 0 ? null : new Live(runs[live], (text) => this.say(text));
    this.liveIndex = live;
    $("title").textContent = $("title").title = runs.map((r) => `${r.about.name}: ${r.about.description}`).join("  |  ");
    document.title = `${runs.map((r) => r.about.name).join(" and ")} – Muslin`;
    $("names").replaceChildren(...(runs.length > 1 ? runs : []).map((r) => {
      const span = document.createElement("span");
      span.textContent = r.about.name;
      return span;
    }));
  }

  get rate() {
    return this.runs[0].about.frame_rate;
  }

  // Time after which there is nothing yet, s.
  end() {
    return Math.max(0, ...this.runs.map((r) => (r.state.end - 1) / r.about.frame_rate));
  }

  start() {
    return Math.min(...this.runs.map((r) => r.state.first / r.about.frame_rate));
  }

  numberAt(run, time) {
    const number = Math.floor(time * run.about.frame_rate + 1e-6);
    return Math.min(Math.max(number, run.state.first), run.state.end - 1);
  }

  go(time) {
    this.following = false;
    $("follow").checked = false;
    this.time = Math.min(Math.max(time, this.start()), this.end());
    this.stale = true;
  }

  play(on = !this.playing) {
    if (on && this.time >= this.end() - 1e-9) this.time = this.start();
    this.playing = on;
    if (on) this.following = $("follow").checked = false;
    $("play").textContent = on ? "Pause" : "Play";
    this.last = undefined;
  }

  step(frames) {
    this.play(false);
    const at = this.numberAt(this.runs[0], this.time);
    this.go((at + frames) / this.rate);
  }

  say(text) {
    $("message").hidden = !text;
    $("message").textContent = text ?? "";
  }

  // Asks the server how far the runs have got, for as long as they go on.
  async watch() {
    for (;;) {
      let pause = this.live ? 30 : 500;
      try {
        for (let i = 0; i < this.runs.length; i++) {
          const run = this.runs[i];
          if (run.state.complete && run.state.steps <= run.nextReport) continue;
          const going = run.state.generation !== 0 && !run.state.complete;
          const { paused } = run.state;
          if (await run.look()) this.begin(i);
          if (run.state.paused !== paused) this.stale = true;
          // The last frames come together with the news that there will be no more.
          if (going && this.following && !this.playing) this.time = this.end();
          while (await run.fetchReports()) this.stale = true;
        }
        this.showMessages();
      } catch {
        this.say("the viewer's server has ended; what was fetched can still be looked at");
        [this.told, pause] = [null, 2000];
      }
      await new Promise((done) => setTimeout(done, pause));
    }
  }

  showMessages() {
    const bad = this.runs.flatMap((r) => [...r.bad.values()]);
    const told = this.runs.map((r) => r.state.message).filter(Boolean);
    const text = [...told, ...bad.slice(0, 3)].join("\n");
    if (text !== this.told) this.say(text);
    this.told = text;
  }

  begin(i) {
    this.stages[i].clear();
    this.shown[i] = -1;
    this.settled ??= [];
    this.settled[i] = false;
  }

  // The first time the whole motion is shown, later what is there at the moment.
  fit() {
    const about = this.runs[0].about;
    if (this.fitted && this.stages[0].frame) this.stages[0].settle(this.stages[0].frame, about);
    const [c, r] = [this.stages[0].ball.center, this.stages[0].ball.radius];
    const opening = (this.camera.fov * Math.PI) / 360;
    const distance = (1.15 * r) / Math.sin(Math.min(opening, opening * this.camera.aspect));
    const direction = new Vector3(0.75, -1, 0.45).normalize();
    if (about.camera && !this.fitted) {
      const [from, to, degrees] = about.camera;
      this.camera.fov = degrees;
      this.camera.position.fromArray(from);
      this.controls.target.fromArray(to);
    } else {
      this.controls.target.copy(c);
      this.camera.position.copy(c).addScaledVector(direction, distance);
    }
    this.camera.near = r / 50;
    this.camera.far = r * 100;
    this.fitted = true;
    this.controls.update();
    this.stale = true;
  }

  // What has to be seen at the moment; frames that are not here yet are fetched, and the clock waits for them.
  async update(now) {
    const speed = Number($("speed").value);
    if (this.playing) {
      const wait = this.runs.some((r, i) => this.shown[i] !== this.numberAt(r, this.time) && !r.bad.has(this.numberAt(r, this.time)));
      if (!wait && this.last !== undefined) this.time += (Math.min(now - this.last, 250) / 1000) * speed;
      this.last = now;
      if (this.time >= this.end()) {
        this.time = this.end();
        if (this.runs.every((r) => r.state.complete || r.about.live)) this.play(false);
      }
    } else if (this.following && this.runs.some((r) => !r.state.complete)) {
      this.time = this.end();
    }
    this.runs.forEach((run, i) => this.request(run, i));
  }

  request(run, i) {
    if (run.state.end <= run.state.first) return;
    const number = this.numberAt(run, this.time);
    if (number !== this.shown[i] || run.field !== this.field) {
      run.setField(this.field);
      if (run.has(number)) this.show(run, i, run.frames.get(number));
      // One request for the moment at a time: whoever drags the timeline wants the newest.
      else if (run.pending.size < 2) run.frame(number).then((frame) => frame && this.arrived(run, i, frame));
    } else if (this.playing) {
      for (let k = 1; k <= AHEAD && run.pending.size < 2; k++) {
        if (number + k < run.state.end && !run.has(number + k)) run.frame(number + k);
      }
    }
  }

  // While one drags or the run goes on, an older frame is better than none.
  arrived(run, i, frame) {
    if (run.field === this.field && frame.number >= run.state.first) this.show(run, i, frame);
  }

  show(run, i, frame) {
    const begun = performance.now();
    const stage = this.stages[i];
    if (!this.settled?.[i]) {
      stage.settle(frame, run.about, run.motion);
      this.settled ??= [];
      this.settled[i] = true;
      stage.dark(document.documentElement.classList.contains("dark"));
      if (i === 0 && !this.fitted) this.fit();
    }
    // All runs share one range, or their colours could not be compared.
    const range = Math.max(...this.stages.map((s) => s.range));
    this.stages.forEach((s) => (s.range = range));
    stage.show(frame, this.field);
    this.shown[i] = frame.number;
    this.uploadMilliseconds = performance.now() - begun;
    this.stale = true;
    if (!this.applied?.has(i)) {
      stage.apply();
      (this.applied ??= new Set()).add(i);
    }
  }

  // Draws what has changed. What takes long is drawn as a draft while it moves, and with care when it stands still.
  paint(now) {
    const [width, height] = [$("view").clientWidth, $("view").clientHeight];
    if (this.width !== width || this.height !== height) {
      [this.width, this.height, this.ratio] = [width, height, undefined];
      this.stale = true;
    }
    const rest = !this.stale;
    if (rest) {
      [this.painting, this.pace] = [undefined, 0];
      if (!this.drafting || now - this.moved < REST) return;
      this.drafting = false;
    } else {
      // Only pictures of one movement tell how long a picture takes.
      if (now - this.painting < 1000) this.pace += 0.3 * (now - this.painting - this.pace);
      this.costly ||= this.pace > SLOW;
      this.drafting = this.costly;
      this.moved = this.painting = now;
    }
    this.stale = false;
    this.render(width, height);
    if (rest) this.costly = this.finished() - now > SLOW;
    this.painted++;
    this.describe();
  }

  // The time when all drawing is done; asking for a pixel waits for it.
  finished() {
    const g = this.renderer.getContext();
    g.readPixels(0, 0, 1, 1, g.RGBA, g.UNSIGNED_BYTE, new Uint8Array(4));
    return performance.now();
  }

  render(width, height) {
    // Without a graphics card edges are smoothed by drawing larger, but only what stands still.
    const screen = window.devicePixelRatio || 1;
    const ratio = this.drafting ? 1 : this.software ? Math.max(screen, 1.5) : Math.min(screen, 2);
    if (ratio !== this.ratio) {
      this.ratio = ratio;
      this.renderer.setPixelRatio(ratio);
      this.renderer.setSize(width, height, false);
    }
    const each = width / this.runs.length;
    this.camera.aspect = each / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
    this.stages.forEach((stage, i) => {
      stage.draft(this.drafting);
      this.renderer.setViewport(i * each, 0, each, height);
      this.renderer.setScissor(i * each, 0, each, height);
      this.renderer.render(stage.scene, this.camera);
    });
  }

  describe() {
    const run = this.runs[0];
    $("timeline").min = run.state.first;
    $("timeline").max = Math.max(run.state.end - 1, run.state.first);
    const number = this.numberAt(run, this.time);
    if (document.activeElement !== $("timeline") || this.playing) $("timeline").value = number;
    const of = run.state.complete ? run.state.end - 1 : `${run.state.end - 1}…`;
    $("place").textContent = `frame ${number} of ${of}, ${this.time.toFixed(3)} s`;
    $("now").textContent = this.runs.map((r) => summary(reportAt(r.reports, this.time))).join("\n\n");
    this.charts.draw(this.runs, this.time);
    const field = FIELDS[this.field];
    $("legend").hidden = !field;
    if (field) {
      $("legend-title").textContent = `${field.label} (${field.unit})`;
      $("legend-high").textContent = short(Math.max(...this.stages.map((s) => s.range)) * field.factor);
    }
    $("states").hidden = !this.stages[0].options.contacts || !this.stages.some((s) => s.frame?.contacts.count);
    if (this.live) $("live-pause").textContent = this.runs[this.liveIndex].state.paused ? "Play" : "Pause";
  }

  loop = (now) => {
    this.update(now);
    this.paint(now);
    requestAnimationFrame(this.loop);
  };
}

function summary(report) {
  if (!report) return "";
  const phases = Object.entries(report.seconds).filter(([name]) => name !== "total").sort((a, b) => b[1] - a[1]);
  const times = phases.slice(0, 4).map(([name, s]) => `${name} ${short(1000 * s)} ms`);
  return [
    `step ${report.step}, ${report.converged ? "converged" : "NOT converged"}`,
    `residual ${short(report.residual)} m/s, ${report.iterations} iterations`,
    `${report.contacts} contacts: ${report.sticking} stick, ${report.sliding} slide`,
    times.join(", "),
  ].join("\n");
}

async function begin() {
  const { runs } = await (await fetch("/api/runs")).json();
  const page = new Page(runs.map((about, i) => new Run(i, about)));
  // For tests and for the curious.
  window.muslin = page;
  controls(page);
  page.following = true;
  requestAnimationFrame(page.loop);
  page.watch();
}

begin().catch((error) => {
  $("message").hidden = false;
  $("message").textContent = `the viewer cannot start: ${error.message}`;
});
