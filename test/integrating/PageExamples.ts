import { read } from "../documents/Pages.ts"

/** The languages that a page shows the same thing in, each below a heading that names it. */
export type Language = "Python" | "PHP" | "TypeScript"
const LANGUAGES = /\b(Python|PHP|TypeScript|Go|Java)\b/

export interface Block {
  readonly page: string
  /** Of the nearest `##`. */
  readonly section: string
  /** Whose heading it stands below; undefined for all. */
  readonly language: string | undefined
  readonly kind: string
  /** The file that the reader saves it as. */
  readonly file: string | undefined
  readonly text: string
}

/** The code blocks of a page of docs/integrating, in their order. */
export const blocksOf = (name: string): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  let [section, language]: [string, string | undefined] = ["", undefined]
  for (const [, marks = "", heading = "", info = "", text = ""] of read(`docs/integrating/${name}.md`).matchAll(
    /^(#+) (.+)$|^```(.*)\n([^]*?)^```$/gm
  )) {
    if (marks !== "") {
      if (marks.length <= 2) section = heading
      language = marks.length > 2 ? LANGUAGES.exec(heading)?.[1] : undefined
    } else {
      const [kind = "", file] = info.split(" ")
      blocks.push({ page: name, section, language, kind, file, text })
    }
  }
  return blocks
}

/** The example that a page has the reader save under this name. */
export const fileOf = (page: string, file: string): string =>
  blocksOf(page).find((block) => block.file === file)?.text ?? `docs/integrating/${page}.md shows no ${file}`

/** What a reader of one language types and gets. */
export interface PageStep {
  readonly at: string
  readonly shell: string
  /** The answer that the page shows right below. */
  readonly shown: Block | undefined
}

export const stepsOf = (blocks: ReadonlyArray<Block>): ReadonlyArray<PageStep> =>
  blocks.flatMap((block, at): ReadonlyArray<PageStep> => {
    const next = blocks[at + 1]
    const isAnswer = next !== undefined && next.file === undefined && (next.kind === "json" || next.kind === "text")
    return block.kind === "sh"
      ? [{ at: `${block.page}, ${block.section}`, shell: block.text, shown: isAnswer ? next : undefined }]
      : []
  })
