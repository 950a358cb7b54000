// The QR code of a text: rows of true and false. Bytes, correction level M, versions 1 to 10 (213 bytes); see ISO/IEC 18004.

// Of each version: error correction bytes of a block, and blocks.
const BLOCKS = [
  [10, 1], [16, 1], [26, 1], [18, 2], [24, 2], [16, 4], [18, 4], [22, 4], [22, 5], [26, 5],
];

const EXP = new Uint8Array(512);
const LOG = new Uint8Array(256);
for (let power = 0, value = 1; power < 255; power++) {
  EXP[power] = EXP[power + 255] = value;
  LOG[value] = power;
  value = value << 1 ^ (value & 0x80 ? 0x11D : 0);
}
const times = (a, b) => (a && b ? EXP[LOG[a] + LOG[b]] : 0);

// The remainder of the division by the generator of this degree.
function correction(data, degree) {
  let generator = [1];
  for (let power = 0; power < degree; power++) {
    const next = [...generator, 0];
    generator.forEach((factor, index) => { next[index + 1] ^= times(factor, EXP[power]); });
    generator = next;
  }
  const rest = new Uint8Array(degree);
  for (const byte of data) {
    const factor = byte ^ rest[0];
    rest.copyWithin(0, 1);
    rest[degree - 1] = 0;
    for (let index = 0; index < degree; index++) rest[index] ^= times(generator[index + 1], factor);
  }
  return rest;
}

// How many modules of a version are data and correction.
function rawBits(version) {
  let bits = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const count = Math.floor(version / 7) + 2;
    bits -= (25 * count - 10) * count - 55;
    if (version >= 7) bits -= 36;
  }
  return bits;
}

const dataBytes = (version) => (rawBits(version) >> 3) - BLOCKS[version - 1][0] * BLOCKS[version - 1][1];

function encode(bytes, version) {
  const bits = [];
  const push = (value, count) => { for (let bit = count - 1; bit >= 0; bit--) bits.push(value >> bit & 1); };
  push(4, 4);
  push(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) push(byte, 8);
  const room = dataBytes(version) * 8;
  push(0, Math.min(4, room - bits.length));
  while (bits.length % 8) bits.push(0);
  for (let pad = 0xEC; bits.length < room; pad ^= 0xEC ^ 0x11) push(pad, 8);
  const data = [];
  for (let at = 0; at < bits.length; at += 8) data.push(bits.slice(at, at + 8).reduce((sum, bit) => sum << 1 | bit, 0));
  return data;
}

// Blocks, one byte of each in turn; the last blocks may have one byte more.
function interleave(data, version) {
  const [degree, count] = BLOCKS[version - 1];
  const total = rawBits(version) >> 3;
  const short = Math.floor(total / count) - degree;
  const longer = total % count;
  const blocks = [];
  for (let number = 0, at = 0; number < count; number++) {
    const length = short + (number >= count - longer ? 1 : 0);
    const part = data.slice(at, at + length);
    blocks.push({ part, check: correction(part, degree) });
    at += length;
  }
  const all = [];
  for (let index = 0; index <= short; index++) for (const { part } of blocks) if (index < part.length) all.push(part[index]);
  for (let index = 0; index < degree; index++) for (const { check } of blocks) all.push(check[index]);
  return all;
}

function centres(version) {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  const found = [6];
  for (let at = version * 4 + 10; found.length < count; at -= step) found.splice(1, 0, at);
  return found;
}

const MASKS = [
  (x, y) => (x + y) % 2 === 0, (x, y) => y % 2 === 0, (x) => x % 3 === 0, (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0, (x, y) => x * y % 2 + x * y % 3 === 0,
  (x, y) => (x * y % 2 + x * y % 3) % 2 === 0, (x, y) => ((x + y) % 2 + x * y % 3) % 2 === 0,
];

function draw(version, codewords, mask) {
  const size = version * 4 + 17;
  const rows = Array.from({ length: size }, () => new Array(size).fill(false));
  const fixed = Array.from({ length: size }, () => new Array(size).fill(false));
  const set = (x, y, isDark) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    rows[y][x] = isDark;
    fixed[y][x] = true;
  };
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [left, top] of [[3, 3], [size - 4, 3], [3, size - 4]]) {
    for (let dy = -4; dy <= 4; dy++) {
      for (let dx = -4; dx <= 4; dx++) {
        const ring = Math.max(Math.abs(dx), Math.abs(dy));
        set(left + dx, top + dy, ring !== 2 && ring !== 4);
      }
    }
  }
  const marks = centres(version);
  marks.forEach((x, column) => marks.forEach((y, row) => {
    const last = marks.length - 1;
    if (column === 0 && row === 0 || column === 0 && row === last || column === last && row === 0) return;
    for (let dy = -2; dy <= 2; dy++) {
      for (let dx = -2; dx <= 2; dx++) set(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
    }
  }));
  // Level M is 0.
  let rest = mask;
  for (let step = 0; step < 10; step++) rest = rest << 1 ^ (rest >> 9) * 0x537;
  const format = (mask << 10 | rest) ^ 0x5412;
  const bit = (value, index) => (value >> index & 1) === 1;
  for (let index = 0; index <= 5; index++) set(8, index, bit(format, index));
  set(8, 7, bit(format, 6));
  set(8, 8, bit(format, 7));
  set(7, 8, bit(format, 8));
  for (let index = 9; index < 15; index++) set(14 - index, 8, bit(format, index));
  for (let index = 0; index < 8; index++) set(size - 1 - index, 8, bit(format, index));
  for (let index = 8; index < 15; index++) set(8, size - 15 + index, bit(format, index));
  set(8, size - 8, true);
  if (version >= 7) {
    let remainder = version;
    for (let step = 0; step < 12; step++) remainder = remainder << 1 ^ (remainder >> 11) * 0x1F25;
    const words = version << 12 | remainder;
    for (let index = 0; index < 18; index++) {
      const [a, b] = [size - 11 + index % 3, Math.floor(index / 3)];
      set(a, b, bit(words, index));
      set(b, a, bit(words, index));
    }
  }
  let index = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step++) {
      for (let column = 0; column < 2; column++) {
        const x = right - column;
        const y = (right + 1 & 2) === 0 ? size - 1 - step : step;
        if (fixed[y][x]) continue;
        const isDark = index < codewords.length * 8 && (codewords[index >> 3] >> 7 - (index & 7) & 1) === 1;
        index++;
        rows[y][x] = isDark !== MASKS[mask](x, y);
      }
    }
  }
  return rows;
}

// What a reader finds hard: runs, blocks, what resembles a corner, and an excess of one colour.
function penalty(rows) {
  const size = rows.length;
  const lines = [...rows, ...rows[0].map((_, x) => rows.map((row) => row[x]))];
  let sum = 0;
  for (const line of lines) {
    let run = 0;
    line.forEach((isDark, at) => {
      run = at && isDark === line[at - 1] ? run + 1 : 1;
      if (run === 5) sum += 3;
      if (run > 5) sum += 1;
    });
    const text = line.map((isDark) => (isDark ? "1" : "0")).join("");
    for (const pattern of ["00001011101", "10111010000"]) {
      for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + 1)) sum += 40;
    }
  }
  let dark = 0;
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (rows[y][x]) dark++;
      if (y && x && rows[y][x] === rows[y - 1][x] && rows[y][x] === rows[y][x - 1] && rows[y][x] === rows[y - 1][x - 1]) sum += 3;
    }
  }
  return sum + Math.floor(Math.abs(dark * 20 - size * size * 10) / (size * size)) * 10;
}

/** The most bytes of a text. */
export const LONGEST = 213;

export function qr(text) {
  const bytes = new TextEncoder().encode(text);
  const version = BLOCKS.findIndex((_, index) => bytes.length <= dataBytes(index + 1) - (index < 9 ? 2 : 3)) + 1;
  if (!version) throw new RangeError("the text is too long for a QR code");
  const codewords = interleave(encode(bytes, version), version);
  return MASKS.map((_, mask) => draw(version, codewords, mask)).map((rows) => [penalty(rows), rows])
    .reduce((best, each) => (each[0] < best[0] ? each : best))[1];
}
