import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { changed, exif, phone } from "../../../Sources/WebPages/Resources/exif.js";
import { Pace } from "../../../Sources/WebPages/Resources/pace.js";
import { qr } from "../../../Sources/WebPages/Resources/qr.js";
import { read } from "../../../Sources/WebPages/Resources/read.js";
import { Sha256 } from "../../../Sources/WebPages/Resources/sha256.js";
import { shots } from "../../../Sources/WebPages/Resources/shots.js";
import { sentences } from "../../../Sources/WebPages/Resources/text.js";

const MIB = 1 << 20;

test("clauses become sentences, and paths stay as they are", () => {
  assert.equal(sentences("too many tries", null, "Wait a minute."), "Too many tries. Wait a minute.");
  assert.equal(sentences("it’s there, now"), "It’s there, now.");
  assert.equal(sentences("über"), "Über.");
  for (const path of ["in/fake.jpg", "fake.jpg", "a_b"]) assert.equal(sentences(`${path} is not where it was put`), `${path} is not where it was put.`);
});

test("a chunk shrinks below a limit that nobody told, and stays there", () => {
  const pace = new Pace();
  let sent = 0;
  for (let number = 0; number < 40; number++) {
    if (pace.size > MIB) {
      assert.ok(pace.refused(pace.size));
    } else {
      sent++;
      pace.accepted(pace.size, 0.1);
    }
  }
  assert.ok(pace.size <= MIB && pace.size >= MIB / 2 && sent > 30);
  assert.equal(pace.refused(MIB / 2), false);
});

test("it grows with a fast line, to twice at a time, and shrinks on a slow or broken one", () => {
  const pace = new Pace();
  const sizes = [];
  for (let number = 0; number < 4; number++) {
    pace.accepted(pace.size, 0.05);
    sizes.push(pace.size / MIB);
  }
  assert.deepEqual(sizes, [16, 32, 32, 32]);
  pace.accepted(pace.size, 600);
  assert.equal(pace.size, 16 * MIB);
  pace.broken();
  assert.equal(pace.size, 8 * MIB);
  for (let number = 0; number < 10; number++) pace.broken();
  assert.equal(pace.size, MIB / 2);
});

test("shots are what devices write together", () => {
  const of = (paths) => shots(paths, (path) => path).map((shot) => shot.length);
  assert.deepEqual(of(["IMG_1.HEIC", "IMG_1.MOV", "IMG_2.HEIC"]), [2, 1]);
  assert.deepEqual(of(["IMG_1.HEIC", "IMG_2.HEIC", "IMG_1.MOV"]), [2, 1]);
  assert.deepEqual(of(["a/DSC_1.NEF", "a/dsc_1.jpg", "a/DSC_1.NEF.xmp", "b/DSC_1.JPG"]), [3, 1]);
  assert.deepEqual(of(["x.jpg", "x.heic"]), [1, 1]);
  assert.deepEqual(of(["x.nef", "x.mov"]), [1, 1]);
  assert.deepEqual(of(["x.png", "x.mov", "y.xmp", ".jpg", "jpg"]), [1, 1, 1, 1, 1]);
  assert.deepEqual(of(["e\u0301.jpg", "\u00e9.mov"]), [2]);
  assert.deepEqual(of(["one.jpg", "one.jpg"]), [1, 1]);
});

test("a QR code has its corners, for each length", () => {
  for (let length = 1; length <= 213; length++) {
    const rows = qr("x".repeat(length));
    assert.equal(rows.length % 4, 1);
    for (const [x, y] of [[0, 0], [rows.length - 7, 0], [0, rows.length - 7]]) {
      assert.ok(rows[y][x] && rows[y + 3][x + 3] && !rows[y + 1][x + 1]);
    }
  }
  assert.throws(() => qr("x".repeat(214)), RangeError);
});

test("SHA-256 is that of others, whatever the pieces", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_000]) {
    const bytes = Uint8Array.from({ length }, (_, index) => index * 7);
    for (const piece of [1, 63, 64, 65, 4096].filter((size) => length / size < 5000)) {
      const hash = new Sha256();
      for (let at = 0; at < length; at += piece) hash.update(bytes.subarray(at, at + piece));
      assert.equal(Buffer.from(hash.digest()).toString("hex"), createHash("sha256").update(bytes).digest("hex"), `${length} by ${piece}`);
    }
  }
});

test("a file is read whole by the browser's own SHA-256, or in pieces", async () => {
  const bytes = new Uint8Array(17 * MIB).map((_, index) => index);
  for (const size of [5, 16 * MIB, 17 * MIB]) {
    const { digest } = await read(new Blob([bytes.subarray(0, size)]), false);
    assert.equal(Buffer.from(digest).toString("hex"), createHash("sha256").update(bytes.subarray(0, size)).digest("hex"));
  }
});

// A TIFF of the maker, and of a position: 24 bytes a value.
function picture(make, position, isLittle = true) {
  const bytes = new Uint8Array(400).fill(0xFF);
  const tiff = new DataView(bytes.buffer, 30, 300);
  for (let at = 0; at < 300; at++) tiff.setUint8(at, 0);
  bytes.set([0x45, 0x78, 0x69, 0x66, 0, 0], 24);
  const entry = (at, tag, type, count, value) => {
    tiff.setUint16(at, tag, isLittle);
    tiff.setUint16(at + 2, type, isLittle);
    tiff.setUint32(at + 4, count, isLittle);
    tiff.setUint32(at + 8, value, isLittle);
  };
  tiff.setUint16(0, isLittle ? 0x4949 : 0x4D4D);
  tiff.setUint16(2, 42, isLittle);
  tiff.setUint32(4, 8, isLittle);
  tiff.setUint16(8, position ? 2 : 1, isLittle);
  entry(10, 0x010F, 2, make.length + 1, 60);
  [...make].forEach((letter, index) => tiff.setUint8(60 + index, letter.charCodeAt(0)));
  if (position) {
    entry(22, 0x8825, 4, 1, 100);
    tiff.setUint16(100, 2, isLittle);
    entry(102, 2, 5, 3, 200);
    entry(114, 4, 5, 3, 240);
    if (position === "there") for (let at = 200; at < 264; at += 4) tiff.setUint32(at, 7, isLittle);
  }
  return bytes;
}

test("a position is there, or emptied, or none, in either order of bytes", () => {
  for (const isLittle of [true, false]) {
    assert.deepEqual(exif(picture("Apple", null, isLittle)), { make: "Apple", position: "none" });
    assert.deepEqual(exif(picture("Google", "emptied", isLittle)), { make: "Google", position: "emptied" });
    assert.deepEqual(exif(picture("Google", "there", isLittle)), { make: "Google", position: "there" });
  }
});

test("bytes that are no picture, cut or hostile say nothing", () => {
  assert.equal(exif(new Uint8Array(0)), null);
  const whole = picture("Google", "there");
  for (let length = 0; length < whole.length; length++) exif(whole.slice(0, length));
  let seed = 7;
  for (let round = 0; round < 20_000; round++) {
    const bytes = whole.slice();
    for (let change = 0; change < 4; change++) {
      seed = seed * 1_103_515_245 + 12_345 & 0x7FFF_FFFF;
      bytes[30 + (seed >> 8) % 120] = seed >> 20;
    }
    const found = exif(bytes);
    assert.ok(found === null || ["there", "emptied", "none"].includes(found.position));
  }
});

test("what a chooser has changed is said on the phones that do it alone", () => {
  const items = [["Apple", "none", "a.jpeg"], ["Apple", "none", "b.HEIC"], ["Apple", "none", "c.heic"], ["Google", "emptied", "d.jpg"], [null, null, "e.mov"]]
    .map(([make, position, path]) => ({ path, exif: make && { make, position } }));
  const of = (userAgent, maxTouchPoints = 0) => changed(items, phone({ userAgent, maxTouchPoints }));
  const nothing = { emptied: 0, converted: 0, isWithoutPosition: false };
  assert.deepEqual(of("Mozilla/5.0 (X11; Linux x86_64)", 5), nothing);
  assert.deepEqual(of("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"), nothing);
  assert.deepEqual(of("Mozilla/5.0 (Linux; Android 15; K)", 5), { ...nothing, emptied: 1 });
  const apple = { emptied: 0, converted: 1, isWithoutPosition: true };
  assert.deepEqual(of("Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)", 5), apple);
  // An iPad.
  assert.deepEqual(of("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", 5), apple);
});

test("a file of another length than when it was chosen is not read, by either way", async () => {
  for (const size of [10, 17 * MIB]) {
    for (const now of [size - 1, size + 1]) {
      const there = new Blob([new Uint8Array(now)]);
      const file = { size, arrayBuffer: () => there.arrayBuffer(), stream: () => there.stream(), slice: (...range) => there.slice(...range) };
      await assert.rejects(read(file, true), /another length/);
    }
  }
});

test("the reading of a file ends when it is wanted no more", async () => {
  let pieces = 0;
  const abort = new AbortController();
  const stream = () => new ReadableStream({
    pull(controller) {
      if (++pieces === 3) abort.abort();
      controller.enqueue(new Uint8Array(MIB));
    },
  });
  await assert.rejects(read({ size: 300 * MIB, stream, slice: () => new Blob([]) }, false, abort.signal), { name: "AbortError" });
  assert.ok(pieces < 10);
});
