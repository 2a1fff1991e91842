import { part as citus } from "./citus/Citus.ts"
import { batchedRead, rateLimit, rowCache } from "./effect/EffectParts.ts"
import { part as floor } from "./floor/Floor.ts"
import { part as growth } from "./growth/Growth.ts"
import { part as payoutAlone } from "./http/Alone.ts"
import { fixedRates as latencyAtRates, p50 as latencyP50, p99 as latencyP99 } from "./http/Latency.ts"
import { part as payoutsOneTenant } from "./http/OneTenant.ts"
import { part as reads } from "./http/Reads.ts"
import { processor as gatewayProcessor, part as payoutsSpread } from "./http/Spread.ts"
import { twoGateways } from "./http/TwoGateways.ts"
import { part as ledgerAlone } from "./ledger/Alone.ts"
import { part as ledgerOneRow } from "./ledger/OneRow.ts"
import { part as ledgerPgledger } from "./ledger/Pgledger.ts"
import { alone as processorAlone, inBatches as processorInBatches } from "./ledger/Processor.ts"
import { part as ledgerSpread } from "./ledger/Spread.ts"
import { commits as lifeCommits, entries as lifeEntries, log as lifeLog } from "./life/Life.ts"
import { part as pace } from "./pace/Pace.ts"
import type { Part } from "./Report.ts"
import { part as release } from "./release/Release.ts"
import { part as startGateway } from "./start/Gateway.ts"
import { part as memory } from "./start/Memory.ts"
import { part as start } from "./start/Start.ts"
import { part as webhooks } from "./webhooks/Delivered.ts"

/** Every part, in the order in which they run: those that take longest come last. */
export const parts: ReadonlyArray<Part> = [
  ledgerOneRow,
  ledgerSpread,
  processorInBatches,
  ledgerPgledger,
  ledgerAlone,
  processorAlone,
  lifeCommits,
  lifeEntries,
  lifeLog,
  payoutsSpread,
  gatewayProcessor,
  floor,
  payoutsOneTenant,
  payoutAlone,
  reads,
  latencyP50,
  latencyP99,
  ...latencyAtRates,
  twoGateways,
  webhooks,
  pace,
  rowCache,
  batchedRead,
  rateLimit,
  start,
  startGateway,
  citus,
  growth,
  release,
  memory
]
