import { posix } from "node:path"
import { type ManualFile, writtenPathOf } from "./ManualFiles.ts"

/** The target of a page's link: a URL, or a file of the repository that is not served. */
export type Target = { readonly url: string } | { readonly unserved: string }

/** `all`: the whole manual. `urlOf`: the form in which the page is read, which its links keep. */
export const targetOf = (
  href: string,
  page: ManualFile,
  all: ReadonlyArray<ManualFile>,
  urlOf: (file: ManualFile) => string
): Target => {
  if (/^(https?:|#|\/)/.test(href)) return { url: href }
  const [path = "", anchor] = href.split("#")
  const file = posix.join(posix.dirname(page.file), path)
  const served = all.find((one) => one.file === file)
  return served === undefined ? { unserved: file } : { url: anchor === undefined ? urlOf(served) : `${urlOf(served)}#${anchor}` }
}

const FENCED = /(^```[^]*?^```$)/m
const LINK = /\[([^\]]*)\]\(([^)\s]+)\)/g

/** A page as Markdown whose links lead to served Markdown. A link to any other file becomes text with its repository path. */
export const servedMarkdown = (page: ManualFile, all: ReadonlyArray<ManualFile>): string =>
  page.text
    .split(FENCED)
    .map((part) =>
      part.startsWith("```")
        ? part
        : part.replaceAll(LINK, (_, label: string, href: string) => {
            const target = targetOf(href, page, all, writtenPathOf)
            if ("url" in target) return `[${label}](${target.url})`
            return label.includes(target.unserved) ? label : `${label} (\`${target.unserved}\` in the gateway's repository)`
          })
    )
    .join("")
