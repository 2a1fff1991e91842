import type { Explained } from "./Explained.ts"
import { TYPED } from "./ExplainedLedger.ts"

/** Of what claims keys. */
export const explainedOfClaims: Readonly<Record<string, ReadonlyArray<Explained>>> = {
  "src/http/idempotency/Idempotent.ts": [
    { original: '"gateway/http/Idempotent"', replacement: '""', why: "the name of a service, which is read where it is missing" },
    ...['Effect.map(internalError(request, step.about ?? ""), httpResponse)'].map((line) => ({
      original: '""',
      replacement: '"Stryker was here!"',
      line,
      why: "neither is a reference"
    })),
    {
      original: '"running"',
      replacement: '""',
      why: "it is neither of the two stages that anything asks for"
    },
    {
      original: 'progress.stage === "claiming"',
      replacement: "true",
      line: 'if (progress.stage === "claiming") progress.stage = "answered before the claim"',
      why: "once the key is claimed, nothing reads the stage any more"
    },
    ...[
      ["nonce === null", "false"],
      ['"the nonce of a request with a key was not left to its claim"', '""']
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "the edge leaves the nonce to the claim; a request without one breaks in either case"
    })),
    ...[
      ["{ startImmediately: true }", "{}"],
      ["true", "false"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      line: ": yield* Effect.forkChild(Effect.exit(step.screen(body.command)), { startImmediately: true })",
      why: "the screening begins a moment later, and the step waits for it in either case"
    })),
    {
      original: "step.keyless?.(request.caller, command)",
      replacement: "step.keyless(request.caller, command)",
      why: "a step without one is refused before, where the key is missing"
    },
    ...[
      ['"reference" in error && error.reference !== undefined', '"reference" in error || error.reference !== undefined'],
      ["error.reference !== undefined", "true"]
    ].map(([original = "", replacement = ""]) => ({ original, replacement, why: "an error has no member that is undefined" }))
  ],
  "src/persistence/requests/IdempotencyPg.ts": [
    {
      original: `{
  nonce_fresh: Schema.Boolean,
  fence: Schema.NullOr(Schema.BigInt),
  same: Schema.NullOr(Schema.Boolean),
  state: Schema.NullOr(Schema.Literals(["claimed", "pinned", "done"])),
  leased: Schema.NullOr(Schema.Boolean),
  reference: Schema.NullOr(Reference),
  answer_status: Schema.NullOr(Schema.Number),
  answer_body: Schema.NullOr(Schema.String),
  /** Per window; null for one that did not exist. */
  used: Schema.NullOr(Schema.Array(Schema.NullOr(Schema.BigInt))),
  /** Null when there is no such tenant. */
  status: Schema.NullOr(Tenant.fields.status),
  capabilities: Schema.NullOr(Tenant.fields.capabilities),
  /** For the candidate, when the key was claimed. */
  taken: Schema.NullOr(Schema.Boolean),
  booked: Schema.NullOr(Schema.Boolean)
}`,
      replacement: "{}",
      why: TYPED
    },
    { original: "one?.scope", replacement: "one.scope", why: "a batch has a step" },
    { original: "one !== undefined", replacement: "true", why: "a batch has a step" },
    { original: "{ taken: Schema.Boolean, booked: Schema.Boolean }", replacement: "{}", why: TYPED },
    {
      original: '"a key made more transactions than it can have lived retentions"',
      replacement: '""',
      why: "words for people: whatever it dies of, the request is ambiguous"
    },
    {
      original: "earlier < TRANSACTIONS_AT_MOST",
      replacement: "earlier <= TRANSACTIONS_AT_MOST",
      why: "a bound that no key reaches"
    },
    { original: '""', replacement: '"Stryker was here!"', why: "a batch has a step" },
    ...['"Idempotency.claim"', '"Idempotency.complete"', '"Idempotency.release"', '"Idempotency.prune"'].map((original) => ({
      original,
      replacement: '""',
      why: "the name of a span"
    })),
    {
      original: '"a nonce and a key may have been taken before"',
      replacement: '""',
      why: "words for people: whatever it dies of, the request is ambiguous"
    },
    ...[
      ["row.answer_status !== null && row.answer_body !== null", "row.answer_status !== null || row.answer_body !== null"],
      ["row.answer_status !== null", "true"],
      ["row.answer_body !== null", "true"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "a key has both a status and a body, or neither"
    })),
    ...[
      ['row.state === "pinned" && row.reference !== null', 'row.state === "pinned" || row.reference !== null'],
      ['row.state === "pinned"', "true"],
      ["row.reference !== null", "true"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "a key without an answer has a reference where it is pinned, and nowhere else"
    })),
    { original: "[]", replacement: '["Stryker was here"]', why: "a tenant that has a status has its capabilities" },
    {
      original: "row.used?.[at]",
      replacement: "row.used[at]",
      why: "where there are windows the function says what is used of each"
    }
  ],
  "src/persistence/requests/NoncesPg.ts": [
    { original: '"Nonces.prune"', replacement: '""', why: "the name of a span" },
    { original: "{ spent: Schema.Array(Schema.Boolean) }", replacement: "{}", why: TYPED },
    ...[
      ["steps[0]?.caller", "steps[0].caller"],
      ['""', '"Stryker was here!"']
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      line: '? sql.unsafe(spendStatementOfTenant, [steps[0]?.caller.appId ?? "", ...columns.arrays(steps)])',
      why: "a batch has a step"
    })),
    ...[
      ["row?.spent", "row.spent"],
      ["[]", '["Stryker was here"]']
    ].map(([original = "", replacement = ""]) => ({ original, replacement, why: "the call of a function gives one row" }))
  ],
  "src/persistence/connection/StepBatch.ts": [
    ...["{ discard: true }", "true"].flatMap((original) =>
      [
        "return Effect.forEach(exit.value, (result) => interpret(one, result), { discard: true })",
        "return yield* Effect.forEach(Arr.zip(steps, exit.value), ([one, result]) => interpret(one, result), { discard: true })",
        "yield* Effect.forEach(steps, runSingle, { concurrency: SINGLES_AT_ONCE, discard: true })",
        "return Effect.forEach(lanes, runLane, { concurrency: LANES_AT_ONCE, discard: true })"
      ].map((line) => ({
        original,
        replacement: original === "true" ? "false" : "{}",
        line,
        why: "nobody reads what they give; this only saves keeping it"
      }))
    ),
    { original: "first === undefined", replacement: "false", why: "a batch has a step" },
    { original: "batch[0] === undefined", replacement: "false", why: "a batch has a step" },
    {
      original: 'exit.cause.reasons.some((reason) => reason._tag === "Fail" && isLockTimeout(reason.error))',
      replacement: 'exit.cause.reasons.every(reason => reason._tag === "Fail" && isLockTimeout(reason.error))',
      why: "a statement fails for one reason"
    },
    ...["true", "waiting.length >= 0"].map((replacement) => ({
      original: "waiting.length > 0",
      replacement,
      why: "where nothing waits, nothing is started"
    })),
    {
      original: "isAwake",
      replacement: "false",
      line: "if (isAwake) return",
      why: "a second look finds nothing more to start; this only saves it"
    },
    {
      original: "true",
      replacement: "false",
      line: "isAwake = true",
      why: "a second look finds nothing more to start; this only saves it"
    }
  ]
}
