import { Effect, Schema } from "effect"
import { CommandRefusal } from "../CommandRefusal.ts"
import { AsJson, asText, type Colored, printColored, printErrors, printLines, printResult } from "../Output.ts"
import type { Profile } from "./Profile.ts"
import { callGateway } from "./TenantClient.ts"

/** The members of a transaction that a command reads. The rest is printed as it came. */
const Known = Schema.Struct({
  reference: Schema.String,
  kind: Schema.Literals(["payout", "collection"]),
  status: Schema.String,
  version: Schema.Number,
  masked_destination: Schema.optionalKey(Schema.NullOr(Schema.String)),
  created_at: Schema.String
})
export type Known = typeof Known.Type
const decodeKnown = Schema.decodeUnknownEffect(Known)

export const knownOf = (view: unknown) =>
  Effect.mapError(
    decodeKnown(view),
    () => new CommandRefusal({ message: "the gateway's answer is no transaction: is it a newer gateway?" })
  )

/** Between two questions about one transaction: the first comes soon, because most are settled within a second. */
const FIRST_POLL_MS = 150
const LONGEST_POLL_MS = 2_000
const FOLLOW_MS = 120_000

/** Polls a transaction until it is settled or its payer has to do something. Each change of status is a line on standard error. */
export const follow = Effect.fn("follow")(function* (profile: Profile, first: unknown) {
  const { kind, reference } = yield* knownOf(first)
  let view = first
  const poll = Effect.gen(function* () {
    let last = ""
    for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 2, LONGEST_POLL_MS)) {
      const { status } = yield* knownOf(view)
      if (status !== last) yield* printErrors(`${reference} is ${status}`)
      last = status
      if (status !== "pending") return
      yield* Effect.sleep(pause)
      view = yield* callGateway(profile, { method: "GET", target: `/v1/${kind}s/${reference}` })
    }
  })
  const late = `${reference} is still pending after ${FOLLOW_MS / 1000} s: ask later with gateway ${kind} get ${reference}`
  yield* poll.pipe(Effect.timeoutOrElse({ duration: FOLLOW_MS, orElse: () => printErrors(late) }))
  return view
})

/** One transaction: a line that says how it stands, and then every member. */
export const printTransaction = Effect.fnUntraced(function* (view: unknown) {
  if (yield* AsJson) return yield* printResult(view)
  const known = yield* knownOf(view)
  yield* printColored([`${known.kind} ${known.reference} is `, statusOf(known.status)])
  yield* printLines(...asText(view).split("\n"))
  if (known.status === "requires_action")
    yield* printLines(
      "",
      `The payer has to do something first, see next_action. With a one-time code: gateway collection authorize ${known.reference}`
    )
})

const good = new Set(["successful"])
const bad = new Set(["failed", "expired"])

export const statusOf = (status: string): Colored => ({
  text: status,
  as: good.has(status) ? "good" : bad.has(status) ? "bad" : "open"
})
