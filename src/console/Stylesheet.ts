/** The console's only style sheet. Its colours have a contrast of at least 4.5 to 1, in light and dark. */
export const consoleStyle = `
:root { color-scheme: light dark;
  --ground: light-dark(#f6f7f9, #14171c); --paper: light-dark(#fff, #1c2027); --ink: light-dark(#1b1f26, #e7eaf0); --soft: light-dark(#565f6d, #a4adbb);
  --line: light-dark(#d5dae2, #363d49); --link: light-dark(#0b57b5, #8ebcff); --focus: light-dark(#0b57b5, #ffd257);
  --good: light-dark(#146c34, #79d798); --good-ground: light-dark(#e2f4e8, #15321f); --bad: light-dark(#a81c1c, #ff9d94); --bad-ground: light-dark(#fde8e6, #43191a);
  --wait: light-dark(#7a4d00, #f5c56a); --wait-ground: light-dark(#fdf0d4, #3c2d0d); --quiet-ground: light-dark(#e8ebf0, #2b313b); }
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
header, nav, main, footer { padding: .6rem max(1rem, calc((100vw - 100rem) / 2)); }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; background: var(--paper); border-bottom: 1px solid var(--line); }
.brand { font-weight: 700; color: inherit; text-decoration: none; margin-right: auto; }
nav { display: flex; flex-wrap: wrap; gap: .25rem; background: var(--paper); border-bottom: 1px solid var(--line); padding-block: .35rem; }
nav a { padding: .35rem .7rem; border-radius: 6px; color: inherit; text-decoration: none; }
nav a:hover { background: var(--quiet-ground); } nav a[aria-current] { background: var(--quiet-ground); font-weight: 600; box-shadow: inset 0 -2px var(--link); }
main { padding-block: 1.25rem 2rem; min-height: 60vh; outline: none; } main > p, main > form { margin-bottom: 1rem; }
footer { color: var(--soft); font-size: .875rem; border-top: 1px solid var(--line); }
.alone { max-width: 26rem; margin: 8vh auto 0; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 0 0 .6rem; } h3 { font-size: 1rem; margin: 1rem 0 .4rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.15rem; margin: 0 0 1rem; min-width: 0; overflow-x: auto; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0 1rem; align-items: start; }
a { color: var(--link); text-underline-offset: .15em; } p { margin: .4rem 0; } ul, ol { padding-left: 1.2rem; margin: .4rem 0; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; z-index: 1; background: var(--paper); padding: .5rem 1rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
code, pre { font: .9em/1.5 ui-monospace, monospace; } code { overflow-wrap: anywhere; }
pre { background: var(--ground); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; margin: .4rem 0; max-height: 24rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.said { overflow-wrap: anywhere; unicode-bidi: isolate; } .money { font-variant-numeric: tabular-nums; white-space: nowrap; } time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.soft, small, .none { color: var(--soft); } small { display: block; font-size: .875rem; }
.badge { display: inline-block; padding: 0 .55rem; border-radius: 99px; font-size: .875rem; font-weight: 600; white-space: nowrap; background: var(--quiet-ground); }
.good { color: var(--good); background: var(--good-ground); } .bad { color: var(--bad); background: var(--bad-ground); } .wait { color: var(--wait); background: var(--wait-ground); }
.notice, .warning { padding: .6rem .9rem; border-radius: 8px; margin: 0 0 1rem; } .notice { background: var(--good-ground); color: var(--good); } .warning { background: var(--bad-ground); color: var(--bad); }
.attention { list-style: none; padding: 0; display: grid; gap: .4rem; } .attention li { border-left: 4px solid var(--wait); padding: .15rem .7rem; } .attention .nothing { border-color: var(--good); }
.facts { display: grid; gap: .3rem; margin: 0; } .facts div { display: grid; grid-template-columns: minmax(8rem, 11rem) minmax(0, 1fr); gap: .75rem; }
.facts + form, .facts + details { margin-top: .9rem; } dt { color: var(--soft); } dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; } caption { text-align: left; color: var(--soft); font-size: .875rem; padding-bottom: .3rem; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .875rem; } th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child td { border-bottom: 0; } tbody tr:hover { background: var(--ground); } td { overflow-wrap: break-word; } td code { white-space: nowrap; } td time { white-space: normal; } td ul { margin: 0; }
input, select, textarea, button { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--soft); border-radius: 6px; padding: .35rem .6rem; min-height: 2.25rem; max-width: 100%; }
::placeholder { color: var(--soft); opacity: 1; }
button { cursor: pointer; font-weight: 600; white-space: nowrap; background: var(--quiet-ground); } button:hover { border-color: var(--ink); }
button.strong { background: light-dark(#0b57b5, #1f5fb5); border-color: transparent; color: #fff; } button.danger { background: light-dark(#a81c1c, #8e2626); border-color: transparent; color: #fff; }
.inline { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0; } td .inline { display: inline-flex; }
.stacked, .filters { display: grid; gap: .7rem; margin: .6rem 0; } .stacked { max-width: 40rem; } .stacked button { justify-self: start; }
.filters { grid-template-columns: repeat(auto-fill, minmax(min(100%, 12rem), 1fr)); align-items: end; } .filters > details { grid-column: 1 / -1; } .filters > button { justify-self: start; } .field { margin: 0; } .field label { display: block; font-size: .875rem; color: var(--soft); }
.field input, .field select, .field textarea { width: 100%; } .quick { flex-wrap: nowrap; } .quick input { width: 17rem; min-width: 0; } .person { gap: .75rem; color: var(--soft); font-size: .9375rem; }
dialog { max-width: min(30rem, 90vw); padding: 1.2rem; color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 10px; } dialog::backdrop { background: #0008; } dialog form { margin-top: 1rem; }
tbody tr:focus { outline: 3px solid var(--focus); outline-offset: -3px; background: var(--ground); }
details { margin: .4rem 0; } summary { cursor: pointer; }
.timeline { list-style: none; margin: 0; padding: 0; } .timeline > li { position: relative; padding: 0 0 1rem 1.6rem; border-left: 2px solid var(--line); margin-left: .4rem; }
.timeline > li::before { content: ""; position: absolute; left: -.5rem; top: .4rem; width: .85rem; height: .85rem; border-radius: 50%; background: var(--soft); border: 2px solid var(--paper); }
.timeline > li.good::before { background: var(--good); } .timeline > li.bad::before { background: var(--bad); } .timeline > li.wait::before { background: var(--wait); }
.timeline > li.good, .timeline > li.bad, .timeline > li.wait { background: none; color: inherit; } .timeline > li:last-child { border-color: transparent; padding-bottom: 0; }
.timeline .head { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; } .timeline .what { font-weight: 600; }
.pager { display: flex; gap: 1rem; justify-content: flex-end; margin-top: .75rem; }
.choices { gap: 1rem; } .choices a[aria-current] { color: inherit; font-weight: 600; text-decoration: none; }
.chart { display: block; width: 100%; max-width: 44rem; height: auto; margin-top: .75rem; } .chart text { font: 10px system-ui, sans-serif; fill: var(--soft); } .chart .grid { stroke: var(--line); }
.chart .rate, .spark .rate { fill: none; stroke: var(--link); stroke-width: 2; stroke-linejoin: round; } .chart .dot, .spark .dot { fill: var(--link); } .chart .ended { fill: var(--soft); } .chart .failed { fill: var(--bad); }
.spark { display: block; width: 7.5rem; height: 1.75rem; }
@media (min-width: 48.01rem) { .filters > .field:has([type=search]) { grid-column: span 2; } }
@media (min-width: 64.01rem) { td > div:has(> .said:only-child) { min-width: 8.5rem; } }
@media (max-width: 48rem) {
  header .quick { order: 3; width: 100%; } .quick input { flex: 1; width: auto; min-width: 0; } nav { gap: 0; } nav a { padding: .3rem .55rem; }
  section { padding: .85rem .9rem; border-radius: 8px; } .facts div { grid-template-columns: 1fr; gap: 0; } .facts { gap: .6rem; }
}
@media (max-width: 64rem) {
  td code { white-space: normal; } thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); } table, caption, tbody, tr, td { display: block; }
  tbody tr { border-bottom: 1px solid var(--line); padding: .5rem 0; } tbody tr:last-child { border: 0; } td { border: 0; padding: .1rem 0; display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); gap: .6rem; }
  td::before { content: attr(data-label); color: var(--soft); font-size: .875rem; } td:not([data-label]), td:has(> div:empty) { display: none; }
}
`
