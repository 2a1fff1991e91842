import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { Effect } from "effect"
import { docsAssets } from "../api/System.ts"
import { header, headerStyle } from "./ManualLook.ts"
import { EXAMPLE_ORIGIN } from "./SignedCurl.ts"
import { type StaticText, staticText } from "./StaticText.ts"

// The API reference as a page, rendered by Scalar from /openapi.json of the same origin. Nothing is loaded from elsewhere.

/** Hides Scalar's client for sending requests: they must be signed, and a browser has no signature. */
export const docsStyle = `${headerStyle}
:root { --scalar-custom-header-height: var(--top); }
body { margin: 0; }
.dark-mode { color-scheme: dark; }
noscript p { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; }
.introduction-card { display: none !important; }
`

const settings = {
  // None of Scalar's own services.
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  hideTestRequestButton: true,
  // The signed examples of the description only, no generated ones.
  hiddenClients: true,
  hideModels: true,
  documentDownloadType: "none",
  orderSchemaPropertiesBy: "preserve",
  orderRequiredPropertiesFirst: true
}

export const docsScript = `
"use strict";
fetch("/openapi.json").then((response) => response.text()).then((text) => {
  const content = JSON.parse(text.replaceAll(${JSON.stringify(EXAMPLE_ORIGIN)}, location.origin));
  Scalar.createApiReference("#reference", { ...${JSON.stringify(settings)}, content });
}).catch((error) => {
  document.querySelector("#reference").textContent = "The description could not be read: " + error.message;
});
`

export const docsPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Payment gateway</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${docsAssets.style}">
<style>${docsStyle}</style>
</head>
<body>
${header("/docs")}
<main id="reference"></main>
<noscript><p>This page needs JavaScript. To read without it: <a href="/docs/integrating">the guides</a>, <a href="/docs/contract">the
contract</a>, <a href="/openapi.json">openapi.json</a>.</p></noscript>
<script src="${docsAssets.script}"></script>
<script>${docsScript}</script>
</body>
</html>
`

const FOLDER = join(import.meta.dirname, "vendor", "scalar")

/** A vendored file, stored compressed. */
const vendored = (file: string, contentType: string): Effect.Effect<StaticText> =>
  Effect.promise(async () => staticText(gunzipSync(await readFile(join(FOLDER, `${file}.gz`))).toString(), contentType))

/** The script and the style of `/docs`. Each is read on first use, because most processes never serve the page. */
export const readDocsAssets = Effect.all({
  script: Effect.cached(vendored("reference.js", "text/javascript; charset=utf-8")),
  style: Effect.cached(vendored("reference.css", "text/css; charset=utf-8"))
})
