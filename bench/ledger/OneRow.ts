import { type Part, shared } from "../Report.ts"
import { againstOrdinary } from "./MoneySteps.ts"

export const onOneRow = shared((cluster, effort) => againstOrdinary(cluster, effort, 1))

/** Every payout on the float of one tenant: the row that nobody can get past. */
export const part: Part = {
  name: "ledger-one-row",
  against: "BEGIN, 3 statements, COMMIT on 16 connections",
  target: 5,
  run: onOneRow
}
