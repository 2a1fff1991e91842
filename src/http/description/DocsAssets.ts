import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { Effect } from "effect"
import { type StaticText, staticText } from "./StaticText.ts"

const FOLDER = join(import.meta.dirname, "vendor", "scalar")

/** A vendored file, which is kept compressed. */
const vendored = (file: string, contentType: string): Effect.Effect<StaticText> =>
  Effect.promise(async () => staticText(gunzipSync(await readFile(join(FOLDER, `${file}.gz`))).toString(), contentType))

/** The script and the style that draw `/docs`. Each is read when it is first asked for: most processes never show the page. */
export const readDocsAssets = Effect.all({
  script: Effect.cached(vendored("reference.js", "text/javascript; charset=utf-8")),
  style: Effect.cached(vendored("reference.css", "text/css; charset=utf-8"))
})
