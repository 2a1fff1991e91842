import { explainedOfDomain } from "./ExplainedDomain.ts"
import { explainedOfLedger } from "./ExplainedLedger.ts"

/** A mistake that no test need notice, because nothing that anybody can see depends on it. */
export interface Explained {
  readonly original: string
  readonly replacement: string
  /** The line that it is in, without its indentation, where the same text stands more than once. */
  readonly line?: string
  readonly why: string
}

const keyOf = (service: string): Explained => ({
  original: `"gateway/services/${service}"`,
  replacement: '""',
  why: "the key of a service only has to be unlike every other key, and nobody reads it"
})

const spanOf = (name: string): Explained => ({
  original: `"${name}"`,
  replacement: '""',
  why: "the name of a span, which people read in a trace and nothing decides by"
})

/** By file; each is still there, which `Report.test.ts` checks. */
export const explained: Readonly<Record<string, ReadonlyArray<Explained>>> = {
  ...explainedOfDomain,
  ...explainedOfLedger,
  "src/http/Idempotent.ts": [
    { original: '"gateway/http/Idempotent"', replacement: '""', why: "the name of a service, which is read where it is missing" },
    ...[
      'const made = Option.isSome(claim) ? (yield* claim.value).reference : ""',
      'Effect.map(internalError(request, step.about ?? ""), httpResponse)'
    ].map((line) => ({ original: '""', replacement: '"Stryker was here!"', line, why: "neither is a reference" })),
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
  "src/http/KeyClaims.ts": [
    {
      original: "true",
      replacement: "false",
      line: "const claiming = yield* Effect.forkIn(claim, scope, { startImmediately: true, uninterruptible: true })",
      why: "it begins a turn of the loop later; that it may not be interrupted is noticed"
    }
  ],
  "src/persistence/ArrivalSql.ts": [
    { original: "arrivals[0]?.scope", replacement: "arrivals[0].scope", why: "a batch has a step" },
    { original: '""', replacement: '"Stryker was here!"', why: "a batch has a step" }
  ],
  "src/persistence/IdempotencyPg.ts": [
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
  "src/persistence/NoncesPg.ts": [
    { original: '"Nonces.prune"', replacement: '""', why: "the name of a span" },
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
  "src/persistence/StepBatch.ts": [
    ...["{ discard: true }", "true"].flatMap((original) =>
      [
        "return Effect.forEach(exit.value, (result) => interpreted(one, result), { discard: true })",
        "return yield* Effect.forEach(Arr.zip(steps, exit.value), ([one, result]) => interpreted(one, result), { discard: true })",
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
  ],
  "src/services/admission/Authentication.ts": [
    {
      original: '"gateway/services/Authentication"',
      replacement: '""',
      why: "the name of a service, which is read where it is missing"
    },
    {
      original: '"no such key has a secret"',
      replacement: '""',
      why: "an unknown key is refused whatever its signature is compared with"
    },
    { original: '"Authentication.authenticate"', replacement: '""', why: "the name of a span" },
    {
      original: "at < rawHeaders.length",
      replacement: "at <= rawHeaders.length",
      why: "nobody asks for a header without a name"
    },
    {
      original: "rawHeaders[at]?.toLowerCase",
      replacement: "rawHeaders[at].toLowerCase",
      why: "a name stands at every second place"
    },
    {
      original: '""',
      replacement: '"Stryker was here!"',
      line: 'const name = rawHeaders[at]?.toLowerCase() ?? ""',
      why: "a name stands at every second place"
    }
  ],
  "src/services/admission/SignatureLog.ts": [
    {
      original: '"Requests without an acceptable signature, by what was wrong."',
      replacement: '""',
      why: "what a metric is, in words for people"
    }
  ],
  "src/services/admission/Signature.ts": [
    {
      original: "body.length === 0",
      replacement: "false",
      why: "the hash of nothing is the same when it is computed again; this only saves doing so"
    }
  ],
  "src/services/settlement/Settlement.ts": [keyOf("Settlement")],
  "src/services/settlement/Review.ts": [keyOf("Review")],
  "src/services/settlement/OutcomePoller.ts": [
    keyOf("OutcomePoller"),
    {
      original: 'record.kind !== "collection"',
      replacement: "false",
      why: "only a collection ever waits for a code, as waitsForCode says: the kind is for the compiler, which then knows expiresAt"
    }
  ],
  "src/services/settlement/ProviderCallbacks.ts": [
    keyOf("ProviderCallbacks"),
    {
      original: '"Callbacks whose signature was not the provider\'s."',
      replacement: '""',
      why: "what a metric is, in words for people"
    },
    { original: "oldest !== undefined", replacement: "true", why: "for the compiler: where so many are kept, one is the oldest" },
    { original: "traceparent !== null", replacement: "true", why: "null links to nothing; this only saves keeping it" }
  ],
  "src/services/webhooks/WebhookRecovery.ts": [{ original: '"WebhookRecovery"', replacement: '""', why: "the name of a span" }],
  "src/services/webhooks/WebhookDispatcher.ts": [
    {
      original: '"gateway/services/WebhookDispatcher"',
      replacement: '""',
      why: "the name of a service, which is read where it is missing"
    },
    { original: '"WebhookDispatcher"', replacement: '""', why: "the name of a worker, as its spans and lines have it" },
    { original: "status !== null", replacement: "true", why: "null is not above 199" },
    {
      original: "keys.set(secret, key)",
      replacement: ";",
      why: "a key is the same when it is made again; this only saves doing so"
    }
  ],
  "src/services/admission/Velocity.ts": [keyOf("Velocity")],
  "src/services/routing/Failover.ts": [keyOf("Failover")],
  "src/services/collections/ChargeGuard.ts": [
    keyOf("ChargeGuard"),
    spanOf("ChargeGuard.placeWhenFree"),
    {
      original: "Option.isSome(stored)",
      replacement: "true",
      why: "the guard has just read this record, and records are not removed: the second read finds it"
    },
    {
      original: 'status === "successful"',
      replacement: "true",
      line: 'status === "successful" && completedAt !== null && completedAt < since',
      why: "what else was completed before the request failed or expired, and that stands in nobody's way either"
    }
  ]
}
