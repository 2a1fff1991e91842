import { explainedOfClaims } from "./ExplainedClaims.ts"
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
  ...explainedOfClaims,
  ...explainedOfDomain,
  ...explainedOfLedger,
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
    },
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
  "src/services/settlement/Settlement.ts": [
    keyOf("Settlement"),
    {
      original: 'fact._tag === "Refused"',
      replacement: "true",
      line: '...(fact._tag === "Refused" && fact.kind === "pool" ? ({ walletTooSmall: true } as const) : {})',
      why: "for the compiler: only a refusal has a kind"
    }
  ],
  "src/services/settlement/Review.ts": [
    keyOf("Review"),
    {
      original: "type === null",
      replacement: "false",
      why: "for the compiler: a ruling is always a new version of its record, of which tenants hear"
    }
  ],
  "src/services/settlement/OutcomePoller.ts": [
    keyOf("OutcomePoller"),
    {
      original: '"Polls for which nobody could be asked, because the account that the transaction was sent with is not set."',
      replacement: '""',
      why: "what a metric is, in words for people"
    },
    {
      original: '"unavailable"',
      replacement: '""',
      why: "why an outcome is unknown decides only the response to a request, and no request waits for this answer"
    },
    {
      original: '""',
      replacement: '"Stryker was here!"',
      line: 'const lineOf = ({ account = "", currency, mode, provider }: Transaction) => `${provider} ${mode} ${account} ${currency}`',
      why: "the line of the records that name no account only has to be unlike every account's"
    },
    { original: "oldest !== undefined", replacement: "true", why: "for the compiler: one has just been added" },
    {
      original: 'record.kind !== "collection"',
      replacement: "false",
      why: "only a collection ever waits for a code, as waitsForCode says: the kind is for the compiler, which then knows expiresAt"
    }
  ],
  "src/services/settlement/ProviderCallbacks.ts": [
    keyOf("ProviderCallbacks"),
    ...[
      "Callbacks that came to a path which has a newer one: the new one still has to be registered at the provider.",
      "Callbacks that match no transaction and came oftener than their account's may."
    ].map((description) => ({
      original: `"${description}"`,
      replacement: '""',
      why: "what a metric is, in words for people"
    })),
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
  "src/services/routing/Failover.ts": [
    {
      original: "!isMoved",
      replacement: "true",
      line: "if (!isMoved) yield* noteMovedOn(name)",
      why: "the turn of the next provider notes that it is used, whatever was noted before"
    },
    keyOf("Failover")
  ],
  "src/services/collections/ChargeGuard.ts": [
    keyOf("ChargeGuard"),
    spanOf("ChargeGuard.placeWhenFree"),
    {
      original: "Option.isSome(stored)",
      replacement: "true",
      why: "the guard has just read this record, and records are not removed: the second read finds it"
    }
  ]
}
