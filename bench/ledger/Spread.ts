import { type Part, shared } from "../Report.ts"
import { againstOrdinary } from "./MoneySteps.ts"

const TENANTS = 1_000

export const overTenants = shared((cluster, effort) => againstOrdinary(cluster, effort, TENANTS))

/** The same over many tenants, where the baseline's connections seldom wait for each other. */
export const part: Part = {
  name: "ledger-spread",
  against: "BEGIN, 3 statements, COMMIT on 16 connections",
  target: 1.6,
  run: overTenants
}
