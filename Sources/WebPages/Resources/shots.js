// Which files are one shot: of one folder, with one stem, and of kinds that devices write together. The daemon decides about sets in
// the end; here it is decided which files get their names in the inbox at one moment.

const KINDS = new Map([
  ...["jpg", "jpeg", "heic", "heif", "hif"].map((ending) => [ending, "picture"]),
  ...["dng", "cr2", "cr3", "crw", "nef", "nrw", "arw", "raf", "rw2", "orf", "pef", "srw", "mrw", "x3f"].map((ending) => [ending, "raw"]),
  ...["mov", "mp4"].map((ending) => [ending, "film"]),
  ...["xmp", "aae", "thm"].map((ending) => [ending, "sidecar"]),
]);
const MOST = 16;

function parts(path) {
  const cut = path.lastIndexOf("/") + 1;
  const name = path.slice(cut);
  const dot = name.lastIndexOf(".");
  if (dot < 1) return null;
  const kind = KINDS.get(name.slice(dot + 1).toLowerCase());
  let stem = name.slice(0, dot);
  // IMG_1.CR3.xmp belongs to IMG_1.CR3.
  const inner = stem.lastIndexOf(".");
  if (kind === "sidecar" && inner > 0 && KINDS.has(stem.slice(inner + 1).toLowerCase())) stem = stem.slice(0, inner);
  return kind && { kind, key: path.slice(0, cut) + stem.normalize("NFC").toLowerCase() };
}

/** The values in groups, in order: those of one shot, or one alone. `pathOf` gives the path of a value. */
export function shots(values, pathOf) {
  const groups = new Map();
  for (const value of values) {
    const found = parts(pathOf(value));
    const key = found?.key ?? value;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push({ value, kind: found?.kind });
  }
  return [...groups.values()].flatMap((members) =>
    isShot(members.map(({ kind }) => kind)) ? [members.map(({ value }) => value)] : members.map(({ value }) => [value]));
}

function isShot(kinds) {
  const photos = kinds.filter((kind) => kind !== "sidecar");
  // Two pictures of one name are two pictures; a film beside a raw alone is another shot.
  return kinds.length > 1 && kinds.length <= MOST && photos.length > 0 && new Set(photos).size === photos.length
    && (photos.length < 2 || photos.includes("picture"));
}
