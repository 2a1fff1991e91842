/**
 * The console's only script; every page works without it. It does three things.
 *
 * A page that refreshes is fetched again, and its content replaced, unless a person is working in it. A refresh identifies
 * itself, so that it does not keep a session alive.
 *
 * Such a page is never silently outdated: every second the script sends the console a liveness check, which needs the database.
 * If there is no answer within 1.2 s, the page warns that it may be out of date, within three seconds after the database
 * failed. It is fetched again as soon as there is an answer.
 *
 * The keys `/`, `j`, `k`, Enter and `?` are shortcuts. A person can turn them off, because speech input presses keys
 * unintentionally.
 */
export const consoleScript = `"use strict";
(() => {
  const main = document.querySelector("main");
  const rows = () => [...main.querySelectorAll("tbody tr")];

  const refreshing = () => {
    const seconds = Number(main.dataset.refresh);
    let isStale = false;
    const isRow = (element) => element instanceof HTMLTableRowElement;
    const isBusy = () => main.contains(document.activeElement) && document.activeElement !== main && !isRow(document.activeElement)
      || String(getSelection()) !== "" || main.querySelector("details[open]") !== null;
    const ask = (address, ms) => fetch(address, { headers: { "x-console-refresh": "1" }, redirect: "error", signal: AbortSignal.timeout(ms) });
    const sayStale = () => {
      isStale = true;
      if (main.querySelector("[data-stale]") !== null) return;
      const warning = document.createElement("p");
      warning.className = "warning";
      warning.role = "status";
      warning.dataset.stale = "";
      warning.textContent = "Since " + new Date().toISOString().slice(11, 19) + " UTC this page cannot be read again, and may be out of date. It is tried on; perhaps you have to log in again.";
      main.prepend(warning);
    };
    const look = async () => {
      if (document.hidden || isBusy()) return;
      const answer = await ask(location.href, 10_000);
      if (!answer.ok) return sayStale();
      const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main[data-refresh]");
      if (next === null || isBusy()) return;
      const place = rows().indexOf(document.activeElement);
      main.replaceChildren(...next.children);
      if (place >= 0) goTo(place);
      isStale = false;
    };
    const again = () => look().catch(sayStale);
    const feel = async () => {
      if (document.hidden) return;
      const answer = await ask("/alive", 1_200);
      if (!answer.ok) return sayStale();
      if (isStale) await again();
    };
    setInterval(again, seconds * 1000);
    setInterval(() => feel().catch(sayStale), 1_000);
    document.addEventListener("visibilitychange", again);
  };

  const goTo = (place) => {
    const row = rows()[place];
    if (row === undefined) return;
    row.tabIndex = -1;
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const place = rows().findIndex((row) => row.contains(document.activeElement));
    goTo(place < 0 ? (by > 0 ? 0 : rows().length - 1) : place + by);
  };

  const keys = () => {
    const help = document.querySelector("#keyboard");
    const opener = document.querySelector("#keyboard-show");
    const toggle = document.querySelector("#keyboard-on");
    const kept = "console-keys";
    const isOn = () => localStorage.getItem(kept) !== "off";
    const say = () => { toggle.textContent = isOn() ? "Turn these keys off" : "Turn these keys on"; };
    opener.hidden = false;
    opener.addEventListener("click", () => help.showModal());
    toggle.addEventListener("click", () => { localStorage.setItem(kept, isOn() ? "off" : "on"); say(); });
    say();
    const search = () => {
      const field = main.querySelector("input[type=search]") ?? document.querySelector("#quick");
      field.focus();
      field.select();
    };
    const open = () => document.activeElement instanceof HTMLTableRowElement && document.activeElement.querySelector("a")?.click();
    const actions = { "/": search, j: () => step(1), k: () => step(-1), Enter: open, "?": () => help.showModal() };
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target.closest("input, select, textarea, dialog") !== null;
      if (!isOn() || isTyping || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key)) return;
      if (event.key === "Enter" && !(event.target instanceof HTMLTableRowElement)) return;
      event.preventDefault();
      actions[event.key]();
    });
  };

  if (main?.dataset.refresh !== undefined) refreshing();
  if (document.querySelector("#keyboard") !== null) keys();
})();
`
