import { rm } from "node:fs/promises"
import { join } from "node:path"
import { type Member, type Members, openMembers } from "../../test/support/PostgresMembers.ts"
import type { StageDatabase } from "../chaos/Stage.ts"

// A server that archives its write-ahead log elsewhere, and the machine that it is restored to when it is gone with all it had.

export const archivedServer = (archiveSeconds: number) => {
  let opened: (Members & { readonly backup: string; readonly archive: string }) | undefined
  const database: StageDatabase = async (dataDir, life) => {
    const members = await openMembers(join(dataDir, "members"), ["lost", "restored"], "full")
    opened = { ...members, backup: join(dataDir, "members", "base-backup"), archive: join(dataDir, "members", "archive") }
    life.ends.push(members.close)
    await first(members).archive(opened.archive, archiveSeconds)
    const never = async () => {
      throw new Error("this server is not killed and started: it is lost")
    }
    return { name: "postgres", url: members.url(members.all), kill: never, start: never, signal: () => undefined }
  }
  const it = () => {
    if (opened === undefined) throw new Error("the server is not there yet")
    return opened
  }
  return {
    database,
    backUp: () => first(it()).backUp(it().backup),
    lose: async () => {
      first(it()).kill()
      await rm(first(it()).folder, { recursive: true, force: true })
    },
    /** On the other machine, until it takes writes. */
    restore: () => other(it()).restore(it().backup, it().archive),
    /** Of every transaction that the restored server has. */
    references: async (): Promise<ReadonlySet<string>> =>
      new Set((await other(it()).sql("SELECT reference FROM transactions")).map(({ reference }) => String(reference)))
  }
}

const other = ({ all: [, member] }: Pick<Members, "all">): Member => {
  if (member === undefined) throw new Error("there is no other machine")
  return member
}

const first = ({ all: [member] }: Pick<Members, "all">): Member => {
  if (member === undefined) throw new Error("there is no server")
  return member
}
