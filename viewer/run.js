// A run as the page knows it: what the server says about it, and the frames and step reports fetched so far.

import { unpack } from "./packet.js";

// Frames kept, in bytes, so that scrubbing back needs no new request.
const MOST_BYTES = 400e6;
const MOST_REPORTS = 200000;

async function ask(path) {
  const answer = await fetch(path);
  if (!answer.ok) {
    const why = await answer.json().catch(() => ({ error: answer.statusText }));
    throw new Error(why.error);
  }
  return answer;
}

export class Run {
  constructor(index, about) {
    this.index = index;
    this.about = about;
    this.state = { generation: 0, first: 0, end: 0, steps: 0, complete: false, paused: false, message: null };
    this.reports = [];
    this.nextReport = 0;
    this.field = null;
    this.forget();
  }

  forget() {
    this.frames = new Map();
    this.faces = new Map();
    this.bad = new Map();
    this.pending = new Map();
    this.bytes = 0;
  }

  // Looks how far the run has got; says whether it began anew.
  async look() {
    const { state, run } = await (await ask(`/api/run/${this.index}/state`)).json();
    const anew = state.generation !== this.state.generation;
    if (anew) {
      this.forget();
      this.reports = [];
      this.nextReport = 0;
      // Where it all happens, as far as it is known; without it the first frame has to do.
      this.motion = await ask(`/api/run/${this.index}/extent`).then((a) => a.json()).catch(() => null);
    }
    this.state = state;
    this.about = run;
    return anew;
  }

  setField(field) {
    if (field === this.field) return;
    this.field = field;
    this.frames.clear();
    this.pending.clear();
    this.bytes = 0;
  }

  has(number) {
    return this.frames.has(number);
  }

  // A frame, fetched unless it is here. Null for one that is damaged; `bad` says why.
  frame(number) {
    if (this.frames.has(number)) return Promise.resolve(this.frames.get(number));
    if (this.bad.has(number)) return Promise.resolve(null);
    if (!this.pending.has(number)) {
      const generation = this.state.generation;
      const field = this.field;
      const known = this.lastFaces === undefined ? "" : `faces=${this.lastFaces}`;
      const coloured = field ? `field=${field}` : "";
      const query = [known, coloured].filter(Boolean).join("&");
      const fetched = this.fetchFrame(number, query)
        .then((frame) => {
          if (generation === this.state.generation && field === this.field) this.keep(frame);
          return frame;
        })
        .catch((error) => {
          // A run that does not answer may answer later; a frame that is damaged stays so.
          if (!(error instanceof TypeError)) this.bad.set(number, error.message);
          return null;
        })
        .finally(() => {
          if (this.pending.get(number) === fetched) this.pending.delete(number);
        });
      this.pending.set(number, fetched);
    }
    return this.pending.get(number);
  }

  async fetchFrame(number, query) {
    const path = `/api/run/${this.index}/frame/${number}`;
    const begun = performance.now();
    let frame = unpack(await (await ask(`${path}?${query}`)).arrayBuffer());
    if (!this.addFaces(frame)) {
      // Its connectivity was taken for known, but belongs to a frame that this page never saw.
      const again = this.field ? `?field=${this.field}` : "";
      frame = unpack(await (await ask(path + again)).arrayBuffer());
      this.addFaces(frame);
    }
    this.fetchMilliseconds = performance.now() - begun;
    return frame;
  }

  // Gives a frame the connectivity it shares with others.
  addFaces(frame) {
    const key = frame.facesFrame;
    if (frame.surfaces.every((s) => s.faces !== null)) {
      this.faces.set(key, frame.surfaces.map((s) => ({ faces: s.faces, uv: s.uv, origin: s.origin })));
      this.lastFaces = key;
      if (this.faces.size > 8) this.faces.delete(this.faces.keys().next().value);
      return true;
    }
    const known = this.faces.get(key);
    if (known === undefined) return false;
    frame.surfaces.forEach((s, i) => Object.assign(s, known[i]));
    return true;
  }

  keep(frame) {
    this.frames.set(frame.number, frame);
    this.bytes += frame.bytes;
    for (const [number, old] of this.frames) {
      if (this.bytes <= MOST_BYTES) break;
      this.frames.delete(number);
      this.bytes -= old.bytes;
    }
  }

  // Fetches the reports that came since the last time.
  async fetchReports() {
    if (this.state.steps <= this.nextReport || this.fetching) return false;
    this.fetching = true;
    try {
      const generation = this.state.generation;
      const { steps, next } = await (await ask(`/api/run/${this.index}/steps?from=${this.nextReport}`)).json();
      if (generation !== this.state.generation) return false;
      this.nextReport = next;
      this.reports.push(...steps);
      if (this.reports.length > MOST_REPORTS) this.reports.splice(0, this.reports.length - MOST_REPORTS);
      return steps.length > 0;
    } finally {
      this.fetching = false;
    }
  }
}
