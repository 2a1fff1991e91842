import { Option } from "effect"
import { type ComponentChild } from "preact"
import { may } from "../domain/Operator.ts"
import { isTerminal } from "../domain/Payment.ts"
import type { Transaction } from "../domain/Transaction.ts"
import { ACKNOWLEDGED_HOURS, type Acknowledgement } from "../services/ports/Acknowledgements.ts"
import { choice, field, folded, form, minute } from "./Elements.ts"
import type { Visit } from "./Route.ts"

export const LONGEST_ACKNOWLEDGEMENT = 500

const hourChoices: ReadonlyArray<readonly [string, string]> = [
  ["4", "4 hours"],
  [String(ACKNOWLEDGED_HOURS.usual), "a day"],
  [String(ACKNOWLEDGED_HOURS.most), "three days"]
]

/** Until when its alerts are silenced; null where they are not. */
export const acknowledgementText = (resting: Option.Option<Acknowledgement>): ComponentChild =>
  Option.match(resting, { onNone: () => null, onSome: ({ until }) => ["its alerts rest until ", minute(until)] })

/** Shown to a person with the permission, while the transaction is open or in review. `back` is the page to return to. */
export const acknowledgeForm = (visit: Visit, record: Transaction, back: string): ComponentChild =>
  may(visit.visitor.role, "resolve") && (record.needsReview || !isTerminal(record))
    ? folded(
        "Acknowledge",
        form(visit, {
          to: `/transactions/${record.reference}/acknowledge`,
          button: "Acknowledge it",
          hidden: { back },
          fields: [
            field({
              name: "taken",
              label: "What you did about it, for the audit log",
              hint: "Its alerts rest. Nothing else changes, and its provider is asked on.",
              isRequired: true,
              maxLength: LONGEST_ACKNOWLEDGEMENT
            }),
            choice("hours", "For", hourChoices, String(ACKNOWLEDGED_HOURS.usual))
          ]
        })
      )
    : null
