import { rm } from "node:fs/promises"
import type { Stage } from "./Stage.ts"

/** Plays and ends every process of the stage. What is stored is kept where this process is to exit with another code than 0. */
export const playedOn = async (stage: Stage, play: (stage: Stage) => Promise<void>): Promise<void> => {
  try {
    await play(stage)
  } catch (error) {
    // Such as a machine that is too busy to bring a process back in time: nothing was found out.
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  } finally {
    await stage.close()
  }
  if (process.exitCode === 0) await rm(stage.dataDir, { recursive: true, force: true })
  else console.error(`what is stored, and what each process said, is in ${stage.dataDir}`)
}
