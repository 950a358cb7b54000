// What the map asks for and shows: see grid.js.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { apart, condition, degrees, isWide, lines, question } from "../../../Sources/WebPages/Resources/grid.js";

const cell = (longitude, latitude, photos = 1, key = "1-00000000") =>
  ({ photos, key, place: null, latitude, longitude, box: [longitude, latitude, longitude, latitude] });

function asked(view) {
  const parameters = new URLSearchParams(question(view).split("?")[1]);
  return { box: parameters.get("bbox").split(",").map(Number), width: Number(parameters.get("width")), height: Number(parameters.get("height")) };
}

test("The question covers the view, stays on the Earth, and has as many cells wherever the view is", () => {
  const views = [
    { west: -180, south: -90, east: 180, north: 90, zoom: 1 }, { west: 9, south: 53, east: 11, north: 55, zoom: 8 },
    { west: -200, south: -86, east: -150, north: -60, zoom: 4 }, { west: 10.1201, south: 54.3199, east: 10.1209, north: 54.3203, zoom: 17 },
  ];
  for (const view of views) {
    const { box: [west, south, east, north], width, height } = asked(view);
    assert.ok(west <= Math.max(view.west, -180) && east >= view.east && south <= Math.max(view.south, -90) && north >= view.north);
    assert.ok(west >= -180 && east <= 180 && south >= -90 && north <= 90 && west < east && south < north);
    assert.ok(width > 0 && height > 0 && height <= width);
  }
  // A move by less than a cell asks for the same cells.
  assert.equal(asked(views[1]).width, asked({ ...views[1], west: 9.1, east: 11.1 }).width);
  assert.equal(asked(views[1]).height, asked({ ...views[1], south: 53.2, north: 55.2 }).height);
});

test("Pictures that would cover each other become one, which has the photos and the box of both", () => {
  const cells = [cell(10.12, 54.32, 5, "7-aaaaaaaa"), cell(10.13, 54.33, 2, "8-bbbbbbbb"), cell(151.2, -33.9, 4, "9-cccccccc")];
  const far = apart(cells, 4);
  assert.deepEqual(far.map(({ key, photos }) => [key, photos]), [["7-aaaaaaaa", 7], ["9-cccccccc", 4]]);
  assert.deepEqual(far[0].box, [10.12, 54.32, 10.13, 54.33]);
  assert.equal(cells[0].photos, 5, "what was read stays as it is");
  assert.equal(apart(cells, 16).length, 3);
  // At the poles, where the map ends.
  assert.equal(apart([cell(0, 90), cell(0, -90)], 2).length, 2);
});

test("A box becomes a condition that includes its edges, within the Earth", () => {
  const [west, south, east, north] = condition([10.12345, 54.3, 10.12345, 54.3]).split(",").map(Number);
  assert.ok(west < 10.12345 && east > 10.12345 && south < 54.3 && north > 54.3);
  assert.equal(condition([-180, -90, 180, 90]), "-180,-90,180,90");
  assert.ok(!isWide([10, 54, 10.0002, 54.0002]) && isWide([10, 54, 10.1, 54]));
  assert.equal(degrees(54.321, -10.126), "54.32° N, 10.13° W");
  assert.equal(degrees(-0.5, 0), "0.50° S, 0.00° E");
});

test("The outline that is shipped has land where there is land", async () => {
  const world = JSON.parse(await readFile(new URL("../../../Sources/WebPages/Resources/world.json", import.meta.url), "utf8"));
  const land = lines(world.land, world.scale);
  const isLand = (latitude, longitude) => {
    let isInside = false;
    for (const ring of land) {
      for (let at = 0, before = ring.length - 1; at < ring.length; before = at++) {
        const [[y, x], [endY, endX]] = [ring[at], ring[before]];
        if (y > latitude !== endY > latitude && longitude < ((endX - x) * (latitude - y)) / (endY - y) + x) isInside = !isInside;
      }
    }
    return isInside;
  };
  for (const [latitude, longitude] of [[52.5, 13.4], [-25, 134], [40, -100], [-85, 0], [64.9, -18.5]]) assert.ok(isLand(latitude, longitude));
  for (const [latitude, longitude] of [[40, -40], [0, -150], [-50, 80], [43, 51]]) assert.ok(!isLand(latitude, longitude));
  for (const [latitude, longitude] of [...land, ...lines(world.borders, world.scale)].flat()) {
    assert.ok(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180);
  }
});
