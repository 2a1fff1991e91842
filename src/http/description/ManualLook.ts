// Shared by the guides, the contract and the reference: the header, its style, and the optional script of the guides.

/** At the top of every page below `/docs`. */
export const headerStyle = `
:root { color-scheme: light dark; --line: light-dark(#d9dde3, #363c45); --soft: light-dark(#f4f6f8, #1c2026); --back: light-dark(#fff, #12151a);
  --text: light-dark(#1b2027, #dfe4ea); --faint: light-dark(#57606c, #9aa4b0); --link: light-dark(#0a58b8, #8ab8ff); --top: 3.25rem; }
.top, .top * { box-sizing: border-box; }
.top { position: sticky; top: 0; z-index: 10; min-height: var(--top); display: flex; align-items: center; gap: .35rem 1.5rem; padding: .4rem 1.25rem;
  background: var(--back); color: var(--text); border-bottom: 1px solid var(--line); font: 15px/1.4 system-ui, sans-serif; }
.top a { color: inherit; text-decoration: none; padding: .35rem 0; white-space: nowrap; } .top a:hover { text-decoration: underline; }
.top .name { font-weight: 700; } .top nav { display: flex; gap: 1.1rem; } .top [aria-current] { color: var(--link); font-weight: 600; }
.top form { display: flex; gap: .4rem; margin: 0 0 0 auto; flex: 0 1 22rem; }
.top input, .top button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .3rem .65rem; min-width: 0; }
.top input { flex: 1; } .top button { cursor: pointer; } .top input::placeholder { color: var(--faint); opacity: 1; }
.top :focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
@media (max-width: 50rem) { :root { --top: 5.75rem; } .top { flex-wrap: wrap; padding: .4rem 1rem; } .top nav { margin-left: auto; gap: .9rem; font-size: 14px; }
  .top form { flex: 1 0 100%; } }
@media (max-width: 26rem) { .top .name { display: none; } .top nav { margin: 0; flex: 1; justify-content: space-between; } }
`

/** The sections in the header of every page. */
export const rooms = [
  { title: "Guides", at: "/docs/integrating", first: "/docs/integrating" },
  { title: "Contract", at: "/docs/contract", first: "/docs/contract" },
  { title: "Clients", at: "/docs/clients", first: "/docs/clients/typescript" },
  { title: "Reference", at: "/docs", first: "/docs" }
] as const
export type Room = (typeof rooms)[number]

export const SEARCH = "/docs/search"
/** In characters. */
export const LONGEST_SEARCH = 100

/** `here`: the section that the page is in. `words`: the search words. */
export const header = (here: Room["at"] | null, words = ""): string => `<header class="top">
<a class="name" href="/docs/integrating">Payment gateway</a>
<nav aria-label="Documentation">${rooms.map(({ at, first, title }) => `<a href="${first}"${at === here ? ' aria-current="true"' : ""}>${title}</a>`).join("")}</nav>
<form role="search" action="${SEARCH}"><input type="search" name="q" aria-label="Search guides, contract and reference" placeholder="Search guides, contract and reference" maxlength="${LONGEST_SEARCH}" value="${escaped(words)}" required><button>Search</button></form>
</header>`

/** The head and the beginning of a page of the manual. */
export const opening = (title: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Payment gateway</title>
<link rel="icon" href="data:,">
<style>${manualStyle}</style>
</head>
<body>`

/** In display order. A heading's first tab decides. */
export const LANGUAGES = ["Python", "PHP", "TypeScript", "Go", "Java"] as const

const shown = LANGUAGES.map((name) => `.tabs:has(input[value="${name}"]:checked) > section:not([data-language="${name}"])`).join(
  ", "
)

export const manualStyle = `${headerStyle}
* { box-sizing: border-box; }
html { scroll-padding-top: calc(var(--top) + .75rem); background: var(--back); }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; color: var(--text); }
.page { display: grid; grid-template: "pages outline" auto "pages main" 1fr / 14rem minmax(0, 52rem); gap: 0 2.75rem; padding: 0 1.25rem 4rem; }
.pages, .outline { font-size: 15px; } .pages p, .outline p { margin: 0 0 .3rem; font-size: 13px; font-weight: 600; color: var(--faint); }
.pages { grid-area: pages; position: sticky; top: var(--top); align-self: start; max-height: calc(100vh - var(--top)); overflow: auto; scrollbar-width: thin; padding: 1.5rem 0; }
.pages a, .outline a { display: block; padding: .2rem 0; color: inherit; text-decoration: none; } .pages a:hover, .outline a:hover { text-decoration: underline; }
.pages [aria-current] { color: var(--link); font-weight: 650; }
.outline { grid-area: outline; margin: 1.5rem 0 0; border: 1px solid var(--line); border-radius: 6px; padding: .6rem .9rem; columns: 16rem; }
.outline p { column-span: all; } .outline .deep { display: none; }
main { grid-area: main; padding: 1.5rem 0; overflow-wrap: break-word; }
a { color: var(--link); } h1, h2, h3 { line-height: 1.25; margin: 2.2rem 0 .6rem; } h1 { margin-top: 0; font-size: 1.9rem; } h2 { font-size: 1.4rem; } h3 { font-size: 1.1rem; }
h1 a, h2 a, h3 a { color: inherit; text-decoration: none; } h1 code, h2 code, h3 code { font-size: .92em; background: none; padding: 0; }
h2 a:hover::after, h3 a:hover::after { content: " #"; color: var(--faint); }
:target { background: light-dark(#fff6d6, #38300f); } :focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
code, pre { font: 14px/1.55 ui-monospace, monospace; } code { background: var(--soft); border-radius: 4px; padding: .1rem .3rem; overflow-wrap: anywhere; }
figure { margin: .6rem 0 1.1rem; position: relative; } figcaption { font-size: 13px; color: var(--faint); margin-bottom: .2rem; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .75rem .9rem; overflow-x: auto; margin: 0; } pre code { background: none; padding: 0; overflow-wrap: normal; }
.answer { white-space: pre-wrap; border-left: 3px solid var(--line); } .answer code { overflow-wrap: anywhere; }
.k { color: light-dark(#8a2da8, #d8a6f0); } .s { color: light-dark(#1a6b35, #8fd6a3); } .n { color: light-dark(#9a4a00, #f0b67e); } .c { color: var(--faint); } .p { color: var(--link); }
.copy { position: absolute; right: .4rem; top: .4rem; font: 13px/1.3 system-ui, sans-serif; color: var(--faint); background: var(--back); border: 1px solid var(--line); border-radius: 5px; padding: .2rem .55rem; cursor: pointer; }
figcaption ~ .copy { top: -.1rem; } .wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0 1rem; font-size: 15px; }
td, th { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); padding: .4rem .9rem .4rem 0; } td code { overflow-wrap: normal; }
.tabs { border: 0; margin: 1rem 0; padding: 0; min-width: 0; } .tabs .choice { display: none; }
@supports selector(:has(a)) { .tabs .choice { display: flex; flex-wrap: wrap; gap: .2rem; border-bottom: 1px solid var(--line); }
  .choice label { padding: .35rem .8rem; cursor: pointer; border-bottom: 2px solid transparent; } .choice input { position: absolute; opacity: 0; }
  .choice label:has(:checked) { border-color: var(--link); color: var(--link); font-weight: 600; } .choice label:has(:focus-visible) { outline: 2px solid var(--link); }
  .tabs h3, .tabs legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); } ${shown} { display: none; } }
.found { padding: 0; list-style: none; } .found li { margin: 0 0 1.2rem; } .found p { margin: .1rem 0; } .found small, .none { color: var(--faint); } mark { background: light-dark(#ffe99a, #5c4a00); color: inherit; }
footer { border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 1rem; display: flex; justify-content: space-between; gap: 1rem; }
@media (min-width: 82rem) { .page { grid-template: "pages main outline" / 14rem minmax(0, 52rem) 15rem; }
  .outline { position: sticky; top: var(--top); align-self: start; max-height: calc(100vh - var(--top)); overflow: auto; scrollbar-width: thin; margin: 0; padding: 1.5rem 0; border: 0; columns: auto; }
  .outline .deep { display: block; padding-left: .8rem; font-size: 14px; } }
@media (max-width: 50rem) { .page { display: block; padding: 0 1rem 3rem; } .pages { position: static; max-height: none; border-top: 1px solid var(--line); } .outline { columns: 10rem; } .pages a, .outline a { padding: .35rem 0; } }
`

/** Optional features of a page: copy buttons, and one language choice for all pages. It runs once, at the end of the page. */
export const manualScript = `
"use strict";
const choices = [...document.querySelectorAll(".tabs input")];
const choose = (language) => choices.forEach((one) => { if (one.dataset.names.split(" ").includes(language)) one.checked = true; });
const kept = (value) => { try { return value === undefined ? localStorage.getItem("language") : localStorage.setItem("language", value); } catch { return null; } };
const reveal = () => {
  const tab = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest(".tabs > section");
  if (!tab) return;
  choose(tab.dataset.language);
  tab.querySelector("h3").scrollIntoView();
};
choose(kept());
reveal();
addEventListener("hashchange", reveal);
for (const one of choices) one.addEventListener("change", () => { choose(one.value); kept(one.value); one.scrollIntoView({ block: "nearest" }); });
for (const code of document.querySelectorAll("figure > pre:not(.answer) > code")) {
  const button = Object.assign(document.createElement("button"), { className: "copy", type: "button", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent + "\\n").then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Not allowed"; });
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  code.parentElement.after(button);
}
`

export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
