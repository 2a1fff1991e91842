import type { Part } from "../Report.ts"
import { payoutsASecond } from "./Throughput.ts"

export const part: Part = {
  name: "payouts-one-tenant",
  against: "the same bare service",
  target: 1.3,
  run: (cluster, effort) => payoutsASecond(cluster, effort, 1)
}
