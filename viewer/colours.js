// Colours of cloth, contacts and fields.

export const CLOTH = [0x3b6bb0, 0xcc5c40, 0x5c9961, 0xc79e40, 0x85619e, 0x4d99a3];
export const OBSTACLE = 0x9e9ea3;

// Came apart, sticks, slides: told apart also by people with colour-blindness.
export const STATES = [0x8a8a8a, 0x0072b2, 0xe69f00];

// A colour as style sheets write it.
export function hex(colour) {
  return `#${colour.toString(16).padStart(6, "0")}`;
}

export const FIELDS = {
  stretch: { label: "stretch", unit: "%", factor: 100 },
  compression: { label: "compression", unit: "%", factor: 100 },
  speed: { label: "speed", unit: "m/s", factor: 1 },
  pressure: { label: "contact pressure", unit: "Pa", factor: 1 },
};

// Viridis at equal distances: even in brightness, readable in grey.
const VIRIDIS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37],
];

// Red, green and blue from 0 to 1 for a share from 0 to 1.
export function colourOf(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  const t = at - low;
  return [0, 1, 2].map((k) => (VIRIDIS[low][k] * (1 - t) + VIRIDIS[low + 1][k] * t) / 255);
}

// 256 colours as bytes, for a texture.
export function ramp() {
  const bytes = new Uint8Array(4 * 256);
  for (let i = 0; i < 256; i++) {
    const [r, g, b] = colourOf(i / 255);
    bytes.set([r * 255, g * 255, b * 255, 255], 4 * i);
  }
  return bytes;
}

export function gradient() {
  const stops = VIRIDIS.map(([r, g, b]) => `rgb(${r},${g},${b})`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

// A number of three digits, as people write it.
export function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}
