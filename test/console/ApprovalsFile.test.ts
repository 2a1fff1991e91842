import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { makeDecisions } from "../../src/console/pages/Decisions.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { OperatorName } from "../../src/domain/Operator.ts"
import type { Proposal } from "../../src/domain/Proposal.ts"
import { Approvals } from "../../src/services/approvals/Approvals.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { fake, unexpected } from "../fakes/Fake.ts"
import { NOON } from "../support/SampleTransactions.ts"

const proposal = (_: unknown, at: number): Proposal => ({
  id: Reference.make(String(at).padStart(26, "0")),
  kind: "key issue",
  subject: "shop",
  details: {},
  status: "approved",
  proposedBy: OperatorName.make("asha"),
  proposedAt: NOON,
  decidedBy: OperatorName.make("biko"),
  decidedAt: NOON,
  note: ""
})

/** The lines of the file where there are so many proposals, without its heading. */
const fileOf = (count: number) =>
  Effect.gen(function* () {
    const { routes } = yield* makeDecisions
    const route = routes.find(({ path }) => path === "/proposals.csv") ?? unexpected("routes", [])
    const answer = yield* route.answer({
      visitor: { name: OperatorName.make("jane"), role: "viewer", createdAt: NOON, session: Redacted.make(""), formToken: "" },
      at: NOON,
      path: "/proposals.csv",
      params: {},
      query: new URLSearchParams(),
      form: new URLSearchParams()
    })
    const parts = yield* Stream.runCollect(answer._tag === "CsvFile" ? answer.text : unexpected(answer._tag, []))
    return [...parts].join("").split("\r\n").slice(1, -1)
  }).pipe(
    Effect.provide(
      Layer.merge(
        fake(Approvals, {}),
        fake(Proposals, { list: (_, limit) => Effect.succeed(Array.from({ length: Math.min(count, limit) }, proposal)) })
      )
    )
  )

it.effect("the file of approvals says in its last line where it was cut", () =>
  Effect.gen(function* () {
    const whole = yield* fileOf(1_000)
    expect([whole.length, whole.at(-1)]).toStrictEqual([1_000, expect.stringMatching(/^0+999,key issue,shop/)])
    const cut = yield* fileOf(1_001)
    expect([cut.length, cut.at(-1)]).toStrictEqual([1_001, expect.stringMatching(/^cut here: there is more/)])
  })
)
