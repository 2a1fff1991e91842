// The API description as one page. Everything on it comes from /openapi.json of the same origin and is inserted as text, never as
// markup; nothing is loaded from anywhere else.

export const docsStyle = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; border-right: 1px solid var(--line); padding: 1rem; box-sizing: border-box; }
nav a { display: block; color: inherit; text-decoration: none; padding: .1rem 0; overflow-wrap: anywhere; font-size: 13px; }
nav a:hover, nav a:focus { text-decoration: underline; }
nav h2 { font-size: 13px; margin: 1rem 0 .2rem; text-transform: uppercase; letter-spacing: .05em; opacity: .7; }
main { padding: 1.5rem 2rem; max-width: 60rem; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
h3 { margin: 0; font-size: 16px; overflow-wrap: anywhere; } h4 { margin: 1rem 0 .3rem; font-size: 14px; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } pre { background: var(--soft); padding: .7rem; overflow: auto; border-radius: 4px; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); padding: .25rem .5rem .25rem 0; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border: 0; } main { padding: 1rem; } }
`

export const docsScript = `
"use strict";
const make = (tag, text, ...inner) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...inner);
  return element;
};
const rows = (heads, lines) => {
  const head = make("tr", "", ...heads.map((text) => make("th", text)));
  return make("table", "", head, ...lines.map((cells) => make("tr", "", ...cells.map((cell) => make("td", cell)))));
};
const show = (value) => make("pre", typeof value === "string" ? value : JSON.stringify(value, null, 2));
const pick = (document, ref) => ref.slice(2).split("/").reduce((tree, part) => tree[part.replace(/~1/g, "/").replace(/~0/g, "~")], document);
const typeOf = (document, schema) => {
  if (!schema) return "any";
  if (schema.$ref) return typeOf(document, pick(document, schema.$ref));
  const choices = schema.anyOf || schema.oneOf;
  if (choices) return [...new Set(choices.map((one) => typeOf(document, one)))].join(" or ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.type === "array") return "array of " + typeOf(document, schema.items);
  const bounds = ["minimum", "maximum", "minLength", "maxLength"].filter((name) => name in schema && schema[name] !== 9007199254740991);
  return (schema.type || "any") + bounds.map((name) => ", " + name + " " + schema[name]).join("");
};
const fieldsOf = (document, schema, path = "") => {
  if (!schema) return [];
  if (schema.$ref) return fieldsOf(document, pick(document, schema.$ref), path);
  const choices = schema.anyOf || schema.oneOf;
  if (choices) return choices.flatMap((one) => fieldsOf(document, one, path));
  if (schema.type === "array") return fieldsOf(document, schema.items, path + "[]");
  return Object.entries(schema.properties || {}).flatMap(([name, inner]) => {
    const here = path ? path + "." + name : name;
    return [[here, typeOf(document, inner), (schema.required || []).includes(name) ? "always" : "optional"], ...fieldsOf(document, inner, here)];
  });
};
const bodyOf = (document, content) => Object.entries(content || {}).flatMap(([type, media]) => {
  const fields = fieldsOf(document, media.schema);
  return [
    ...(fields.length ? [rows(["Field", "Type", "Sent"], fields)] : [make("p", type)]),
    ...("example" in media ? [make("h4", "Example"), show(media.example)] : [])
  ];
});
const operation = (document, path, method, one) => {
  const section = make("section", "", make("h3", method.toUpperCase() + " " + path), make("p", one.summary));
  section.id = one.operationId;
  section.append(make("p", (one.security || []).length ? "Signed." : "Not signed."));
  const parameters = one.parameters || [];
  if (parameters.length)
    section.append(make("h4", "Parameters"), rows(["Name", "In", "Type", "Sent", ""], parameters.map((each) =>
      [each.name, each.in, typeOf(document, each.schema), each.required ? "always" : "optional", each.description || ""])));
  if (one.requestBody) section.append(make("h4", "Body"), ...bodyOf(document, one.requestBody.content));
  for (const [status, response] of Object.entries(one.responses))
    if (status.startsWith("2")) section.append(make("h4", "Answer " + status), ...bodyOf(document, response.content));
  const refusals = Object.entries(one.responses).filter(([status]) => !status.startsWith("2"));
  if (refusals.length) section.append(make("h4", "Refusals"), rows(["Status", "Codes"], refusals.map(([status, each]) => [status, each.description.replaceAll("\`", "")])));
  return section;
};
const draw = (document_) => {
  const nav = document.querySelector("nav");
  const main = document.querySelector("main");
  main.replaceChildren(make("h1", document_.info.title + " " + document_.info.version), make("p", document_.info.description.replaceAll("\`", "")));
  for (const { name } of document_.tags) {
    nav.append(make("h2", name));
    for (const [path, item] of Object.entries(document_.paths))
      for (const [method, one] of Object.entries(item)) {
        if (!one.tags.includes(name)) continue;
        const link = make("a", method.toUpperCase() + " " + path);
        link.href = "#" + one.operationId;
        nav.append(link);
        main.append(operation(document_, path, method, one));
      }
  }
};
fetch("/openapi.json").then((answer) => answer.json()).then(draw, (error) => {
  document.querySelector("main").textContent = "The description could not be read: " + error.message;
});
`

export const docsPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Payment gateway</title>
<link rel="icon" href="data:,">
<style>${docsStyle}</style>
</head>
<body>
<nav aria-label="Operations"><a href="/openapi.json">openapi.json</a></nav>
<main>Reading the description…</main>
<script>${docsScript}</script>
</body>
</html>
`
