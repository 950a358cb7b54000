// What the map asks for, and how it shows it: cells of a grid, in degrees. Nothing here touches a page.

/** Pixels between two pictures on the map. */
const CELL = 76;
const LIMIT = 85.0511;

/** Pixels of the whole Earth at a zoom. */
const world = (zoom) => 256 * 2 ** zoom;

/**
 * The question for what a view shows, `{ west, south, east, north, zoom }`: cells whose borders stay where they are while the map is
 * moved, a cell beyond the view on each side.
 */
export function question({ west, south, east, north, zoom }) {
  const width = (360 * CELL) / world(zoom);
  // A degree of latitude is longer on the map the farther it is from the equator; in steps, or each move would make other cells.
  const middle = Math.round((Math.max(-80, Math.min(80, (south + north) / 2))) / 10) * 10;
  const height = width * Math.cos((middle * Math.PI) / 180);
  const number = (value) => String(Math.round(value * 1e6) / 1e6);
  const box = [
    Math.max(-180, west - width), Math.max(-90, south - height), Math.min(180, east + width), Math.min(90, north + height),
  ];
  return `places?bbox=${box.map(number).join(",")}&width=${number(width)}&height=${number(height)}`;
}

/** Cells that stand apart: of two whose pictures would cover each other, one, with the photos of both. */
export function apart(cells, zoom) {
  const kept = [];
  const scale = world(zoom);
  for (const cell of cells) {
    const [x, y] = [((cell.longitude + 180) / 360) * scale, mercator(cell.latitude) * scale];
    const near = kept.find((other) => Math.abs(other.x - x) < CELL * 0.7 && Math.abs(other.y - y) < CELL * 0.7);
    if (near) {
      near.photos += cell.photos;
      near.box = union(near.box, cell.box);
    } else {
      kept.push({ ...cell, x, y });
    }
  }
  return kept;
}

/** From 0 at the north of the map to 1 at its south. */
function mercator(latitude) {
  const angle = (Math.max(-LIMIT, Math.min(LIMIT, latitude)) * Math.PI) / 180;
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + angle / 2)) / (2 * Math.PI);
}

function union(one, other) {
  return [Math.min(one[0], other[0]), Math.min(one[1], other[1]), Math.max(one[2], other[2]), Math.max(one[3], other[3])];
}

/** A box as a condition of a search: a little larger, since the index rounds. */
export function condition([west, south, east, north]) {
  const margin = 0.0001;
  const round = (value) => Math.round(value * 1e5) / 1e5;
  return [
    Math.max(-180, round(west - margin)), Math.max(-90, round(south - margin)), Math.min(180, round(east + margin)),
    Math.min(90, round(north + margin)),
  ].join(",");
}

/** Whether photos of a box can be shown apart by coming closer. */
export function isWide([west, south, east, north]) {
  return Math.max(east - west, north - south) > 0.0005;
}

/** `54.32° N, 10.12° E` */
export function degrees(latitude, longitude) {
  const side = (value, positive, negative) => `${Math.abs(value).toFixed(2)}° ${value < 0 ? negative : positive}`;
  return `${side(latitude, "N", "S")}, ${side(longitude, "E", "W")}`;
}

/** Lines of points `[latitude, longitude]` from differences of hundredths of a degree, as world.json has them. */
export function lines(paths, scale) {
  return paths.map((path) => {
    const points = [];
    let [x, y] = [0, 0];
    for (let at = 0; at < path.length; at += 2) {
      x += path[at];
      y += path[at + 1];
      points.push([y / scale, x / scale]);
    }
    return points;
  });
}
