// One run in three dimensions: cloth, obstacles, ground, contacts.

import {
  AmbientLight, BufferAttribute, BufferGeometry, CanvasTexture, Color, DataTexture, DirectionalLight, DoubleSide,
  Fog, HemisphereLight, InstancedMesh, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial,
  MeshLambertMaterial, PlaneGeometry, Raycaster, RepeatWrapping, Scene, Sphere, SphereGeometry, SRGBColorSpace, Vector3,
} from "./three.js";
import { CLOTH, OBSTACLE, STATES, ramp } from "./colours.js";

// Squares of cloth and ground, m.
const CLOTH_SQUARE = 0.05;
const GROUND_SQUARE = 0.25;

// Brightness of the two sides of cloth: plain, under the colours of a field, as wire. What is turned over is seen to be.
const SIDES = { plain: [1.25, 0.8], field: [1, 0.75], wire: [1, 1], wireAtNight: [2.5, 2.5] };

// Samples of a texture seen at a slant.
const FINE = 4;

function checker(low, high, fine) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const g = canvas.getContext("2d");
  g.fillStyle = high;
  g.fillRect(0, 0, 64, 64);
  g.fillStyle = low;
  g.fillRect(0, 0, 32, 32);
  g.fillRect(32, 32, 32, 32);
  const texture = new CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = RepeatWrapping;
  texture.colorSpace = SRGBColorSpace;
  texture.anisotropy = fine;
  return texture;
}

// Squares of a plane, counted from the origin, so that they stay where they are.
function planeSquares(x) {
  const corner = (i) => new Vector3().fromArray(x, 3 * i);
  const along = corner(1).sub(corner(0)).normalize();
  const normal = along.clone().cross(corner(2).sub(corner(0))).normalize();
  const across = normal.cross(along);
  const uv = new Float32Array((2 * x.length) / 3);
  for (let i = 0; i < uv.length / 2; i++) {
    const p = corner(i);
    uv.set([p.dot(along) / (2 * GROUND_SQUARE), p.dot(across) / (2 * GROUND_SQUARE)], 2 * i);
  }
  return uv;
}

// Draws both sides of a surface at once, the back darker.
function twoSided(material, sides) {
  Object.assign(material, { side: DoubleSide, shadowSide: DoubleSide });
  material.onBeforeCompile = (shader) => {
    shader.uniforms.sides = sides;
    shader.fragmentShader = shader.fragmentShader
      .replace("void main() {", "uniform vec2 sides;\nvoid main() {")
      .replace("#include <color_fragment>", "#include <color_fragment>\ndiffuseColor.rgb *= gl_FrontFacing ? sides.x : sides.y;");
  };
  material.customProgramCacheKey = () => "two sides";
}

export class Stage {
  // Without a graphics card textures are sampled once.
  constructor(software) {
    this.fine = software ? 1 : FINE;
    this.scene = new Scene();
    this.options = { wireframe: false, shadows: true, contacts: true, impulses: true, checker: true, obstacles: true };
    this.surfaces = new Map();
    this.range = 0;
    this.floor = 0xffffff;
    this.ball = new Sphere(new Vector3(), 1);
    this.scene.add(new AmbientLight(0xffffff, 0.55), new HemisphereLight(0xffffff, 0x77776f, 1.1));
    this.light = new DirectionalLight(0xffffff, 1.9);
    this.light.castShadow = true;
    this.light.shadow.mapSize.set(1024, 1024);
    this.light.shadow.normalBias = 0.02;
    this.light.shadow.radius = 4;
    this.scene.add(this.light, this.light.target);
    this.weave = checker("#cfcfcf", "#ffffff", this.fine);
    this.weave.repeat.set(0.5 / CLOTH_SQUARE, 0.5 / CLOTH_SQUARE);
    this.ramp = new DataTexture(ramp(), 256, 1);
    this.ramp.colorSpace = SRGBColorSpace;
    this.ramp.needsUpdate = true;
    this.buildGround();
    this.buildContacts();
  }

  buildGround() {
    const texture = checker("#d8d8d4", "#e9e9e6", this.fine);
    this.tiles = checker("#d8d8d4", "#e9e9e6", this.fine);
    this.ground = new Mesh(new PlaneGeometry(1, 1), new MeshLambertMaterial({ map: texture }));
    this.ground.receiveShadow = true;
    this.scene.add(this.ground);
  }

  buildContacts() {
    this.dots = new InstancedMesh(new SphereGeometry(1, 8, 6), new MeshBasicMaterial({ fog: false }), 0);
    this.arrows = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ vertexColors: true, fog: false }));
    this.dots.frustumCulled = this.arrows.frustumCulled = false;
    this.scene.add(this.dots, this.arrows);
  }

  dark(dark) {
    this.scene.background = new Color(dark ? 0x1d1f23 : 0xeef1f4);
    // The ground alone fades; everything else is seen from any distance.
    this.scene.fog = new Fog(this.scene.background, 8 * this.ball.radius, 24 * this.ball.radius);
    this.night = dark;
    this.floor = dark ? 0x5a5c60 : 0xffffff;
    this.ground.material.color.set(this.floor);
    for (const shown of this.surfaces.values()) {
      if (shown.plane) shown.mesh.material.color.set(this.floor);
      if (shown.cloth) this.colour(shown, shown.data);
    }
  }

  // Fits light and ground to a frame, or to the motion if its ball (centre and radius, m) is known.
  settle(frame, about, motion = null) {
    const points = frame.surfaces.filter((s) => s.cloth || !about.planes.includes(s.name));
    const [low, high] = [new Vector3().setScalar(Infinity), new Vector3().setScalar(-Infinity)];
    const p = new Vector3();
    for (const s of points) {
      for (let i = 0; i < s.x.length; i += 3) {
        p.fromArray(s.x, i);
        low.min(p);
        high.max(p);
      }
    }
    if (!Number.isFinite(low.x)) [low.set(-1, -1, 0), high.set(1, 1, 1)];
    this.ball.center.addVectors(low, high).multiplyScalar(0.5);
    this.ball.radius = Math.max(0.5 * low.distanceTo(high), 1e-3);
    if (motion) {
      this.ball.center.fromArray(motion.centre);
      this.ball.radius = Math.max(motion.radius, 1e-3);
      low.z = Math.min(low.z, motion.lowest);
    }
    const [c, r] = [this.ball.center, this.ball.radius];
    this.light.position.copy(c).add(new Vector3(0.35, -0.45, 0.85).normalize().multiplyScalar(4 * r));
    this.light.target.position.copy(c);
    const box = this.light.shadow.camera;
    [box.left, box.right, box.bottom, box.top, box.near, box.far] = [-2 * r, 2 * r, -2 * r, 2 * r, 0.1 * r, 9 * r];
    box.updateProjectionMatrix();
    this.light.shadow.normalBias = 0.01 * r;
    this.ground.visible = about.planes.length === 0;
    // A whole number of squares, so that they stay where they are.
    const size = 40 * GROUND_SQUARE * Math.ceil((40 * r) / (40 * GROUND_SQUARE));
    this.ground.scale.set(size, size, 1);
    this.ground.material.map.repeat.set(size / (2 * GROUND_SQUARE), size / (2 * GROUND_SQUARE));
    this.ground.position.set(0, 0, Math.min(0, low.z - 1e-3));
    this.planes = new Set(about.planes);
  }

  show(frame, field) {
    this.frame = frame;
    this.coloured = field !== null;
    frame.surfaces.forEach((s, i) => this.showSurface(s, i, frame.facesFrame));
    this.showContacts(frame.contacts);
  }

  showSurface(s, index, facesFrame) {
    let shown = this.surfaces.get(s.name);
    if (!shown) {
      shown = this.makeSurface(s, index);
      this.surfaces.set(s.name, shown);
    }
    const g = shown.geometry;
    if (shown.facesFrame !== facesFrame || shown.faces !== s.faces) {
      // Topology changed: buffers of another size need a geometry of their own.
      g.dispose();
      for (const name of Object.keys(g.attributes)) g.deleteAttribute(name);
      g.setIndex(new BufferAttribute(s.faces, 1));
      g.setAttribute("position", new BufferAttribute(new Float32Array(s.x), 3));
      g.setAttribute("normal", new BufferAttribute(new Int8Array(s.normal), 4, true));
      g.setAttribute("uv", new BufferAttribute(s.uv ?? this.plainUv(s), 2));
      shown.facesFrame = facesFrame;
      shown.faces = s.faces;
      shown.plainUv = s.uv;
      shown.field = null;
    } else {
      for (const [name, data] of [["position", s.x], ["normal", s.normal]]) {
        g.attributes[name].array.set(data);
        g.attributes[name].needsUpdate = true;
      }
    }
    if (s.cloth) this.colour(shown, s);
    g.boundingSphere = null;
    shown.data = s;
  }

  plainUv(s) {
    return this.planes?.has(s.name) ? planeSquares(s.x) : new Float32Array(2 * s.vertices);
  }

  makeSurface(s, index) {
    const geometry = new BufferGeometry();
    const plane = !s.cloth && (this.planes?.has(s.name) ?? false);
    const material = new MeshLambertMaterial({ color: s.cloth ? CLOTH[index % CLOTH.length] : OBSTACLE, fog: false });
    const sides = { value: SIDES.plain };
    if (s.cloth) twoSided(material, sides);
    // Cloth lies a fraction of a millimetre above what it rests on: obstacles are drawn a little farther away.
    else Object.assign(material, { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 8 });
    if (plane) {
      material.color.set(this.floor);
      Object.assign(material, { map: this.tiles, side: DoubleSide });
    }
    const mesh = new Mesh(geometry, material);
    mesh.castShadow = !plane;
    mesh.receiveShadow = true;
    mesh.frustumCulled = false;
    this.scene.add(mesh);
    return { geometry, mesh, sides, plane, cloth: s.cloth, colour: material.color.clone() };
  }

  // Cloth is coloured by its field, or by its weave. A field is looked up in a ramp of colours through the coordinates.
  colour(shown, s) {
    const wanted = this.coloured && s.field ? "field" : this.options.checker && shown.plainUv ? "weave" : "plain";
    const uv = shown.geometry.attributes.uv;
    if (wanted === "field") {
      for (let i = 0; i < s.vertices; i++) this.range = Math.max(this.range, s.field[i]);
      const scale = this.range > 0 ? 1 / this.range : 0;
      for (let i = 0; i < s.vertices; i++) {
        uv.array[2 * i] = Math.min(Math.max(s.field[i] * scale, 0.002), 0.998);
        uv.array[2 * i + 1] = 0.5;
      }
      uv.needsUpdate = true;
    } else if (shown.mode === "field" && shown.plainUv) {
      shown.geometry.setAttribute("uv", new BufferAttribute(new Float32Array(shown.plainUv), 2));
    }
    if (wanted === "field" && uv.array === shown.plainUv) {
      shown.geometry.setAttribute("uv", new BufferAttribute(new Float32Array(uv.array), 2));
    }
    const wire = this.options.wireframe ? (this.night ? "wireAtNight" : "wire") : null;
    shown.sides.value = SIDES[wire ?? (wanted === "field" ? "field" : "plain")];
    if (wanted === shown.mode) return;
    shown.mode = wanted;
    const { material } = shown.mesh;
    material.map = { field: this.ramp, weave: this.weave, plain: null }[wanted];
    if (wanted === "field") material.color.set(0xffffff);
    else material.color.copy(shown.colour);
    material.needsUpdate = true;
  }

  showContacts(contacts) {
    const [on, n] = [this.options.contacts, contacts.count];
    if (this.dots.instanceMatrix.count < n) {
      this.scene.remove(this.dots);
      this.dots.dispose();
      this.dots = new InstancedMesh(this.dots.geometry, this.dots.material, Math.ceil(1.5 * n));
      this.dots.frustumCulled = false;
      this.scene.add(this.dots);
    }
    this.dots.count = on ? n : 0;
    this.dots.visible = on && n > 0;
    this.arrows.visible = on && this.options.impulses && n > 0;
    if (!on || n === 0) return;
    const size = Math.min(0.012 * this.ball.radius, 0.3 * this.ball.radius / Math.sqrt(n));
    const matrix = new Matrix4().makeScale(size, size, size);
    const colour = new Color();
    let largest = 0;
    for (let i = 0; i < n; i++) {
      matrix.setPosition(contacts.x[3 * i], contacts.x[3 * i + 1], contacts.x[3 * i + 2]);
      this.dots.setMatrixAt(i, matrix);
      this.dots.setColorAt(i, colour.set(STATES[contacts.state[i]]));
      largest = Math.max(largest, Math.hypot(contacts.impulse[3 * i], contacts.impulse[3 * i + 1], contacts.impulse[3 * i + 2]));
    }
    this.dots.instanceMatrix.needsUpdate = true;
    this.dots.instanceColor.needsUpdate = true;
    if (this.arrows.visible) this.showArrows(contacts, largest);
  }

  // The longest arrow has a fixed length; the others are in proportion.
  showArrows(contacts, largest) {
    const n = contacts.count;
    const scale = largest > 0 ? (0.25 * this.ball.radius) / largest : 0;
    const [ends, colours] = [new Float32Array(6 * n), new Float32Array(6 * n)];
    const colour = new Color();
    for (let i = 0; i < n; i++) {
      colour.set(STATES[contacts.state[i]]);
      for (let k = 0; k < 3; k++) {
        ends[6 * i + k] = contacts.x[3 * i + k];
        ends[6 * i + 3 + k] = contacts.x[3 * i + k] + scale * contacts.impulse[3 * i + k];
      }
      colour.toArray(colours, 6 * i);
      colour.toArray(colours, 6 * i + 3);
    }
    this.arrows.geometry.dispose();
    this.arrows.geometry = new BufferGeometry();
    this.arrows.geometry.setAttribute("position", new BufferAttribute(ends, 3));
    this.arrows.geometry.setAttribute("color", new BufferAttribute(colours, 3));
  }

  // A draft has no shadows: where they cost too much, they wait until things stand still.
  draft(on) {
    this.light.castShadow = this.options.shadows && !on;
  }

  // Applies what the switches say.
  apply() {
    for (const shown of this.surfaces.values()) {
      shown.mesh.material.wireframe = this.options.wireframe && shown.cloth;
      shown.mesh.visible = shown.cloth || this.options.obstacles;
    }
    if (this.frame) this.show(this.frame, this.coloured ? true : null);
  }

  // The vertex of cloth nearest to where the pointer meets it, numbered as in the simulation.
  pick(camera, pointer) {
    const ray = new Raycaster();
    ray.setFromCamera(pointer, camera);
    const meshes = [...this.surfaces.values()].map((s) => s.mesh);
    for (const s of this.surfaces.values()) if (!s.geometry.boundingSphere) s.geometry.computeBoundingSphere();
    const hit = ray.intersectObjects(meshes, false)[0];
    const found = hit && [...this.surfaces.entries()].find(([, s]) => s.mesh === hit.object);
    if (!found || !found[1].cloth) return null;
    const [name, { data }] = found;
    const p = new Vector3();
    const corners = [hit.face.a, hit.face.b, hit.face.c];
    const near = corners.map((v) => p.fromArray(data.x, 3 * v).distanceTo(hit.point));
    const corner = corners[near.indexOf(Math.min(...near))];
    return { cloth: name, vertex: data.origin[corner], point: new Vector3().fromArray(data.x, 3 * corner) };
  }

  clear() {
    for (const shown of this.surfaces.values()) {
      this.scene.remove(shown.mesh);
      shown.mesh.material.dispose();
      shown.geometry.dispose();
    }
    this.surfaces.clear();
    this.frame = null;
    this.range = 0;
  }
}
