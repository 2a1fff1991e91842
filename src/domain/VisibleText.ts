/**
 * Characters that steer a terminal, make one line look like two, turn the reading order, or are invisible: controls (C0, DEL, C1), line
 * separators, bidirectional and other format characters, characters without width, and halves of characters.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
/** Those of them that divide words. */
const DIVIDING = /[\t-\r\u0085\u2028\u2029]+/g
/** Nearly every text is this, and is looked at once. */
const PLAIN = /^[ -~]*$/

const short = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"]
])

/**
 * The text on one line, with everything in it to be seen: each such character as an escape of JSON. A JSON text keeps its meaning, for there
 * they stand in strings only.
 */
export const visibleText = (text: string): string => (PLAIN.test(text) ? text : text.replace(UNSEEN, escaped))

/** The text without any of it: a blank is between what a line break or a tab divided. */
export const withoutUnseen = (text: string): string => (PLAIN.test(text) ? text : text.replace(DIVIDING, " ").replace(UNSEEN, ""))

const escaped = (character: string): string =>
  short.get(character) ??
  Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
