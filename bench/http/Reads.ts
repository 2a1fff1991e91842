import type { Part } from "../Report.ts"
import { readsASecond } from "./Throughput.ts"

const TENANTS = 64

export const part: Part = {
  name: "reads",
  against: "the same bare service",
  target: 1,
  run: (cluster, effort) => readsASecond(cluster, effort, TENANTS)
}
