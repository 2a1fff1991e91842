import type { Bug } from "./Bug.ts"

// Mistakes in which account is asked what became of a transaction, and in what tells accounts apart.

const swaps = "test/scenarios/routing/AccountSwapsIsolated.test.ts"
const registry = "test/providers/Registry.test.ts"

export const accountBugs: ReadonlyArray<Bug> = [
  {
    name: "ask the account that is set, whichever a transaction was sent with",
    breaks: "only the account that a transaction was sent with says what became of it",
    test: swaps,
    edits: [
      {
        file: "src/domain/ProviderAccount.ts",
        text: "return accounts.find((one) => one.fingerprints(currency).some((known) => sentWith.includes(known)))",
        instead:
          "return accounts.find((one) => one.fingerprints(currency).some((known) => sentWith.includes(known))) ?? accounts[0]"
      }
    ]
  },
  {
    name: "take a record without an account for the account of today",
    breaks: "what was sent before accounts were kept was sent with the account that was claimed first",
    test: swaps,
    edits: [
      {
        file: "src/domain/ProviderAccount.ts",
        text: "const sentWith = account === undefined ? claimed : [account]",
        instead: "const sentWith = account === undefined ? claimed.slice(0, 0) : [account]"
      }
    ]
  },
  {
    name: "keep the first provider's account after a failover",
    breaks: "a transaction keeps the account that it was sent with",
    test: swaps,
    edits: [
      {
        file: "src/domain/MoveTable.ts",
        text: "...(account === undefined ? {} : { account })",
        instead: "...(account === undefined ? {} : {})"
      }
    ]
  },
  {
    name: "tell accounts apart by a key's account alone",
    breaks: "a test key in the settings of live is another account",
    test: registry,
    edits: [
      {
        file: "src/providers/paystack/Settings.ts",
        text: "within: keyMode(secretKey)",
        instead: "within: keyMode(secretKey).slice(0, 0)"
      }
    ]
  },
  {
    name: "refuse the callbacks of the account before",
    breaks: "callbacks of both accounts are taken while one is swapped for the other",
    test: registry,
    edits: [
      {
        file: "src/providers/Registry.ts",
        text: "Option.orElse(one.verify(callback), () => other.verify(callback))",
        instead: "Option.filter(one.verify(callback), () => other.refreshKeys !== null)"
      }
    ]
  },
  {
    name: "count a transaction again when a person changes how it had ended",
    breaks: "a transaction that ended is counted once",
    test: "test/domain/FinalOutcome.test.ts",
    edits: [
      {
        file: "src/domain/FinalOutcome.ts",
        text: "isTerminal(before) || !isTerminal(next)",
        instead: "!isTerminal(next)"
      }
    ]
  },
  {
    name: "count a transaction whose end another node has committed",
    breaks: "a transaction that ended is counted by the node whose commit made its status final",
    test: "test/observability/FinalOutcomes.test.ts",
    edits: [
      {
        file: "src/observability/FinalOutcomes.ts",
        text: '_tag === "Applied" ? count(step)',
        instead: '_tag !== "FullFloat" ? count(step)'
      }
    ]
  },
  {
    name: "count what an account is needed for in the first page of rows alone",
    breaks: "a count of 0 says that an account is needed by nothing, however many rows there are",
    test: "test/persistence/status/GatewayStatus.test.ts",
    edits: [
      {
        file: "src/persistence/status/GatewayStatusPg.ts",
        text: "if (end === undefined) return [{ pages, isWhole: true }]",
        instead: "if (end === undefined || pages.length > 0) return [{ pages, isWhole: true }]"
      }
    ]
  },
  {
    name: "tell nobody's alert of a poll for which nobody could be asked",
    breaks: "a transaction of an account that is not set raises an alert",
    test: swaps,
    edits: [
      {
        file: "src/services/settlement/OutcomePoller.ts",
        text: "yield* Metric.update(Metric.withAttributes(withoutAccount, { provider, mode }), 1)\n",
        instead: ""
      }
    ]
  },
  {
    name: "let provider check pass over a country without one bank that can be paid",
    breaks: "a check of an account names each place where it is not as the corridor rows say",
    test: "test/services/reference/ProviderCheck.test.ts",
    edits: [
      {
        file: "src/services/reference/ProviderCheck.ts",
        text: "if (found.length === 0) return differs",
        instead: "if (found.length < 0) return differs"
      }
    ]
  },
  {
    name: "check an account against the corridor rows of every provider",
    breaks: "an account is compared with the active rows that lead to it, and with no others",
    test: "test/services/reference/ProviderCheck.test.ts",
    edits: [
      {
        file: "src/services/reference/ProviderCheck.ts",
        text: "row.active && row.providers.includes(name)",
        instead: "row.active || row.providers.includes(name)"
      }
    ]
  },
  {
    name: "call ok what is only the program's own table",
    breaks: "a check of an account says what was not tried",
    test: "test/services/reference/ProviderCheck.test.ts",
    edits: [
      {
        file: "src/services/reference/ProviderCheck.ts",
        text: 'return calls > 0 ? ok("countries"',
        instead: 'return calls > 0 || isThere ? ok("countries"'
      }
    ]
  },
  {
    name: "pass a previous webhook secret that does not open over in silence",
    breaks: "what is sealed and does not open is told to operators",
    test: "test/persistence/webhooks/WebhookOutbox.test.ts",
    edits: [
      {
        file: "src/persistence/webhooks/WebhookOutboxPg.ts",
        text: "if (before !== null && Exit.isFailure(before))",
        instead: "if (before === null && previousSealed !== null)"
      }
    ]
  },
  {
    name: "take one name of two accounts at a provider for one movement",
    breaks: "a provider's name of a movement is one of its account",
    test: "test/scenarios/ledger/LedgerDamageRequests.test.ts",
    edits: [
      {
        file: "src/persistence/ledger/rules/RecordRules.ts",
        text: "> greatest(count(account), 1)",
        instead: "> 1"
      }
    ]
  },
  {
    name: "let a webhook secret that does not open hold up every endpoint",
    breaks: "what is sealed for one tenant and does not open is nobody else's trouble",
    test: "test/persistence/webhooks/WebhookOutbox.test.ts",
    edits: [
      {
        file: "src/persistence/webhooks/WebhookOutboxPg.ts",
        text: "if (Exit.isFailure(endpoint))\n          yield*",
        instead:
          "if (Exit.isFailure(endpoint)) return yield* endpoint\n        else if (Exit.isFailure(endpoint))\n          yield*"
      }
    ]
  },
  {
    name: "send without the sender that does not open",
    breaks: "nothing is sent of a tenant whose sender does not open where a provider has to be told it",
    test: "test/scenarios/routing/Senders.test.ts",
    edits: [
      {
        file: "src/services/routing/Routes.ts",
        text: '(sender === null ? use === "needed" : sender === "unreadable")',
        instead: '(sender === null ? use === "needed" : false)'
      }
    ]
  },
  {
    name: "take the oldest record of a provider's reference, whichever account it was sent with",
    breaks: "a reference that a provider gave out twice names both records",
    test: "test/persistence/transactions/Transactions.test.ts",
    edits: [
      {
        file: "src/persistence/transactions/TransactionsPg.ts",
        text: "ORDER BY t.created_at DESC LIMIT ${SHARED_AT_MOST}`",
        instead: "ORDER BY t.created_at LIMIT 1`"
      }
    ]
  }
]
