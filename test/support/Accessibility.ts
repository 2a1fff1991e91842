import axe from "axe-core"
import { Schema } from "effect"
import type { BrowserPage } from "./Browser.ts"

/** WCAG 2.2, levels A and AA. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

const decode = Schema.decodeUnknownSync(Schema.Array(Schema.String))

/** The rules among them that look at colours: nothing else differs between light and dark. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"]

/** What axe finds wrong on the page as it is shown now: the rule, and where. */
export const violationsOn = async (page: BrowserPage, rules: "all" | "colours"): Promise<ReadonlyArray<string>> => {
  if ((await page.run("typeof window.axe")) === "undefined") await page.run(`${axe.source}; undefined`)
  const runOnly = rules === "all" ? { type: "tag", values: TAGS } : { type: "rule", values: COLOUR_RULES }
  const options = { runOnly, resultTypes: ["violations"] }
  const found = await page.run(`window.axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ failureSummary, target }) => id + ": " + target.join(" ") + ": " + failureSummary)))`)
  return decode(found)
}
