// The page of a link: whoever has it sends photos, and sees what was sent by it, nothing else.
import { receiveDrops } from "./chosen.js";
import { show } from "./dom.js";
import { Drop } from "./drop.js";

const main = document.getElementById("main");
const drop = new Drop({ about: "about", isGuest: true });
const render = () => show(main, drop.view());

document.addEventListener("redraw", render);
receiveDrops((files) => drop.add(files));
document.getElementById("skip").onclick = () => main.focus();
render();
drop.open();
