import { setTimeout as pause } from "node:timers/promises"
import { type Answer, send } from "../Client.ts"
import type { Heard } from "../Receiver.ts"
import { after, each } from "../Settling.ts"
import { tellsReturns } from "./Accounts.ts"
import type { Books } from "./Books.ts"
import { type Evidence, judge } from "./Judge.ts"
import { type Operation, readTarget, type World } from "./Load.ts"
import { rule } from "./Operators.ts"
import { type Command, CREDIT, type Holder } from "./Tenants.ts"

const LOOK_AGAIN_EVERY_MS = 20_000
const PAUSE_MS = 1_000
/** What is wrong and has not changed for so long does not change any more. */
const STILL_AFTER_MS = 240_000

interface Settling {
  readonly operations: ReadonlyArray<Operation>
  readonly holders: ReadonlyArray<Holder>
  readonly world: World
  readonly books: Books
  readonly heard: Heard
  readonly command: Command
  readonly tooLate: () => boolean
}

/**
 * Reads everything, and does what operators do afterwards, until nothing is wrong, or what is wrong has not changed for a while. A part that
 * was given up while it still changed would be judged by what had not been read yet.
 */
export const settle = async ({ books, command, heard, holders, operations, tooLate, world }: Settling) => {
  const records = new Map<string, Readonly<Record<string, unknown>>>()
  const floats = new Map<string, Readonly<Record<string, number>>>()
  const read = async (operation: Operation) => {
    const answer = await send(world.any(), operation.holder.key, { method: "GET", target: readTarget(operation) })
    if (answer?.body.data !== undefined) records.set(operation.reference ?? "", answer.body.data)
  }
  let rulings = 0
  let asked = 0
  let isTimeToLook = () => true
  let [wrongBefore, isStillWrong] = ["", after(STILL_AFTER_MS)]
  for (;;) {
    books.refresh()
    const referred = operations.filter(({ reference }) => reference !== undefined)
    await each(
      referred.filter(({ reference }) => !isAtRest(records.get(reference ?? ""))),
      read
    )
    if (isTimeToLook()) {
      await lookAgain(command)
      asked += await askAgain(command, referred, records, books)
      isTimeToLook = after(LOOK_AGAIN_EVERY_MS)
    }
    const ruled = await rule(command, books)
    rulings += ruled
    for (const holder of holders)
      remember(floats, holder, await send(world.any(), holder.key, { method: "GET", target: "/v1/float" }))
    const evidence: Evidence = { operations, books, records, floats, credit: CREDIT, heard }
    const { floats: wrong, invented, lost, webhooks } = judge(evidence)
    const isSettled = ruled === 0 && [wrong, invented, lost, webhooks].every(({ length }) => length === 0)
    if (isSettled || isStillWrong() || tooLate()) return { evidence, rulings, asked }
    const wrongNow = JSON.stringify([ruled, wrong, invented, lost, webhooks])
    if (wrongNow !== wrongBefore) isStillWrong = after(STILL_AFTER_MS)
    wrongBefore = wrongNow
    await pause(PAUSE_MS)
  }
}

const isAtRest = (record: Readonly<Record<string, unknown>> | undefined): boolean =>
  ["successful", "failed"].includes(String(record?.["status"])) && record?.["needs_review"] === false

const remember = (floats: Map<string, Readonly<Record<string, number>>>, { name }: Holder, answer: Answer | undefined) => {
  const positions: ReadonlyArray<Record<string, number>> = JSON.parse(JSON.stringify(answer?.body.data ?? []))
  for (const position of positions) floats.set(`${name} ${position["currency"]}`, position)
}

/** A callback that found nobody to ask, again and again, would be looked into ten minutes after it came, and half an hour. */
const lookAgain = async (command: Command) => {
  const waiting: ReadonlyArray<{ id: string }> = JSON.parse(await command("inbox", "list", "--status", "due"))
  for (const { id } of waiting) await command("inbox", "replay", id).catch(() => "")
}

/**
 * What a provider took back is told by a callback, and where no gateway took any of its attempts, by reconciling. An operator has the
 * provider asked again then.
 */
const askAgain = async (
  command: Command,
  operations: ReadonlyArray<Operation>,
  records: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  books: Books
): Promise<number> => {
  const untold = operations.filter(({ kind, reference }) => {
    const record = records.get(reference ?? "")
    const { movements } = books.of(reference ?? "")
    const back = movements.some((one) => one.kind === kind && one.returned && tellsReturns(one.provider, kind))
    if (!back || record?.["needs_review"] === true) return false
    if (kind === "exchange") return record?.["status"] === "successful"
    return kind === "payout" ? record?.["returned"] === null : record?.["status"] === "successful" && record["failure"] === null
  })
  for (const { reference } of untold) await command("transaction", "ask", String(reference)).catch(() => "")
  return untold.length
}
