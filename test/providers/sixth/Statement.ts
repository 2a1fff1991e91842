import { isReference } from "../../../src/domain/Ids.ts"
import type { Connection } from "../../../src/providers/Connection.ts"
import { sumOf } from "../../../src/providers/ProviderStatus.ts"
import { lineOf, pagedList, statementOf } from "../../../src/providers/Statements.ts"
import type { PaymentKind } from "./Refusals.ts"
import { standingOf } from "./Translate.ts"
import { Movement, StatementAnswer } from "./Wire.ts"

/** All that began on a UTC day, which is one page. */
export const statement = (connection: Connection) =>
  statementOf(connection, listed("payout", "transfers"), listed("collection", "charges"))

const listed = (direction: PaymentKind, list: "transfers" | "charges") =>
  pagedList({
    operation: "statement",
    path: ({ day }) => `/statement?${new URLSearchParams({ day })}`,
    schema: StatementAnswer,
    rows: (answer) => answer[list],
    isLast: () => true,
    row: Movement,
    members: {
      id: "id",
      reference: "client_ref",
      currency: ["currency"],
      status: "status",
      sum: ["amount", "fee"],
      beganAt: ["created_at"]
    },
    lineOf: ({ client_ref, created_at: beganAt, id: providerReference, status, ...wire }) =>
      lineOf({
        direction,
        providerReference,
        reference: isReference(client_ref) ? client_ref : null,
        currency: wire.currency,
        standing: standingOf(status),
        sum: sumOf(wire),
        beganAt
      })
  })
