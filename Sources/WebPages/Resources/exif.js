// What a picture's first bytes say of whether a chooser has changed it: they took the position away, or made a JPEG of it.

/**
 * `{ make, position }` of a JPEG or HEIC, or null. `position` is "there", "none", or "emptied": Android's chooser overwrites its values
 * with zeros, and leaves the rest.
 */
export function exif(bytes) {
  const start = find(bytes);
  if (start < 0) return null;
  try {
    const tiff = new DataView(bytes.buffer, bytes.byteOffset + start);
    const isLittle = tiff.getUint16(0) === 0x4949;
    const main = entries(tiff, tiff.getUint32(4, isLittle), isLittle);
    const make = main.get(0x010F);
    const position = main.get(0x8825);
    return {
      make: make ? text(tiff, make) : "",
      position: position ? stateOf(tiff, entries(tiff, tiff.getUint32(position.field, isLittle), isLittle)) : "none",
    };
  } catch (error) {
    // What points beyond what was read.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Whose chooser it is that may change pictures, by what the browser says. An iPad says that it is a Mac, but no Mac is touched. */
export function phone({ userAgent, maxTouchPoints }) {
  return {
    android: /Android/.test(userAgent),
    apple: /iPhone|iPad/.test(userAgent) || (/Macintosh/.test(userAgent) && maxTouchPoints > 1),
  };
}

/** What the chooser of such a phone has done to `items`: how many have an emptied position, or are JPEGs of HEIC. */
export function changed(items, { android, apple }) {
  const pictures = items.filter((item) => item.exif);
  // Elsewhere, a camera wrote the zeros, or somebody has made the JPEGs.
  const own = apple ? pictures.filter((item) => item.exif.make === "Apple") : [];
  return {
    emptied: android ? pictures.filter((item) => item.exif.position === "emptied").length : 0,
    converted: own.filter((item) => /\.jpeg$/.test(item.path)).length,
    isWithoutPosition: own.length > 2 && own.every((item) => item.exif.position === "none"),
  };
}

// Exif, two zeros, and the head of a TIFF in either order of bytes.
function find(bytes) {
  const head = [0x45, 0x78, 0x69, 0x66, 0, 0];
  for (let at = bytes.indexOf(head[0]); at >= 0 && at + 14 <= bytes.length; at = bytes.indexOf(head[0], at + 1)) {
    if (!head.every((byte, index) => bytes[at + index] === byte)) continue;
    const order = String.fromCharCode(...bytes.subarray(at + 6, at + 10));
    if (order === "II*\0" || order === "MM\0*") return at + 6;
  }
  return -1;
}

const sizes = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8];

// The directory's entries, by their tags: how many bytes, and where.
function entries(tiff, place, isLittle) {
  const found = new Map();
  const count = Math.min(tiff.getUint16(place, isLittle), 512);
  for (let index = 0; index < count; index++) {
    const at = place + 2 + index * 12;
    const length = (sizes[tiff.getUint16(at + 2, isLittle)] ?? 0) * tiff.getUint32(at + 4, isLittle);
    found.set(tiff.getUint16(at, isLittle), {
      field: at + 8, length, value: length > 4 ? tiff.getUint32(at + 8, isLittle) : at + 8,
    });
  }
  return found;
}

function text(tiff, { value, length }) {
  let result = "";
  for (let at = value; at < value + Math.min(length, 64) && tiff.getUint8(at) !== 0; at++) {
    result += String.fromCharCode(tiff.getUint8(at));
  }
  return result.trim();
}

function stateOf(tiff, position) {
  // Latitude and longitude.
  const values = [2, 4].map((tag) => position.get(tag)).filter(Boolean);
  if (values.length === 0) return "none";
  const isEmpty = values.every(({ value, length }) => {
    for (let at = value; at < value + Math.min(length, 64); at++) if (tiff.getUint8(at) !== 0) return false;
    return true;
  });
  return isEmpty ? "emptied" : "there";
}
