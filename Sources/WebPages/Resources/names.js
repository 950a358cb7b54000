// Files that are not sent because of their names. The server knows more such names, and refuses them.

// What systems leave beside photos, which nobody misses.
const LEFTOVERS = new Set([".ds_store", ".nomedia", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"]);
const FOLDERS = new Set(["@eadir", ".@__thumb", "__macosx"]);

/** `{ step, reason }` for a path that is not sent, or null. What is "ignored" needs no attention; what is "left" may be a photo. */
export function omission(path) {
  const parts = path.toLowerCase().split("/");
  const name = parts.pop();
  if (LEFTOVERS.has(name) || name.startsWith("._") || parts.some((part) => FOLDERS.has(part))) {
    return { step: "ignored", reason: "it belongs to a system, and is no photo" };
  }
  // Addresses cannot have them.
  if (/[\0-\x1F\x7F]/.test(path)) return { step: "left", reason: "its name has a control character: rename it" };
  if (name.startsWith(".")) return { step: "left", reason: "its name begins with a dot, so it is hidden" };
  const hidden = parts.find((part) => part.startsWith("."));
  return hidden ? { step: "left", reason: "it is in a folder that is hidden" } : null;
}
