// Controls of a live simulation: pause, step, restart, changes, and a hand that drags the cloth.

import { Plane, Raycaster, Vector2, Vector3 } from "./three.js";

export class Live {
  constructor(run, say) {
    this.run = run;
    this.say = say;
    this.moving = false;
  }

  async send(message) {
    try {
      const answer = await fetch(`/api/run/${this.run.index}/command`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(message),
      });
      if (!answer.ok) this.say((await answer.json()).error);
    } catch {
      this.say("the simulation has ended");
    }
  }

  // Sends a change of the scene, such as { friction: 0.3 }.
  set(changes) {
    return this.send({ command: "set", ...changes });
  }

  // Takes the vertex under the pointer; true if there is one.
  grab(stage, camera, pointer) {
    const found = stage.pick(camera, new Vector2(pointer.x, pointer.y));
    if (!found) return false;
    const forward = camera.getWorldDirection(new Vector3());
    this.plane = new Plane().setFromNormalAndCoplanarPoint(forward, found.point);
    this.send({ command: "grab", cloth: found.cloth, vertex: found.vertex, to: found.point.toArray() });
    return true;
  }

  // Moves the hand in the plane through the grabbed point that faces the camera. One message at a time: the newest counts.
  async drag(camera, pointer) {
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2(pointer.x, pointer.y), camera);
    const to = ray.ray.intersectPlane(this.plane, new Vector3());
    if (!to) return;
    this.wanted = to.toArray();
    if (this.moving) return;
    this.moving = true;
    while (this.wanted) {
      const next = this.wanted;
      this.wanted = null;
      await this.send({ command: "move", to: next });
    }
    this.moving = false;
  }

  release() {
    this.plane = null;
    return this.send({ command: "release" });
  }
}
