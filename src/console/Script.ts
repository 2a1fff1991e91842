/**
 * The console's one script. It reads a page that asks for it again and puts the new content in the place of the old, unless somebody is at
 * work in it. The refresh says that it is one, so that it keeps nobody logged in. Without scripts a page is as it was when it was read.
 */
export const consoleScript = `"use strict";
(() => {
  const main = document.querySelector("main[data-refresh]");
  if (main === null) return;
  const seconds = Number(main.dataset.refresh);
  const isBusy = () => document.hidden || main.contains(document.activeElement) && document.activeElement !== main
    || String(getSelection()) !== "" || main.querySelector("details[open]") !== null;
  const look = async () => {
    if (isBusy()) return;
    const answer = await fetch(location.href, { headers: { "x-console-refresh": "1" }, redirect: "error" });
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main[data-refresh]");
    if (next === null || isBusy()) return;
    main.replaceChildren(...next.children);
  };
  setInterval(() => look().catch(() => undefined), seconds * 1000);
})();
`
