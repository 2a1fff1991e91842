/**
 * Characters that control a terminal, make one line look like two, change the reading direction, or are invisible: controls
 * (C0, DEL, C1), line separators, bidirectional and other format characters, zero-width characters, and lone surrogates.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
/** The ones among them that separate words. */
const DIVIDING = /[\t-\r\u0085\u2028\u2029]+/g
/** Nearly every text matches this, and is scanned only once. */
const PLAIN = /^[ -~]*$/

const short = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"]
])

/** The text on one line, every such character as a JSON escape. A JSON text keeps its meaning: it has them only in strings. */
export const visibleText = (text: string): string => (PLAIN.test(text) ? text : text.replace(UNSEEN, escaped))

/** The text without these characters; a space replaces each line break or tab. */
export const withoutUnseen = (text: string): string => (PLAIN.test(text) ? text : text.replace(DIVIDING, " ").replace(UNSEEN, ""))

const escaped = (character: string): string =>
  short.get(character) ??
  Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
