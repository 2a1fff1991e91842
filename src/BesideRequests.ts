import { Effect, Layer } from "effect"
import type { Settings } from "./Config.ts"
import { runTogether } from "./runtime/Worker.ts"
import { auditWatching } from "./services/AuditWatch.ts"
import { dataRetention } from "./services/DataRetention.ts"
import { GatewayStatus } from "./services/ports/GatewayStatus.ts"
import { clawbackSweeps } from "./services/settlement/ClawbackSweeps.ts"
import { OutcomePoller } from "./services/settlement/OutcomePoller.ts"
import { ProviderCallbacks } from "./services/settlement/ProviderCallbacks.ts"
import { WebhookDispatcher } from "./services/webhooks/WebhookDispatcher.ts"

/** Work that goes on beside the requests. */
export const besideRequests = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* runTogether([yield* WebhookDispatcher, yield* OutcomePoller, yield* ProviderCallbacks])
    yield* Effect.forkScoped(dataRetention)
    yield* Effect.forkScoped(auditWatching)
    yield* Effect.forkScoped(clawbackSweeps)
  })
)

/** Whether what was done before is safe from this process itself, in one line of the log where it is not. */
export const protectionAnnounced = ({ migrationDatabaseUrl }: Pick<Settings, "migrationDatabaseUrl">) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { holds, role } = yield* (yield* GatewayStatus).protection
      if (!holds)
        yield* Effect.annotateLogs(
          Effect.logWarning(
            'nothing protects audit rows, postings and history from this gateway; see docs/operations.md, "Two roles"'
          ),
          { database_role: role }
        )
      if (migrationDatabaseUrl !== null)
        yield* Effect.logWarning(
          "MIGRATION_DATABASE_URL is for gateway migrate alone: whoever takes over this process has the owner's password"
        )
    })
  )
