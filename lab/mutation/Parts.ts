/** What is mutated together, the tests that have to notice, and the share of mistakes that they must find. */
export interface Part {
  readonly files: ReadonlyArray<string>
  readonly tests: ReadonlyArray<string>
  readonly atLeast: number
}

const domain = (...names: ReadonlyArray<string>) => names.map((name) => `src/domain/${name}.ts`)
const services = (...names: ReadonlyArray<string>) => names.map((name) => `src/services/${name}.ts`)

/** What moves money has to reach more than the rest. */
const moving = domain(
  "Ledger",
  "Moves",
  "MoveTable",
  "PayoutMoves",
  "CollectionMoves",
  "ExchangeMoves",
  "DeductedFee",
  "SourceAmount",
  "Money",
  "Resolution",
  "StatusPoll",
  "PollSchedule"
)

/** What a signature is made of, and what is told apart by it. */
const signed = domain("StringToSign", "StandardWebhook")

/** Nothing but types, of which nothing runs. */
const typesOnly = domain("errors/ApiError")

/** Those that need no database: a mistake that they notice is noticed within seconds. */
const deciding = [
  ...[
    "Settlement",
    "SettlementRaces",
    "OutcomeResponse",
    "Review",
    "OpenReviews",
    "FeeBooking",
    "StatusPolls",
    "LateStatusPolls",
    "TurnedAwayPolls",
    "NotFoundAnswers"
  ].map((name) => `test/services/settlement/${name}.test.ts`),
  "test/services/collections/ChargeGuard.test.ts",
  "test/providers/Pace.test.ts",
  "test/fakes"
]

export const parts: Readonly<Record<string, Part>> = {
  money: { files: moving, tests: ["test/domain"], atLeast: 95 },
  domain: {
    files: ["src/domain/**/*.ts", ...[...moving, ...signed, ...typesOnly].map((file) => `!${file}`)],
    tests: ["test/domain"],
    atLeast: 85
  },
  settlement: {
    files: services("settlement/Settlement", "settlement/OutcomeResponse", "settlement/Review", "settlement/OutcomePoller"),
    tests: deciding,
    atLeast: 85
  },
  callbacks: {
    files: services("settlement/ProviderCallbacks"),
    tests: ["ProviderCallbacks", "CallbackLooks", "CallbackTraces", "LateCallbacks", "UnmatchedCallbacks"].map(
      (name) => `test/services/settlement/${name}.test.ts`
    ),
    atLeast: 85
  },
  signing: {
    files: [...signed, ...services("admission/Authentication", "admission/RequestNonce", "admission/Signature")],
    tests: [
      "test/domain/StringToSign.test.ts",
      "test/domain/StandardWebhook.test.ts",
      ...["Authentication", "RequestNonce", "SignatureLog"].map((name) => `test/services/admission/${name}.test.ts`)
    ],
    atLeast: 85
  },
  claims: {
    files: [
      ...["IdempotencyPg", "NoncesPg"].map((name) => `src/persistence/requests/${name}.ts`),
      "src/persistence/connection/StepBatch.ts",
      "src/http/idempotency/Idempotent.ts"
    ],
    tests: [
      ...["Arrival", "ClaimLanes", "Idempotency"].map((name) => `test/persistence/requests/${name}.test.ts`),
      ...["BatchBounds", "StepBatch"].map((name) => `test/persistence/connection/${name}.test.ts`),
      "test/persistence/tenants/Tenants.test.ts",
      ...["Idempotent", "KeyClaims", "MoneyStep"].map((name) => `test/http/idempotency/${name}.test.ts`),
      "test/http/OncePerKey.test.ts",
      "lab/citus/CitusForm.test.ts"
    ],
    atLeast: 85
  },
  ledger: {
    files: ["src/persistence/ledger/*.ts"],
    tests: [
      "BatchModes",
      "FloatAdjustments",
      "FloatEntries",
      "FloatEntryPages",
      "FloatLedger",
      "FloatResolutions",
      "Journal",
      "LedgerChanges",
      "LedgerVerification",
      "LostAnswers",
      "MoneySteps",
      "StepLocks",
      "StepTracing"
    ].map((name) => `test/persistence/ledger/${name}.test.ts`),
    atLeast: 85
  },
  webhooks: {
    files: services("webhooks/WebhookDispatcher", "webhooks/WebhookRecovery"),
    tests: ["AttemptRecord", "WebhookDispatcher", "WebhookRecovery"].map((name) => `test/services/webhooks/${name}.test.ts`),
    atLeast: 85
  },
  guard: {
    files: services("collections/ChargeGuard", "admission/Velocity", "routing/GuardedProviders", "routing/Failover"),
    tests: [
      "test/services/collections/ChargeGuard.test.ts",
      "test/services/admission/VelocityWindows.test.ts",
      "test/services/routing"
    ],
    atLeast: 85
  }
}
