// A worker that reads files for the page.
import { read } from "./read.js";

let last = Promise.resolve();

onmessage = ({ data: { number, blob, withExif } }) => {
  last = last.then(async () => {
    try {
      postMessage({ number, found: await read(blob, withExif) });
    } catch (error) {
      postMessage({ number, error: error.message || error.name });
    }
  });
};
