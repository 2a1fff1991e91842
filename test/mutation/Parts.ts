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

/** Those that need no database: a mistake that they notice is noticed within seconds. */
const deciding = [
  ...["Settlement", "OutcomeResponse", "Review", "StatusPolls", "NotFoundAnswers"].map(
    (name) => `test/services/settlement/${name}.test.ts`
  ),
  "test/services/collections/ChargeGuard.test.ts",
  "test/fakes"
]

export const parts: Readonly<Record<string, Part>> = {
  money: { files: moving, tests: ["test/domain"], atLeast: 95 },
  domain: {
    files: ["src/domain/**/*.ts", ...moving.map((file) => `!${file}`)],
    tests: ["test/domain", "test/services"],
    atLeast: 85
  },
  settlement: {
    files: services("settlement/Settlement", "settlement/OutcomeResponse", "settlement/Review", "settlement/OutcomePoller"),
    tests: deciding,
    atLeast: 85
  },
  callbacks: { files: services("settlement/ProviderCallbacks"), tests: ["test/services/settlement"], atLeast: 85 },
  signing: {
    files: services("admission/Authentication", "admission/RequestNonce", "admission/SignatureLog", "admission/Signature"),
    tests: ["test/services/admission", "test/http", "test/clients"],
    atLeast: 85
  },
  claims: {
    files: ["src/persistence/IdempotencyPg.ts", "src/persistence/StepBatch.ts", "src/persistence/NoncesPg.ts"],
    tests: ["test/persistence"],
    atLeast: 85
  },
  ledger: { files: ["src/persistence/ledger/*.ts"], tests: ["test/persistence"], atLeast: 85 },
  webhooks: {
    files: services("webhooks/WebhookDispatcher", "webhooks/WebhookRecovery"),
    tests: ["test/services/webhooks", "test/persistence/webhooks"],
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
