// The files that somebody chose or dropped, with the folders they are in.

/** `{ file, path, size, modified }` for each file of an input. */
export function chosen(input) {
  return described([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
}

/** The same for what was dropped, folders included. To be called while it is being dropped. */
export async function dropped(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found = [];
  for (const { entry, file } of items) {
    if (entry) await collect(entry, "", found);
    // What is of no disk, such as a picture of another page.
    else if (file) found.push({ file, path: file.name });
  }
  return described(found);
}

async function collect(entry, folder, found) {
  const path = folder + entry.name;
  if (entry.isFile) {
    found.push({ path, file: await new Promise((done) => entry.file(done, () => done(null))) });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    // Some at a time, until there are none.
    const entries = await new Promise((done) => reader.readEntries(done, () => done(null)));
    if (!entries) found.push({ path, file: null });
    if (!entries?.length) return;
    for (const each of entries) await collect(each, `${path}/`, found);
  }
}

// The browser looks at each file to say these, so the page waits after some of them. What cannot be read is said, too: whoever deletes
// a folder must know that not all of it was sent.
async function described(files) {
  const found = [];
  for (const [index, { file, path }] of files.entries()) {
    if (index % 100 === 99) await new Promise((done) => setTimeout(done));
    found.push(file ? { file, path, size: file.size, modified: Math.max(0, Math.floor(file.lastModified)) }
      : { file: new Blob([]), path, size: 0, modified: 0, mistake: "it cannot be read" });
  }
  return found;
}

/** Gives `receive` a promise of what is dropped anywhere on the page, which a browser would open otherwise. */
export function receiveDrops(receive) {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  let depth = 0;
  const mark = (change) => {
    depth = change === 0 ? 0 : depth + change;
    document.body.classList.toggle("dragging", depth > 0);
  };
  addEventListener("dragenter", (event) => hasFiles(event) && mark(1));
  addEventListener("dragleave", (event) => hasFiles(event) && mark(-1));
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(0);
    receive(dropped(event.dataTransfer));
  });
}
