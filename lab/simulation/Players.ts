import { fork } from "node:child_process"
import { join } from "node:path"
import type { Outcome } from "./Simulation.ts"

/** A story that is to be played. */
export interface Question {
  readonly seed: number
  readonly steps: number
}

export type Answer = { readonly _tag: "Ready" } | { readonly _tag: "Played"; readonly seed: number; readonly outcome: Outcome }

interface Stories {
  readonly first: number
  /** How many; infinite where they end only with a fault. */
  readonly seeds: number
  readonly steps: number
  /** Processes, each of which plays one story at a time. */
  readonly jobs: number
  /** Told of each story in the order of the seeds. */
  readonly heard: (seed: number, outcome: Outcome) => void
}

export interface Players {
  /** What is being played is given up. */
  readonly stop: () => void
  /** Once every process has ended: all is played, a story failed, or they were stopped. */
  readonly ended: Promise<void>
}

/** Plays seeds one after another until the first that fails. */
export const openPlayers = ({ first, heard, jobs, seeds, steps }: Stories): Players => {
  const played = new Map<number, Outcome>()
  let [given, told, isOver] = [first, first, false]

  const tell = () => {
    for (let outcome = played.get(told); outcome !== undefined; outcome = played.get(told)) {
      played.delete(told)
      heard(told++, outcome)
    }
  }

  const player = () => {
    const child = fork(join(import.meta.dirname, "Player.ts"))
    const letGo = () => void (child.connected && child.disconnect())
    const ended = new Promise<void>((resolve, reject) => {
      child.on("message", (answer: Answer) => {
        if (answer._tag === "Played") {
          played.set(answer.seed, answer.outcome)
          if (answer.outcome.faults.length > 0) isOver = true
          tell()
        }
        if (isOver || given >= first + seeds) return letGo()
        const question: Question = { seed: given++, steps }
        child.send(question)
      })
      child.on("error", reject)
      child.on("exit", (code) => {
        if (code === 0) return resolve()
        isOver = true
        reject(new Error(`a player ended with ${code}`))
      })
    })
    return { letGo, ended }
  }

  const players = Array.from({ length: jobs }, player)
  const stop = () => {
    isOver = true
    for (const { letGo } of players) letGo()
  }
  return { stop, ended: Promise.all(players.map(({ ended }) => ended)).then(() => {}) }
}
