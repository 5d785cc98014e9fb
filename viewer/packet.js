// Frames as the server packs them: "MSL1", length of the header, header in JSON, arrays. Nothing is copied: the arrays
// are views on the bytes that came.

const MAGIC = 0x314c534d;

export function unpack(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC) throw new Error("this is not a frame");
  const length = view.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const base = 8 + length;
  const surfaces = header.surfaces.map((s) => ({
    name: s.name,
    cloth: s.cloth,
    vertices: s.vertices,
    x: new Float32Array(buffer, base + s.x, 3 * s.vertices),
    normal: new Int8Array(buffer, base + s.normal, 4 * s.vertices),
    field: s.field === null ? null : new Float32Array(buffer, base + s.field, s.vertices),
    faces: s.faces === null ? null : new Uint32Array(buffer, base + s.faces[0], 3 * s.faces[1]),
    uv: s.uv === null ? null : new Float32Array(buffer, base + s.uv, 2 * s.vertices),
    origin: s.origin === null ? null : new Uint32Array(buffer, base + s.origin, s.vertices),
  }));
  const c = header.contacts;
  return {
    number: header.number,
    time: header.time,
    facesFrame: header.faces_frame,
    bytes: buffer.byteLength,
    surfaces,
    contacts: {
      count: c.count,
      x: new Float32Array(buffer, base + c.x, 3 * c.count),
      impulse: new Float32Array(buffer, base + c.impulse, 3 * c.count),
      state: new Uint8Array(buffer, base + c.state, c.count),
    },
  };
}
