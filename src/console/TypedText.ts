/** What is neither seen nor a space: a text with it is not what it looks like. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u

/** One line that somebody typed, without the spaces around it; null where it is empty, too long, or holds what cannot be seen. */
export const lineOf = (text: string | null, maxLength: number): string | null => {
  const line = text?.trim() ?? ""
  return line === "" || line.length > maxLength || UNSEEN.test(line) ? null : line
}
