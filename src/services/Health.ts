import { Clock, Context, Effect, Option } from "effect"
import type { Caller } from "../domain/Tenant.ts"
import { layerOf } from "../runtime/ServiceLayer.ts"
import { ProviderRegistry } from "./ports/ProviderRegistry.ts"

/** The running build. The release is set by hand; the version changes with every build. */
export interface Build {
  readonly release: string
  readonly version: string
}

/** The gateway's own health (contract HEALTH-1, HEALTH-2): whether adapters are registered, not whether providers answer. */
export class Health extends Context.Service<
  Health,
  {
    readonly live: Effect.Effect<{ readonly status: "ok"; readonly release: string }>
    readonly detail: (caller: Caller) => Effect.Effect<HealthDetail>
  }
>()("gateway/services/Health") {
  static readonly layer = (build: Build) =>
    layerOf(Health)(function* () {
      const registry = yield* ProviderRegistry
      const startedAt = yield* Clock.currentTimeMillis
      const detail = Effect.fn("Health.detail")(function* (caller: Caller) {
        const now = yield* Clock.currentTimeMillis
        const registered = (name: string) => (Option.isSome(registry.find(name, caller.mode)) ? "registered" : "not_registered")
        return {
          status: "ok",
          uptime_seconds: Math.floor((now - startedAt) / 1000),
          version: build.version,
          release: build.release,
          is_test_environment: caller.mode === "test",
          provider_environment: "production",
          providers: Object.fromEntries(registry.known.map((name) => [name, registered(name)] as const))
        } as const
      })
      return { live: Effect.succeed({ status: "ok", release: build.release }), detail }
    })
}

export interface HealthDetail {
  readonly status: "ok"
  readonly uptime_seconds: number
  readonly version: string
  readonly release: string
  readonly is_test_environment: boolean
  /** There is no sandbox: every request reaches a real provider account. */
  readonly provider_environment: "production"
  readonly providers: Readonly<Record<string, "registered" | "not_registered">>
}
