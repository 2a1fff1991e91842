import type { Part } from "../Report.ts"
import { againstOrdinary } from "./MoneySteps.ts"

const TENANTS = 1_000

/** The same over many tenants, where the baseline's connections seldom wait for each other. */
export const part: Part = {
  name: "ledger-spread",
  against: "BEGIN, 3 statements, COMMIT on 16 connections",
  target: 4,
  run: (cluster, effort) => againstOrdinary(cluster, effort, TENANTS)
}
