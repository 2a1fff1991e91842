import type { Part } from "../Report.ts"
import { payoutsASecond } from "./Throughput.ts"

const TENANTS = 64

export const part: Part = {
  name: "payouts-spread",
  against: "a bare service: node:http, pg, the same checks and rows",
  target: 0.8,
  run: (cluster, effort) => payoutsASecond(cluster, effort, TENANTS)
}
