import { isReference } from "../../../src/domain/Ids.ts"
import type { Connection } from "../../../src/providers/Connection.ts"
import { sumOf } from "../../../src/providers/ProviderStatus.ts"
import { lineOf, pagedList, statementOf } from "../../../src/providers/Statements.ts"
import type { Kind } from "./Refusals.ts"
import { standingOf } from "./Translate.ts"
import { type Movement, StatementAnswer } from "./Wire.ts"

/** All that began on a UTC day, which is one page. */
export const statement = (connection: Connection) => statementOf(connection, movements)

const movements = pagedList({
  operation: "statement",
  path: ({ day }) => `/statement?${new URLSearchParams({ day })}`,
  schema: StatementAnswer,
  rows: ({ charges, transfers }) => [...transfers.map(lineAs("payout")), ...charges.map(lineAs("collection"))],
  isLast: () => true,
  lineOf: (line) => line
})

const lineAs =
  (direction: Kind) =>
  ({ client_ref, created_at: beganAt, id: providerReference, status, ...wire }: Movement) =>
    lineOf({
      direction,
      providerReference,
      reference: isReference(client_ref) ? client_ref : null,
      currency: wire.currency,
      standing: standingOf(status),
      sum: sumOf(wire),
      beganAt
    })
