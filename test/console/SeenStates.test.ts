import { expect, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { AppId } from "../../src/domain/Ids.ts"
import { CONFIGURATION_WAITS_MS, PROPOSAL_WAITS_MS } from "../../src/domain/Proposal.ts"
import { Approvals } from "../../src/services/approvals/Approvals.ts"
import { ConfigurationApprovals } from "../../src/services/approvals/ConfigurationApprovals.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { auditEntry } from "../support/TestDatabase.ts"
import { asha, biko, desks, newTenant, refusal, waiting } from "./Desks.ts"

/** As `gateway tenant freeze` and `unfreeze` do. */
const setStatus = Effect.fnUntraced(function* (appId: AppId, status: "frozen" | "active", reason: string) {
  const action = status === "frozen" ? "tenant freeze" : "tenant unfreeze"
  yield* (yield* Tenants).setStatus(appId, status, auditEntry({ action, subject: appId, details: { reason } }))
})
const pin = Effect.fnUntraced(function* (appId: AppId, provider: string | null) {
  const audit =
    provider === null
      ? auditEntry({ action: "tenant unpin", subject: appId })
      : auditEntry({ action: "tenant pin", subject: appId, details: { provider } })
  yield* (yield* Tenants).pin(appId, provider, audit)
})
const found = Effect.fnUntraced(function* (appId: AppId) {
  return Option.getOrThrow(yield* (yield* Tenants).find(appId))
})
const approved = Effect.fnUntraced(function* (appId: AppId) {
  return yield* (yield* Approvals).approve(yield* waiting(appId), { by: biko, at: 3_000 })
})

const STALE = "It was changed since you looked at it: nothing was done. Look at it as it is now."

layer(desks)("a state that was left and came again", (it) => {
  it.effect("is another freeze: an unfreeze that was proposed of the first one does not end it", () =>
    Effect.gen(function* () {
      const { change } = yield* ConfigurationApprovals
      const appId = yield* newTenant
      yield* setStatus(appId, "frozen", "an invoice is open")
      yield* change({ change: { kind: "tenant unfreeze", appId }, note: "it is paid" }, { by: asha, at: 1_000 }, "support")
      yield* setStatus(appId, "active", "it is paid")
      yield* change({ change: { kind: "tenant freeze", appId }, note: "stolen keys" }, { by: biko, at: 2_000 }, "admin")
      expect(yield* refusal(approved(appId))).toBe(STALE)
      expect((yield* found(appId)).status).toBe("frozen")
    })
  )

  it.effect("is another freeze where a frozen tenant is frozen for a second reason", () =>
    Effect.gen(function* () {
      const { change } = yield* ConfigurationApprovals
      const appId = yield* newTenant
      yield* setStatus(appId, "frozen", "an invoice is open")
      yield* change({ change: { kind: "tenant unfreeze", appId }, note: "it is paid" }, { by: asha, at: 1_000 }, "support")
      yield* setStatus(appId, "frozen", "stolen keys")
      expect(yield* refusal(approved(appId))).toBe(STALE)
      expect((yield* found(appId)).status).toBe("frozen")
    })
  )

  it.effect("is another pin: what was proposed of the first one does not undo it", () =>
    Effect.gen(function* () {
      const { change } = yield* ConfigurationApprovals
      const appId = yield* newTenant
      yield* pin(appId, "one")
      yield* change(
        { change: { kind: "tenant unpin", appId, seen: "one" }, note: "the contract ended" },
        { by: asha, at: 1_000 },
        "support"
      )
      yield* pin(appId, null)
      yield* pin(appId, "one")
      expect(yield* refusal(approved(appId))).toBe(STALE)
      expect((yield* found(appId)).pinned).toBe("one")
    })
  )

  it.effect("a change of something else does not stand in its way", () =>
    Effect.gen(function* () {
      const { change } = yield* ConfigurationApprovals
      const appId = yield* newTenant
      yield* setStatus(appId, "frozen", "an invoice is open")
      yield* change({ change: { kind: "tenant unfreeze", appId }, note: "it is paid" }, { by: asha, at: 1_000 }, "support")
      yield* pin(appId, "one")
      yield* approved(appId)
      expect((yield* found(appId)).status).toBe("active")
    })
  )
})

layer(desks)("a change of configuration that waits", (it) => {
  it.effect("expires a day before the release before, which does not know it, would look for it", () =>
    Effect.gen(function* () {
      expect(PROPOSAL_WAITS_MS - CONFIGURATION_WAITS_MS).toBe(24 * 3_600_000)
      const proposals = yield* Proposals
      const { change } = yield* ConfigurationApprovals
      const appId = yield* newTenant
      yield* change({ change: { kind: "tenant freeze", appId }, note: "stolen keys" }, { by: asha, at: 1 }, "support")
      const id = yield* waiting(appId)
      const late = 1 + 48 * 3_600_000
      expect(yield* refusal((yield* Approvals).approve(id, { by: biko, at: late }))).toContain("It expired")
      expect(yield* proposals.expire(late - 1, 10)).toBe(0)
      expect(yield* proposals.expire(late, 10)).toBe(1)
      expect(Option.getOrThrow(yield* proposals.find(id)).status).toBe("withdrawn")
    })
  )
})
