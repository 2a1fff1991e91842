const BLOCK = 512

interface ArchivedFile {
  /** Without a slash at the beginning, at most 100 bytes. */
  readonly name: string
  readonly text: string
}

/** The files as a tar archive in the format that POSIX calls ustar. The same files give the same bytes. */
export const tarArchive = (files: ReadonlyArray<ArchivedFile>): Uint8Array =>
  Buffer.concat([
    ...files.flatMap(({ name, text }) => {
      const bytes = Buffer.from(text)
      return [headerOf(name, bytes.length), bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]
    }),
    Buffer.alloc(2 * BLOCK)
  ])

/** Name, mode, owner, size and time, numbers as octal text; the checksum counts its own field as spaces. */
const headerOf = (name: string, size: number): Uint8Array => {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`
  const fields = (checksum: string) =>
    [name.padEnd(100, "\0"), octal(0o644, 7), octal(0, 7), octal(0, 7), octal(size, 11), octal(0, 11), checksum, "0"].join("")
  const header = (checksum: string) => Buffer.from(`${fields(checksum).padEnd(257, "\0")}ustar\x0000`.padEnd(BLOCK, "\0"))
  const sum = header(" ".repeat(8)).reduce((total, byte) => total + byte, 0)
  return header(`${sum.toString(8).padStart(6, "0")}\0 `)
}
