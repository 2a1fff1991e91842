import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Command } from "effect/cli"
import { gateway as commands } from "../../src/commands/Program.ts"
import { givenOperated } from "../support/OperatedGateway.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { tenantOn } from "../support/Stack.ts"

/** Retitles a terminal, forges a line, runs backwards, hides a letter and colours what follows. */
const HOSTILE = "\u001b]0;paid\u0007\nforged line\r\u202egnp\u2066\u200b\u2028\u009b31m\u007f\u{e0041}"
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

class Hostile extends Context.Service<Hostile, Effect.Success<typeof given>>()("test/Hostile") {
  static readonly layer = Layer.effect(
    Hostile,
    Effect.suspend(() => given)
  )
}

/** A gateway in which every text that came from outside, or that somebody with SQL wrote, is hostile. */
const given = Effect.gen(function* () {
  const operated = yield* givenOperated({ RECONCILER_SCHEDULE: "1h" })
  const { gateway, sql } = operated
  const tenant = yield* tenantOn(gateway)
  const hook = yield* tenant.call("PUT", "/v1/webhooks/endpoint", { url: `http://127.0.0.1:9/${encodeURIComponent(HOSTILE)}` })
  expect(hook.status).toBe(200)
  const metadata = { [HOSTILE]: HOSTILE }
  const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010", { narration: HOSTILE, metadata })))
  const { text } = yield* tenant.call("POST", "/v1/webhooks/endpoint/test", {})
  const delivery: string = JSON.parse(text).data.id

  const told = {
    narration: HOSTILE,
    providerReference: HOSTILE,
    failure: { code: "unknown", message: HOSTILE },
    needsReview: true
  }
  yield* sql`UPDATE transactions SET needs_review = true, provider_reference = ${HOSTILE}, raw_request = ${HOSTILE}, raw_response = ${HOSTILE},
    record = (record::jsonb || ${JSON.stringify(told)}::jsonb)::json WHERE reference = ${reference}`
  yield* sql`UPDATE float_adjustments SET external_id = ${HOSTILE} WHERE app_id = ${tenant.appId}`
  yield* sql`UPDATE open_work SET needs_review = true WHERE reference = ${reference}`
  yield* sql`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status)
    VALUES (${tenant.appId}, ${reference}, 99, 'live', now(), 'request', ${HOSTILE}, ${HOSTILE}, 'pending')`
  yield* sql`INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
    VALUES (${tenant.appId}, ${delivery}, now(), 1, 500, ${HOSTILE})`
  yield* sql`INSERT INTO provider_inbox (id, provider, mode, digest, received_at, reference, provider_reference, body, status)
    VALUES (${reference}, 'eversend', 'live', sha256(''), now(), NULL, ${HOSTILE}, ${HOSTILE}, 'parked')`
  yield* sql`SELECT FROM record_tenant_change(${tenant.appId}, 'live', now(), ${HOSTILE}, ${HOSTILE}, ${JSON.stringify(metadata)}, 100)`
  yield* sql`UPDATE corridors SET inactive_reason = ${HOSTILE}, networks = ARRAY[${HOSTILE}] WHERE country = 'CM'`
  yield* sql`INSERT INTO denials (kind, hash, masked, reason, created_at) VALUES ('destination', '', ${HOSTILE}, ${HOSTILE}, now()),
    ('screened_name', '', ${HOSTILE}, ${HOSTILE}, now())`
  yield* sql`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, slot, phase, currencies, accounts, amounts)
    VALUES (${HOSTILE}, ${HOSTILE}, 1, 'live', now(), 'operator', 'Credited', '', 'open', 'credit', '{UGX,UGX}', '{available,credited}', '{5,-5}')`
  yield* sql`INSERT INTO integrity_checks (name, subject, at, differences) VALUES ('reconcile', ${HOSTILE}, now(), 1)`
  return { ...operated, tenant, reference, delivery }
})

type Given = Effect.Success<typeof given>

/** How each command is called. What a command line takes is hostile too, where anything is taken. */
const calls: Record<string, (given: Given) => ReadonlyArray<ReadonlyArray<string>>> = {
  migrate: () => [[]],
  distribute: () => [["--plan"], []],
  status: () => [[]],
  "tenant create": () => [[HOSTILE], ["other"]],
  "tenant list": () => [[]],
  "tenant freeze": () => [["other", "--reason", HOSTILE]],
  "tenant unfreeze": () => [["other", "--reason", HOSTILE]],
  "tenant grant": () => [["other", HOSTILE]],
  "tenant deny": () => [["other", HOSTILE]],
  "sender set": () => [
    ["other", "--name", HOSTILE, "--country", "KE", "--number", "0711002233", "--address", HOSTILE, "--reason", HOSTILE]
  ],
  "sender remove": () => [["other", "--reason", HOSTILE]],
  "tenant pin": () => [["other", HOSTILE, "--reason", HOSTILE]],
  "tenant unpin": () => [["other", "--reason", HOSTILE]],
  "provider off": () => [
    [HOSTILE, "--reason", HOSTILE],
    ["mtn", "--reason", HOSTILE]
  ],
  "provider on": () => [["mtn", "--reason", HOSTILE]],
  "tenant guard": () => [["other", "--repeat-sales", "allow", "--reason", HOSTILE]],
  "key issue": () => [
    ["other", "--mode", HOSTILE],
    ["other", "--mode", "live", "--label", HOSTILE, "--from", HOSTILE],
    ["other", "--mode", "live", "--label", HOSTILE]
  ],
  "key list": () => [[HOSTILE], ["other"]],
  "key revoke": () => [["other", HOSTILE]],
  "float credit": () => [
    ["other", "--mode", "live", "--currency", "UGX", "--amount-minor", "5", "--external-id", HOSTILE, "--note", HOSTILE],
    ["other", "--mode", "live", "--currency", "UGX", "--amount-minor", "6", "--external-id", HOSTILE, "--note", HOSTILE]
  ],
  "float debit": () => [
    ["other", "--mode", "live", "--currency", "UGX", "--amount-minor", HOSTILE, "--external-id", HOSTILE, "--note", HOSTILE]
  ],
  "float list": () => [["other", "--mode", "live"]],
  "float statement": ({ tenant: { appId } }) => [
    [appId, "--currency", "UGX"],
    [appId, "--currency", "UGX", "--csv"],
    [HOSTILE, "--currency", "UGX", "--from", HOSTILE]
  ],
  "corridor list": () => [[]],
  "corridor show": () => [
    ["CM", "XAF", "payout", "momo"],
    [HOSTILE, "XAF", "payout", "momo"]
  ],
  "corridor prefer": () => [
    ["CM", "XAF", "payout", "momo", HOSTILE],
    ["CM", "XAF", "payout", "momo", "price"]
  ],
  "corridor set": () => [[HOSTILE, "UGX", "payout", "momo"]],
  "transaction list": () => [[], ["--app", HOSTILE], ["--from", HOSTILE]],
  "transaction ask": ({ reference }) => [[reference], [HOSTILE]],
  "transaction show": ({ reference }) => [[reference], [HOSTILE]],
  "clock show": () => [[]],
  "clock confirm": () => [["--time", HOSTILE, "--reason", HOSTILE]],
  "webhook endpoint": () => [["other", "--mode", "live", "--url", HOSTILE]],
  "webhook deliveries": ({ tenant }) => [[tenant.appId, "--mode", "live"]],
  "webhook redeliver": ({ delivery }) => [[delivery], [HOSTILE]],
  "webhook recover": ({ tenant }) => [[tenant.appId, "--mode", "live", "--since", HOSTILE]],
  "inbox list": () => [[]],
  "inbox read": ({ reference }) => [[reference, "--reason", HOSTILE]],
  "inbox replay": ({ reference }) => [[reference], [HOSTILE]],
  "inbox close": ({ reference }) => [[reference, "--reason", HOSTILE]],
  "inbox close-unmatched": () => [
    ["eversend", "--mode", "live", "--dry-run", "--reason", HOSTILE],
    [HOSTILE, "--mode", "live", "--reason", "junk"]
  ],
  "limit set": () => [["other", "--mode", "live", "--window", "hour", "--count", HOSTILE]],
  "limit remove": () => [["other", "--mode", "live", "--window", HOSTILE, "--currency", "UGX"]],
  "limit list": () => [[HOSTILE], ["other"]],
  "ceiling set": () => [[HOSTILE, "UGX", "--amount-minor", "1"]],
  "block add": () => [[HOSTILE, "--reason", HOSTILE]],
  "block list": () => [[]],
  "screening deny": () => [[HOSTILE, "--kind", "name", "--reason", HOSTILE]],
  "screening list": () => [[]],
  "ledger verify": () => [[]],
  "provider list": () => [[]],
  "provider check": () => [[HOSTILE]],
  "provider register": () => [[HOSTILE, "--mode", "live"]],
  "fees show": () => [
    ["--amount", "50000", "--country", "UG", "--method", "momo", "--direction", "payout", "--network", HOSTILE],
    ["--amount", HOSTILE, "--country", "UG", "--method", "momo", "--direction", "payout"]
  ],
  reconcile: () => [[HOSTILE]],
  "review acknowledge": ({ reference }) => [[reference, "--note", HOSTILE]],
  "review list": () => [[]],
  "review rule": () => [[HOSTILE, "--evidence", HOSTILE]],
  "review unknown": () => [[], ["--provider", HOSTILE]],
  "review resolve": ({ reference }) => [[reference, "--outcome", "failed", "--evidence", HOSTILE]],
  "operator add": () => [
    [HOSTILE, "--role", "viewer"],
    ["asha", "--role", HOSTILE]
  ],
  "operator list": () => [[]],
  "operator remove": () => [[HOSTILE]],
  "audit list": ({ tenant }) => [[], ["--app", tenant.appId]],
  "audit verify": () => [[], ["--head", HOSTILE]],
  "secrets rotate": () => [["--from", HOSTILE]],
  sign: () => [["--method", HOSTILE, "--url", HOSTILE, "--key", HOSTILE]]
}

/** They show what was planted. */
const shown = [
  "status",
  "float statement",
  "corridor list",
  "transaction show",
  "webhook deliveries",
  "inbox list",
  "block list",
  "screening list",
  "ledger verify",
  "review list",
  "audit list"
]

/** They run until they are stopped, or play a story of their own, and say what the gateway itself has made. */
const servers = ["start", "demo", "serve", "simulator"]

const leaves = (command: Command.Command.Any, path = ""): ReadonlyArray<string> => {
  const children = command.subcommands.flatMap(({ commands: group }) => group)
  return children.length === 0 ? [path] : children.flatMap((child) => leaves(child, `${path} ${child.name}`.trim()))
}

layer(Hostile.layer, { excludeTestServices: true })("the output of commands with hostile data", (it) => {
  it.effect("is tested for every command", () =>
    Effect.sync(() => expect([...Object.keys(calls), ...servers].sort()).toEqual([...leaves(commands)].sort()))
  )

  for (const [name, lines] of Object.entries(calls)) {
    it.effect(`has no broken line and no terminal control: ${name}`, () =>
      Effect.gen(function* () {
        const hostile = yield* Hostile
        for (const line of lines(hostile)) {
          const words = [...name.split(" "), ...line]
          const asText = yield* hostile.run(...words)
          const asJson = yield* hostile.run(...words, "--json")
          for (const text of [asText.output, asText.errors, asJson.errors]) {
            expect(text.split("\n").filter((one) => UNSEEN.test(one) || /^\s*forged line/.test(one))).toEqual([])
          }
          expect(UNSEEN.test(asJson.output)).toBe(false)
          if (asJson.output !== "") JSON.parse(asJson.output)
          if (shown.includes(name) && line[0] !== HOSTILE) expect(asText.output).toContain("\\u202egnp")
        }
      })
    )
  }

  it.effect("still shows the whole text", () =>
    Effect.gen(function* () {
      const { reference, run } = yield* Hostile
      const { output } = yield* run("transaction", "show", reference, "--json")
      expect(JSON.parse(output)).toMatchObject({ metadata: { [HOSTILE]: HOSTILE } })
      expect((yield* run("transaction", "show", reference)).output).toContain("\\u001b]0;paid\\u0007\\nforged line\\r\\u202egnp")
    })
  )
})
