/**
 * The console's one script. It reads a page that asks for it again and puts the new content in the place of the old, unless somebody is at
 * work in it; where that fails it says so, because an old page looks like a good one. The refresh says that it is one, so that it keeps
 * nobody logged in. Without scripts a page is as it was when it was read.
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
    if (!answer.ok) return sayStale();
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main[data-refresh]");
    if (next === null || isBusy()) return;
    main.replaceChildren(...next.children);
  };
  const sayStale = () => {
    if (main.querySelector("[data-stale]") !== null) return;
    const warning = document.createElement("p");
    warning.className = "warning";
    warning.role = "status";
    warning.dataset.stale = "";
    warning.textContent = "This page could not be read again, and may be out of date. Load it anew; perhaps you have to log in again.";
    main.prepend(warning);
  };
  const again = () => look().catch(sayStale);
  setInterval(again, seconds * 1000);
  document.addEventListener("visibilitychange", again);
})();
`
